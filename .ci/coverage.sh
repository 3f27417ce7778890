#!/usr/bin/env bash
# Lines and branches of the core and of the package that the tests reach, a row for each room.
#
#   .ci/coverage.sh [PYTEST ARGUMENTS]
#
# The Python that is called must have the extras "test" and "coverage".
set -euo pipefail
cd "$(dirname "$0")/.."
readonly python=${PYTHON:-python3} root=$PWD
cmake --preset coverage -G Ninja \
  -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
  -DPython_EXECUTABLE="$(command -v "$python")" >/dev/null
cmake --build --preset coverage >&2
find build/coverage -name '*.gcda' -delete

# A copy of the package, so that the module of the checkout stays what it is.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r python/gpusched "$work"
rm -f "$work"/gpusched/_core*.so
cp build/coverage/_core*.so "$work/gpusched/"
export PYTHONPATH=$work${PYTHONPATH:+:$PYTHONPATH} COVERAGE_FILE=$work/coverage
status=0
# With "=", as pytest takes any folder among its arguments for a place of tests and of its settings.
"$python" -m pytest -q --cov="$work/gpusched" --cov-branch --cov-report="json:$work/python.json" \
  "${@:-tests}" >&2 || status=$?
"$python" -m gcovr --root "$root" --filter 'cpp/' --exclude-throw-branches --json-summary \
  "$work/cpp.json" build/coverage >&2
"$python" .ci/coverage.py "$work/cpp.json" "$work/python.json"
exit "$status"
