#!/bin/bash
# start_up.sh ASSAY: the median of 11 starts of each command that judges nothing. Budget: 50 ms (design.md).
set -u
assay=$1
measure() {
  local times=() start end i
  for ((i = 0; i < 11; ++i)); do
    start=$EPOCHREALTIME
    "$assay" "$@" > /dev/null 2>&1
    end=$EPOCHREALTIME
    times+=($((${end/[.,]/} - ${start/[.,]/})))
  done
  IFS=$'\n' read -r -d '' -a times < <(printf '%s\n' "${times[@]}" | sort -n && printf '\0')
  printf '%6.1f ms  assay %s\n' "$((times[5] / 100))e-1" "$*"
}
measure --help
measure list slots
measure list rules
measure explain write.every_cell
measure targets
measure contract norm.rmsnorm --json
measure check /nonexistent.so
measure check /nonexistent.so --slot unknown
