"""No public name of the package is also the name of a submodule.

The import of a submodule binds its name in the package, and would hide what is loaded on first
use under the same name.
"""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys

import gpusched as gs
from tests.architecture.sources import MODULES

# In a process of its own: what is imported here stays for all other tests.
SCRIPT = """
import importlib, pkgutil, sys
import gpusched as gs
for module in pkgutil.walk_packages(gs.__path__, "gpusched."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name, home in gs._HOME.items():
    truth = getattr(importlib.import_module(f"gpusched.{home}"), name)
    if getattr(gs, name) is not truth:
        print(name)
print(sum(name.startswith("gpusched.") for name in sys.modules))
"""


def submodules() -> set[str]:
    return {module.name for module in pkgutil.iter_modules(gs.__path__)}


def test_no_public_name_is_that_of_a_submodule() -> None:
    assert not set(gs.__all__) & submodules()


def test_no_other_package_loads_its_names_on_first_use() -> None:
    """Names that are bound when their package is imported hide submodules, not the reverse."""
    lazy = {
        name
        for name, path in MODULES.items()
        if path.name == "__init__.py"
        and any(
            getattr(node, "name", "") == "__getattr__" for node in ast.parse(path.read_text()).body
        )
    }
    assert lazy == {""}


def test_public_names_are_what_they_should_be_once_all_submodules_are_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    *wrong, count = done.stdout.split()
    assert not wrong
    assert int(count) >= len(MODULES) - 2
