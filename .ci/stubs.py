"""Writes the stubs, or with ``--check`` compares them with the committed ones.

They are those of the extension, and of the packages whose names are loaded on first use.

python .ci/stubs.py            # needs the extra "lint", and gpusched installed
python .ci/stubs.py --check
"""

from __future__ import annotations

import ast
import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python/gpusched"
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


def of_names(package: Path) -> str:
    """Return the stub of a package with a table of names, each with its module."""
    tree = ast.parse((package / "__init__.py").read_text(encoding="utf-8"))
    home, *_ = (ast.literal_eval(node) for node in ast.walk(tree) if isinstance(node, ast.Dict))
    lines = [f"from gpusched.{home[name]} import {name} as {name}" for name in home]
    if package == PACKAGE:
        (rooms,) = (
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_SUBMODULES"
        )
        lines += [f"from gpusched import {room} as {room}" for room in rooms]
        lines += ["from gpusched.reporting import plot as plot"]
    more = ["_SUBMODULES: tuple[str, ...]"] * (package == PACKAGE)
    lines = ["from typing import Any", "", *sorted(lines), "", "__all__: list[str]"]
    return "\n".join([*lines, *more, "", "def __getattr__(name: str) -> Any: ...", ""])


def stubs_of_names() -> dict[Path, str]:
    """Return the stubs of all packages whose names are loaded on first use."""
    files = (path for path in PACKAGE.rglob("__init__.py") if "lazy_names(" in path.read_text())
    return {path.with_suffix(".pyi"): of_names(path.parent) for path in files}


def main() -> None:
    texts = {PACKAGE / "_core.pyi": generated(), **stubs_of_names()}
    for stub, text in texts.items():
        if "--check" not in sys.argv[1:]:
            stub.write_text(text, encoding="utf-8")
            continue
        committed = stub.read_text(encoding="utf-8") if stub.exists() else ""
        if text != committed:
            lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
            sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
            sys.exit(f"{stub.relative_to(PACKAGE)} is out of date: run `python .ci/stubs.py`")


if __name__ == "__main__":
    main()
