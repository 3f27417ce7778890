"""A plug-in cannot take the name of an entry of the package, whenever it is loaded."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpusched as gs
import gpusched_papers

ENTRIES = {
    "gpusched.bounds.registry": ("BOUNDS", "typed"),
    "gpusched.online.states.state_formats": ("STATE_FORMATS", "slurm"),
    "gpusched.results.format_registry": ("SCHEDULE_FORMATS", "perfetto"),
    "gpusched_papers.registry": ("PAPERS", "dancer"),
    "gpusched.plugins.registry": ("BUILT_IN", "gavel"),
    "gpusched.prediction.registry": ("PREDICTORS", "forest"),
    "gpusched.results.metric_registry": ("METRICS", "makespan_s"),
    "gpusched.testing.law_registry": ("LAWS", "possible-actions"),
    "gpusched.traces.auditing.check_registry": ("CHECKS", "duplicate-ids"),
    "gpusched.traces.format_registry": ("FORMATS", "acme"),
}
PLUG_IN = """
import importlib, sys
module, attribute, name = sys.argv[1:]
registry = getattr(importlib.import_module(module), attribute)
mine = object()
try:
    registry.add(name, mine)
except ValueError as error:
    print(error)
print(registry.find(name) is not mine)
"""


@pytest.mark.parametrize("module", ENTRIES)
def test_a_plug_in_that_comes_first_is_refused_by_name_and_the_entry_stays(module):
    attribute, name = ENTRIES[module]
    found = subprocess.run(
        [sys.executable, "-c", PLUG_IN, module, attribute, name],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    refusal, stays = found.stdout.splitlines()
    assert refusal.endswith(f": the name {name!r} is taken")
    assert stays == "True"


def test_every_registry_that_has_a_home_is_tried():
    packages = [Path(str(package.__file__)).parent for package in (gs, gpusched_papers)]
    having = {
        ".".join((package.name, *path.relative_to(package).with_suffix("").parts))
        for package in packages
        for path in package.rglob("*.py")
        if re.search(r'= Registry\(\s*"[^"]+",\s*"gpusched', path.read_text())
    }
    assert having == set(ENTRIES)
