#!/usr/bin/env bash
# One digest everywhere: builds the replay tool with several compilers, levels of optimisation and
# processors, and has each replay the cases of .ci/replay.py.
#
#   .ci/bit_exact.sh --list       the variants
#   .ci/bit_exact.sh [VARIANT...] all, or some
#
# The Python that is called must have the extra "test", cmake and ninja, and gpusched as it stands
# here, in the environment or by PYTHONPATH. On Debian: apt-get install clang g++-aarch64-linux-gnu
# qemu-user. What is missing fails.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly python=${PYTHON:-python3}
# Name, compiler, flags. `native` has fused multiply-add where the processor does.
readonly variants=(
  "gcc-O0 g++ -O0"
  "gcc-O1 g++ -O1"
  "gcc-O2 g++ -O2"
  "gcc-O3 g++ -O3"
  "gcc-O3-native g++ -O3 -march=native"
  "clang-O0 clang++ -O0"
  "clang-O2 clang++ -O2"
  "clang-O3 clang++ -O3"
  "aarch64-O2 aarch64-linux-gnu-g++ -O2 -static"
)
readonly num_threads=(1 2 4 8)

if [[ ${1:-} == --list ]]; then
  printf '%s\n' "${variants[@]}"
  exit
fi

is_asked() {
  local name=$1
  shift
  (($# == 0)) && return
  for asked in "$@"; do [[ $asked == "$name" ]] && return; done
  return 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for variant in "${variants[@]}"; do
  read -r name compiler flags <<<"$variant"
  is_asked "$name" "$@" || continue
  options=()
  runner=()
  if [[ $compiler == aarch64-* ]]; then
    options=(-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64)
    runner=(qemu-aarch64)
  fi
  folder=build/bit-exact/$name
  cmake -S . -B "$folder" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=None \
    -DCMAKE_CXX_FLAGS="$flags" -DGPUSCHED_BUILD_TOOLS=ON -DGPUSCHED_GROUP_SOURCES=ON \
    "${options[@]}" >/dev/null
  cmake --build "$folder" >/dev/null
  # One program for the replay, whoever runs it.
  printf '#!/bin/sh\nexec %s "%s/gpusched-replay" "$@"\n' "${runner[*]}" "$PWD/$folder" >"$work/$name"
  chmod +x "$work/$name"
  threads=("${num_threads[@]}")
  [[ ${#runner[@]} == 0 ]] || threads=(1 2)  # an emulated processor is slow
  for count in "${threads[@]}"; do
    printf '%-14s %s threads  ' "$name" "$count"
    "$python" -W ignore .ci/replay.py "$work/$name" --threads "$count"
  done
done
