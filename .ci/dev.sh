#!/usr/bin/env bash
# Builds the extension as it stands and puts it beside the package, and build/dev/gpusched-replay:
# without link-time optimisation, what changed only, with ccache where it is installed. Then
# PYTHONPATH=python runs the checkout.
#
#   .ci/dev.sh [CMAKE OPTIONS]
#
# The Python that is called must have the extra "test": pip install ".[test]", once.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly python=${PYTHON:-python3}
if [[ ! -f build/dev/build.ninja || $# -gt 0 ]]; then
  if command -v ccache >/dev/null; then set -- -DCMAKE_CXX_COMPILER_LAUNCHER=ccache "$@"; fi
  cmake --preset dev -G Ninja \
    -Dpybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
    -DPython_EXECUTABLE="$(command -v "$python")" "$@"
fi
cmake --build --preset dev
for extension in build/dev/_core*.so; do
  # Renamed, not written over: a process that runs keeps the one it has loaded.
  cp "$extension" python/gpusched/.new
  mv python/gpusched/.new "python/gpusched/${extension##*/}"
done
# The script of pages, which the build of a wheel makes, too.
[[ -f python/gpusched/reporting/assets/vega.js ]] || "$python" cmake/vega.py
