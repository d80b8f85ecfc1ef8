#!/bin/bash
# readme.sh README PREFIX: takes the C candidate and the commands out of the README's "A first candidate", runs them
# outside the tree with ASSAY=PREFIX, and demands the PASS that the README promises. The candidate is the consumer's.
set -euo pipefail
readme=$(realpath "$1")
export ASSAY=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
block() {  # block LANGUAGE: the first fenced block of that language in the section
  awk -v fence="\`\`\`$1" '/^## /{inside = ($0 == "## A first candidate")}
    inside && $0 == "```" && on {exit} on {print} inside && $0 == fence {on = 1}' "$readme"
}
cd "$place"
block c > mine.c
block sh > commands.sh
[[ -s mine.c && -s commands.sh ]] || { echo "the README has no candidate in C, or no commands"; exit 1; }
tail -n +2 "$(dirname "$readme")/cmake/consumer/mine.c" | diff - mine.c
cat commands.sh
bash -euo pipefail commands.sh | tee output.txt
grep -q '^PASS' output.txt
