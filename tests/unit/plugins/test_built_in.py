"""Policies of the package that are written in Python are those whose files lie in its folder."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpusched as gs
from gpusched.plugins.registry import BUILT_IN, built_in

FILE = '''
import gpusched as gs
from gpusched.plugins.registry import built_in


@built_in("eager")
class Eager(gs.Scheduler):
    """Starts what fits."""

    flags = ("non-preemptive",)

    def decide(self, state, finished, arrived, actions):
        for job in state.waiting.tolist():
            found = state.place(job)
            if found is not None:
                actions.start(job, found)
'''
SCRIPT = """
import sys
import gpusched as gs
import gpusched.plugins.schedulers as folder
folder.__path__.append(sys.argv[1])
print("scipy" in sys.modules, "gpusched.plugins.schedulers.eager" in sys.modules)
info = gs.policies()["eager"]
print(info.kind, info.summary, *info.flags)
trace = gs.Trace.from_columns([0, 0], [5, 6], [1, 2])
print(gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="eager").spec.policy)
print({"eager", "gavel"} <= {name for name, info in gs.policies().items() if not info.is_native})
"""


def test_a_file_that_is_dropped_in_is_a_policy(tmp_path):
    (tmp_path / "eager.py").write_text(FILE)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "False False", "scheduler Starts what fits. non-preemptive", "eager",
        "True",
    ]  # fmt: skip


def test_a_name_is_taken_once():
    assert "gavel" in gs.policies()
    with pytest.raises(ValueError, match="the name 'gavel' is taken"):
        built_in("gavel")(gs.Scheduler)
    assert BUILT_IN.own()["gavel"] is not gs.Scheduler


LEFT = """
import sys
sys.modules["gpusched_papers"] = None  # not installed
import gpusched as gs
for ask in (lambda: gs.Policy("chronus-leases"), lambda: gs.online.exact):
    try:
        ask()
    except (ValueError, ImportError) as error:
        print(type(error).__name__, error)
"""


def test_what_the_papers_have_now_is_said_to_be_there():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LEFT], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == [
        "ValueError unknown policy 'chronus-leases'; it is in the distribution gpusched-papers: "
        "pip install gpusched-papers",
        "ImportError gpusched.online.exact needs gpusched_papers: pip install gpusched-papers",
    ], done.stderr
