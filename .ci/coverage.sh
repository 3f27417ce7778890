#!/usr/bin/env bash
# Lines and branches of the core and of the package that the tests reach, a row for each room; what
# they do not reach stands in build/coverage/left.txt, line by line.
#
#   .ci/coverage.sh [--add] [PYTEST ARGUMENTS]
#
# --add counts what an earlier call reached, too: the sources must be those of that call. Needs clang
# with llvm-profdata and llvm-cov of its version; the Python that is called must have the extras
# "test" and "coverage".
set -euo pipefail
cd "$(dirname "$0")/.."
readonly python=${PYTHON:-python3} work=$PWD/build/coverage/measured
adds=0
if [[ ${1:-} == --add ]]; then adds=1 && shift; fi
cmake --preset coverage -G Ninja \
  -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
  -DPython_EXECUTABLE="$(command -v "$python")" >/dev/null
cmake --build --preset coverage >&2
if ((!adds)); then rm -rf "$work"; fi

# A copy of the package, so that the module of the checkout stays what it is.
rm -rf "$work/package"
mkdir -p "$work/package"
cp -r python/gpusched "$work/package"
rm -f "$work"/package/gpusched/_core*.so
cp build/coverage/_core*.so "$work/package/gpusched/"
module=$(compgen -G "$work/package/gpusched/_core*.so")
export PYTHONPATH=$work/package${PYTHONPATH:+:$PYTHONPATH} GPUSCHED_COVERED=$work/package/gpusched
export COVERAGE_FILE=$work/python LLVM_PROFILE_FILE=$work/core-%4m.profraw
status=0
"$python" -m coverage run --rcfile=.ci/coverage.ini -m pytest -q "${@:-tests}" >&2 || status=$?

"$python" -m coverage combine --rcfile=.ci/coverage.ini --append --quiet >&2
"$python" -m coverage json --rcfile=.ci/coverage.ini --quiet -o "$work/python.json" >&2
llvm-profdata merge -sparse -o "$work/core.profdata" "$work"/core-*.profraw
llvm-cov export -skip-functions -skip-expansions -instr-profile="$work/core.profdata" "$module" \
  >"$work/core.json"
"$python" .ci/coverage.py "$work/core.json" "$work/python.json" build/coverage/left.txt
exit "$status"
