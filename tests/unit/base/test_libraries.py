"""A library that is missing is named where it is needed, and is needed nowhere else."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.base.libraries import need
from tests.boundary.workloads import CLUSTER, trace
from tests.learners import learner

GROUPED = trace(group=["a", "b"] * 30)

CALLS: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "report": (
        "plotly",
        lambda path: gs.write_report(gs.compare(GROUPED, CLUSTER, ["fifo"]), path / "a.html"),
        "the report needs plotly: pip install plotly",
    ),
    "forest": (
        "sklearn",
        lambda _: learner("forest:trees=2,leaf=2,refit_jobs=5").train(GROUPED),
        "predictor forest needs sklearn: pip install scikit-learn",
    ),
    "pandas": (
        "pandas",
        lambda _: gs.simulate(GROUPED, CLUSTER).to_pandas(),
        r"this needs pandas: pip install gpusched\[pandas\]",
    ),
}


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_missing_library_is_named(call, tmp_path, monkeypatch):
    module, work, message = CALLS[call]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        work(tmp_path)


def test_what_is_there_is_not_loaded_by_the_check():
    code = "import sys; from gpusched.base.libraries import need; need('plotly', 'x', 'plotly')"
    code += "; assert 'plotly' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(ImportError, match="x needs nowhere_at_all: pip install y"):
        need("nowhere_at_all", "x", "y")


# All that a run, its summary, its audit and the command need without these two.
BLOCKED = """
import sys
sys.modules["plotly"] = sys.modules["sklearn"] = sys.modules["scipy"] = None
import gpusched as gs
trace = gs.generate("philly", 60, seed=1)
cluster = gs.Cluster.uniform(8, 8)
found = gs.compare(trace, cluster, ["fifo", "srtf"])
for result in found.results.values():
    assert result.audit().ok
result = gs.simulate(trace, cluster, policy="sjf", predictor="group-mean")
result.summary()
from gpusched.cli import main
sys.argv = ["gpusched", "compare", "--jobs", "60", "--servers", "8", "-p", "fifo,sjf"]
sys.argv += ["--out", sys.argv[0] + "-out"]
main()
"""


def test_runs_and_tables_need_neither_plotly_nor_scikit_learn(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean JCT" in done.stdout
    assert "no report: it needs plotly: pip install plotly" in done.stderr
    assert [path.name for path in (tmp_path / "gpusched-out").iterdir()] == ["jobs.parquet"]
