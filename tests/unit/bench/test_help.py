"""Asked for help, a bench says what it is and runs nothing."""

import subprocess
import sys

import pytest

from tests.architecture.sources import ROOT


@pytest.mark.parametrize("module", ["bench", "bench.bound_gaps"])
def test_help_names_the_module_and_runs_nothing(module):
    done = subprocess.run(
        [sys.executable, "-m", module, "--help"],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "usage:" in done.stdout
    assert "run.py" not in done.stdout
    assert "Gaps to the bounds" not in done.stdout
