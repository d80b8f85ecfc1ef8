#!/bin/bash
# readme.sh README PREFIX: takes the C candidate and the commands out of the README's "A first candidate", runs them
# outside the tree with ASSAY=PREFIX, and demands the PASS that the README promises. The candidate is the consumer's.
set -euo pipefail
. "$(dirname "$0")/block.sh"
readme=$(realpath "$1")
export ASSAY=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
block "$readme" "A first candidate" c > mine.c
block "$readme" "A first candidate" sh > commands.sh
[[ -s mine.c && -s commands.sh ]] || { echo "the README has no candidate in C, or no commands"; exit 1; }
tail -n +2 "$(dirname "$readme")/cmake/consumer/mine.c" | diff - mine.c
cat commands.sh
bash -euo pipefail commands.sh | tee output.txt
grep -q '^PASS' output.txt
