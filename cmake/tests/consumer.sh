#!/bin/bash
# consumer.sh SOURCE PREFIX CMAKE CTEST CC CXX: copies a stranger's project out of our tree and runs there, against the
# package installed in PREFIX, the commands of the guide for authors of slots, the project's own tests among them.
# Demands what the guide promises: the code that it shows is the project's, the right kernel passes, and the wrong one
# fails with exit code 1. Then gates a candidate.
set -euo pipefail
. "$(dirname "$0")/block.sh"
source=$(realpath "$1")
guide=$source/../../conformance/README.md section="A slot of your own"
export ASSAY=$2 PATH="$(dirname "$3"):$(dirname "$4"):$PATH" CC=$5 CXX=$6 CMAKE_GENERATOR=Ninja
export CFLAGS="-Wall -Wextra -Wpedantic -Werror" CXXFLAGS="-Wall -Wextra -Wpedantic -Werror"
export CTEST_OUTPUT_ON_FAILURE=1 CTEST_NO_TESTS_ACTION=error
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$source" "$place/consumer"
cd "$place/consumer"
block "$guide" "$section" sh > commands.sh
[[ -s commands.sh ]] || { echo "the guide has no commands"; exit 1; }
[[ $(< gelu.h) == *"$(block "$guide" "$section" c)"* && $(< gelu_slot.cc) == *"$(block "$guide" "$section" cpp)"* ]] ||
  { echo "the guide shows other code than cmake/consumer has"; exit 1; }
bash -euo pipefail commands.sh | tee output.txt
grep -q '^PASS' output.txt && grep -qx 'exit code 1' output.txt
# The same tests under the gate: here of a candidate in a worker of its own, below a folder that is closed to others.
ASSAY_GATE=1 ctest --test-dir build -R '^mine_static\.'
grep -q '"tier":"gate"' build/assay/mine_static/activation.silu_and_mul.host/results.jsonl
