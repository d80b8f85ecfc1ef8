#!/bin/bash
# recipes.sh RECIPES BUILD RIGHT WRONG: runs the assay commands of the CI recipes, as they stand but for the tier, on a
# right and on a wrong library, and demands the verdict and the files that the recipes promise.
set -euo pipefail
recipes=$(realpath "$1")
export ASSAY=$2 GITHUB_STEP_SUMMARY=report/summary.md
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for recipe in "$recipes"/*.yml; do
  for library in "$3" "$4"; do
    rm -rf "$place/run" && mkdir -p "$place/run/build" && cd "$place/run"
    cp "$library" build/libmine.so
    # Their lines, out of YAML's quotes.
    grep -E '"\$ASSAY/bin/assay" (check|report) ' "$recipe" | sed "s/^ *- '\(.*\)'$/\1/; s/--gate/--tier quick/" > commands.sh
    (($(wc -l < commands.sh) == 3)) || { echo "$recipe has not the three commands of a recipe"; exit 1; }
    cat commands.sh
    verdict=0
    bash -c "$(sed -n 1p commands.sh)" > check.txt || verdict=$?
    tail -n 1 check.txt
    if [[ $library == "$3" ]]; then ((verdict == 0)); else ((verdict == 1)); fi
    bash -euo pipefail <(tail -n +2 commands.sh)
    grep -q '^## assay: ' report/summary.md
    grep -q '</html>' report/report.html
    grep -q '<testsuites' report/junit.xml
    [[ $library == "$3" || -n $(ls corpus) ]]
  done
done
