#!/usr/bin/env bash
# The core under all integer checks of clang: builds the module and the replay tool (the bindings are
# not instrumented), then runs the property, parity and reproducing tests on that module.
#
#   .ci/integers.sh [PYTEST ARGUMENTS]
#
# The Python that is called must have the packages of the tests, pybind11, cmake and ninja.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly python=${PYTHON:-python3}
cmake --preset integers -G Ninja -DGPUSCHED_BUILD_MODULE=ON \
  -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" -DPython_EXECUTABLE="$(command -v "$python")"
cmake --build --preset integers

# A copy of the package, so that the module of the checkout stays what it is.
package=$(mktemp -d)
trap 'rm -rf "$package"' EXIT
cp -r python/gpusched "$package"
rm -f "$package"/gpusched/_core*.so
cp build/integers/_core*.so "$package/gpusched/"

export PYTHONPATH=$package UBSAN_OPTIONS=print_stacktrace=1
"$python" -c 'import gpusched; print(gpusched.__file__)'
tests=(tests/golden tests/property tests/parity)
shopt -s nullglob
tests+=(tests/reproducers/*.py)
"$python" -m pytest -q "${tests[@]}" "$@"
"$python" .ci/replay.py build/integers/gpusched-replay
