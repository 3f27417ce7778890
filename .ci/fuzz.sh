#!/usr/bin/env bash
# Builds the native fuzz targets of cpp/tools/fuzz and lets each run under AddressSanitizer and UBSan.
#
#   .ci/fuzz.sh [SECONDS]     for so long each, 20 if nothing is said
#
# What reaches new branches is kept in build/fuzz/corpus, and the next run goes on from there; an
# input that fails, in build/fuzz. The Python that is called must have gpusched as it stands here,
# cmake and ninja. Without clang nothing is done.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly seconds=${1:-20} python=${PYTHON:-python3} folder=build/fuzz
if ! command -v clang++ >/dev/null; then
  printf 'no clang++: the native targets are not fuzzed\n'
  exit
fi
cmake --preset fuzz -G Ninja >/dev/null
cmake --build --preset fuzz
"$python" -W ignore -m tests.fuzz.native_seeds "$folder/corpus/fuzz_case"
for source in cpp/tools/fuzz/fuzz_*.cpp; do
  name=$(basename "$source" .cpp)
  mkdir -p "$folder/corpus/$name"
  printf '=== %s\n' "$name"
  "$folder/$name" "$folder/corpus/$name" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 \
    -max_len=16384 -artifact_prefix="$folder/" -print_final_stats=1 2>&1 |
    { grep -E '^(#[0-9]+\s+DONE|Done|stat::|==|SUMMARY|.*(rror|Assertion))' || true; }
done
