"""No public name of a package is also the name of a submodule of it.

The import of a submodule binds its name in the package, and would hide what is loaded on first
use under the same name.
"""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import gpusched as gs
from tests.architecture.sources import MODULES
from tests.each import each

# In a process of its own: what is imported here stays for all other tests.
SCRIPT = """
import importlib, pkgutil, sys
import gpusched as gs
for module in pkgutil.walk_packages(gs.__path__, "gpusched."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name in {"dask", "distributed", "ray"}  # of extras
for package in (gs, *(getattr(gs, name) for name in gs._SUBMODULES)):
    for name in package.__all__:
        if type(getattr(package, name)) is type(gs):
            print(package.__name__, name)
print(sum(name.startswith("gpusched.") for name in sys.modules))
"""


PACKAGES = (gs, gs.traces.generating, *(getattr(gs, name) for name in gs._SUBMODULES))
public_packages = pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.__name__)


def submodules(package: ModuleType) -> set[str]:
    return {module.name for module in pkgutil.iter_modules(package.__path__)}


@public_packages
def test_no_public_name_is_that_of_a_submodule(package: ModuleType) -> None:
    assert not set(package.__all__) & submodules(package)


def test_only_public_packages_load_their_names_on_first_use() -> None:
    lazy = {
        name
        for name, path in MODULES.items()
        if path.name == "__init__.py" and "lazy_names(" in path.read_text()
    }
    assert lazy | {"prediction"} == {"", "traces.generating", *gs._SUBMODULES}


@each("package", [*PACKAGES, gs.plot])
def test_every_name_of_a_public_package_is_there_and_documented(package: ModuleType) -> None:
    assert package.__all__ == sorted(package.__all__)
    for name in package.__all__:
        assert name == "__version__" or (getattr(package, name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'simulat'"):
        package.simulat  # noqa: B018 - the look itself fails


@public_packages
def test_what_type_checkers_see_is_what_is_there(package: ModuleType) -> None:
    (path,) = package.__path__
    tree = ast.parse((Path(path) / "__init__.pyi").read_text())
    seen: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpusched"):
            seen |= {alias.name: str(node.module) for alias in node.names}
    rooms = {*gs._SUBMODULES, "plot"} if package is gs else set()
    assert set(seen) - rooms == set(package.__all__)
    for name in package.__all__:
        assert getattr(importlib.import_module(seen[name]), name) is getattr(package, name)


def test_public_submodules_need_no_import_of_their_own() -> None:
    code = "import gpusched as gs; print(gs.online.assign.__module__, 'deciding' in dir(gs))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.split() == ["gpusched.online.assignment", "True"]


def test_public_names_are_what_they_should_be_once_all_submodules_are_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=300
    )
    *wrong, count = done.stdout.split()
    assert not wrong
    assert int(count) >= len(MODULES) - 2
