#!/bin/bash
# consumer.sh SOURCE PREFIX CMAKE CTEST CC CXX: copies a stranger's project out of our tree, builds it against the
# package installed in PREFIX and runs its tests.
set -euo pipefail
source=$1 prefix=$2 cmake=$3 ctest=$4
export CC=$5 CXX=$6 CFLAGS="-Wall -Wextra -Wpedantic -Werror" CXXFLAGS="-Wall -Wextra -Wpedantic -Werror"
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cp -r "$source" "$place/consumer"
"$cmake" -S "$place/consumer" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$prefix${CMAKE_PREFIX_PATH:+;${CMAKE_PREFIX_PATH//:/;}}"
"$cmake" --build "$place/build"
"$ctest" --test-dir "$place/build" --output-on-failure --no-tests=error
