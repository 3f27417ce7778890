"""Packages by the names that they had before are the packages."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import gpusched as gs
from tests.each import each

OLD = {
    "clusters": "model",
    "deciding": "online",
    "generator": "traces.generating",
    "models": "model",
    "plot": "reporting.plot",
    "readable": "reference",
    "statistics": "studies",
    "sweeping": "studies",
    "tuning": "studies",
}


@each("old", OLD)
def test_a_package_by_an_old_name_is_the_package(old):
    room = import_module(f"gpusched.{OLD[old]}")
    assert import_module(f"gpusched.{old}") is getattr(gs, old) is room
    assert room.__spec__ is not None
    assert room.__spec__.name == room.__name__ == f"gpusched.{OLD[old]}"


def test_a_module_by_an_old_name_is_the_module_whichever_is_imported_first():
    program = (
        "import gpusched.models.job_graphs as old, gpusched.model.job_graphs as new;"
        "from gpusched.statistics import holm; from gpusched.studies import holm as same;"
        "print(old is new, holm is same, new.__spec__.name)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "True True gpusched.model.job_graphs\n", done.stderr


def test_what_an_old_package_never_had_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"gpusched\.model\.nothing"):
        import_module("gpusched.clusters.nothing")


@pytest.mark.parametrize("name", ["traces.generating", "reporting.plot"])
def test_a_package_inside_another_is_there_without_an_import(name):
    program = f"import gpusched; print(gpusched.{name}.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == f"gpusched.{name}\n", done.stderr
