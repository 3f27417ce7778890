#!/usr/bin/env bash
# Installs a wheel with the lowest versions of its direct dependencies that pyproject.toml allows,
# in a new environment, and runs the tests that libraries could break.
#
#     .ci/lowest.sh WHEEL [PYTHON]
#
# Warnings are no errors here: old libraries warn of new ones.
set -euo pipefail
cd "$(dirname "$0")/.."
wheel=$(realpath "$1")
python=${2:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV
export CI=true  # Hypothesis then sets no deadlines

"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet uv
"$work/tools/bin/uv" venv --quiet --python "$("$python" -c 'import sys; print(sys.executable)')" \
  "$work/lowest"
# What a wheel depends on is not direct: of that uv would take the newest.
"$work/tools/bin/uv" pip compile --quiet --python "$work/lowest/bin/python" \
  --resolution lowest-direct --extra test --output-file "$work/lowest.txt" pyproject.toml
"$work/tools/bin/uv" pip install --quiet --python "$work/lowest/bin/python" -r "$work/lowest.txt"
"$work/tools/bin/uv" pip install --quiet --python "$work/lowest/bin/python" --no-deps "$wheel" ./papers
"$work/tools/bin/uv" pip list --quiet --python "$work/lowest/bin/python"

cp -r .ci tests pyproject.toml docs bench examples cpp papers "$work"
cd "$work"
lowest/bin/python -c 'import gpusched; assert "lowest" in gpusched.__file__, gpusched.__file__'
lowest/bin/gpusched --help >/dev/null
lowest/bin/python -m pytest -q -p no:cacheprovider -o filterwarnings=default \
  -m "not long" tests/unit tests/cli tests/boundary tests/papers \
  --ignore tests/papers/test_dancer.py --ignore tests/unit/bench/test_bench_floor.py
