"""The sources as the tests of this folder read them."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CPP = ROOT / "cpp"
PYTHON = ROOT / "python" / "gpusched"

CPP_FILES = sorted(path for path in CPP.rglob("*") if path.suffix in (".hpp", ".cpp"))
PYTHON_FILES = sorted(PYTHON.rglob("*.py"))
PLUG_IN_FILES = sorted(
    path
    for seam in ("contentions", "orders", "placements", "schedulers", "speeds")
    for path in (CPP / "plugins" / seam).iterdir()
)
CORE = [path for path in CPP_FILES if path.relative_to(CPP).parts[0] not in ("bindings", "tools")]


def room_of(path: Path) -> str:
    """The folder of the core, the bindings or the tools in which a C++ file stands."""
    return path.relative_to(CPP).parts[0]


def shown(path: Path) -> str:
    """The path from the root, as test ids and messages show it."""
    return path.relative_to(ROOT).as_posix()


@functools.cache
def parsed(path: Path) -> ast.Module:
    """The tree of a Python file, read once for all rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def code_of(path: Path) -> str:
    """A C++ file without comments and without the contents of its texts."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r'(?<!#include )"(?:[^"\\\n]|\\.)*"', '""', text)


def includes(path: Path) -> set[str]:
    """What a C++ file includes: ``base/time.hpp``, ``vector`` ..."""
    return set(re.findall(r'#include\s+[<"]([^>"]+)[>"]', path.read_text()))


def module_of(path: Path) -> str:
    """The dotted name of a Python file below the package; empty for the package itself."""
    parts = path.relative_to(PYTHON).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in PYTHON_FILES}


def imports(path: Path, *, for_types: bool = True) -> set[str]:
    """What a Python file imports, now or later: modules of the package by their names below it,
    others by their first names.

    ``for_types``: also what only a type checker imports.
    """
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for other in node.orelse + (node.body if for_types else []):
                visit(other)
            return
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{shown(path)}: imports are absolute"
            found.update(_targets(node))
        elif isinstance(node, ast.Import):
            found.update(_target(alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found.update(_target(a.value) for a in node.args if isinstance(a, ast.Constant))
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(parsed(path))
    return found


def _targets(node: ast.ImportFrom) -> set[str]:
    module = str(node.module)
    names = {f"{module}.{alias.name}" for alias in node.names}
    return {_target(name if is_module(name) else module) for name in names}


def is_module(name: str) -> bool:
    """Whether the dotted name is a module of the package, and not a name in one."""
    return name == "gpusched._core" or name.removeprefix("gpusched.") in MODULES


def _target(name: str) -> str:
    first, _, rest = name.partition(".")
    return rest if first == "gpusched" else first
