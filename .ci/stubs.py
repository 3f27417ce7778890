"""Writes the stub of the extension, or with ``--check`` compares it with the committed one.

python .ci/stubs.py            # needs the extra "lint", and gpusched installed
python .ci/stubs.py --check
"""

from __future__ import annotations

import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

STUB = Path(__file__).resolve().parents[1] / "python/gpusched/_core.pyi"
# The submodule for tests is private and has no stub; of a constant pybind11-stubgen sees only the
# outer type, and of a function that pybind11 did not make no types.
CORRECTIONS = {
    "from . import _testing\n": "_testing: typing.Any\n",
    "REJECT_REASONS: tuple =": "REJECT_REASONS: tuple[str, ...] =",
    "JOB_COLUMNS: tuple\n": "JOB_COLUMNS: tuple[JobColumn, ...]\n",
    "def _remade(base, own, *args, **named):": (
        "def _remade(base: type, own: type, *args: object, **named: object) -> object:"
    ),
}


def generated() -> str:
    """Run pybind11-stubgen on the installed extension and return the stub."""
    with tempfile.TemporaryDirectory() as folder:
        stubgen = [sys.executable, "-m", "pybind11_stubgen", "--exit-code", "-o", folder]
        # Not in the checkout, where a package may lie that is not the installed one.
        subprocess.run([*stubgen, "gpusched._core"], check=True, cwd=folder)
        text = (Path(folder) / "gpusched/_core/__init__.pyi").read_text(encoding="utf-8")
    for wrong, right in CORRECTIONS.items():
        text = text.replace(wrong, right)
    return text


def main() -> None:
    text = generated()
    if "--check" not in sys.argv[1:]:
        STUB.write_text(text, encoding="utf-8")
        return
    committed = STUB.read_text(encoding="utf-8") if STUB.exists() else ""
    if text != committed:
        lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
        sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
        sys.exit(f"{STUB.name} is out of date: run `python .ci/stubs.py`")


if __name__ == "__main__":
    main()
