"""A package of somebody else extends the command by an entry point."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT_S = 120

PLUGINS = '''
import numpy as np

import gpusched as gs
from gpusched.bounds.registry import register_bound
from gpusched_papers.registry import Paper, register_paper
from gpusched.traces.format_registry import TraceFormat, register_trace_format, text_file


@gs.register_order("acme-widest")
class Widest(gs.Order):
    """The widest job first."""

    lifetime = "fixed"

    def rank(self, view, active):
        return [-float(view.gpus[job]) for job in active]


@gs.register_placement("acme-last")
class Last(gs.Placement):
    """Never places anything."""

    def place(self, cluster, request):
        return None


@gs.register_predictor("acme-hour")
class Hour(gs.Predictor):
    """Every job takes an hour."""

    def begin(self, trace, seed=0):
        pass

    def predict(self, jobs):
        return np.full(len(jobs), 3600.0)


@gs.register_metric("acme_longest_delay_s", unit="s", summary="The longest delay.", better="lower")
def longest_delay(run):
    return ((run.schedule.start_us - run.trace.submit_us)[run.finished]).max() / 1e6


@register_bound(
    "acme-one", quantity="total-jct", summary="A microsecond.", assumptions="None.", source="Acme."
)
def one(jobs):
    return 1


def read(source, *, on_bad):
    rows = [list(map(float, line.split("|"))) for line in source.text.splitlines()[1:]]
    submit, service, gpus = zip(*rows)
    return gs.Trace.from_columns(submit, service, np.array(gpus, dtype=int), name=source.name)


register_trace_format(
    TraceFormat(
        name="acme-jobs",
        summary="Acme's own.",
        source="Acme.",
        detection="its first line",
        recognises=lambda source: source.first_line == "acme",
        read=read,
        excerpt=text_file("acme.txt", "acme", "0|60|1"),
    )
)

register_paper(
    Paper(
        name="acme-paper",
        title="On Acme",
        authors="Acme",
        venue="Acme 2026",
        summary="Everything.",
        reproduces=("figure 1",),
        module=__name__,
    )
)


def stages(*, seeds, quick, exact):
    return {"runs": seeds}
'''


def install(folder: Path, name: str, code: str) -> None:
    """Lay out a distribution as an installer would."""
    (folder / f"{name}.py").write_text(code)
    info = folder / f"{name}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[gpusched.plugins]\n{name} = {name}\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    install(folder, "acme", PLUGINS)
    install(folder, "broken", "import gpusched\nraise KeyError('no such thing')\n")
    (folder / "jobs.txt").write_text("acme\n0|60|1\n1|30|4\n2|10|1\n")
    return folder


def process(site: Path | None, *words: str) -> subprocess.CompletedProcess[str]:
    path = [str(site)] if site else []
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join([*path, environment.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, cwd=site, check=False,
    )  # fmt: skip


def run(site: Path | None, *arguments: str) -> subprocess.CompletedProcess[str]:
    return process(site, "-m", "gpusched", *arguments)


LISTING = """
import json
from typer.testing import CliRunner
from gpusched.cli import app
PLAN = "reproduce acme-paper --dry-run"
for words in ("policies", "trace formats", "reproduce", "metrics", PLAN):
    print(json.dumps(json.loads(CliRunner().invoke(app, [*words.split(), "--json"]).stdout)))
"""


def test_the_commands_list_what_the_package_registers(site):
    done = process(site, "-c", LISTING)
    assert done.returncode == 0, done.stderr
    policies, formats, papers, metrics, planned = map(json.loads, done.stdout.splitlines())
    kinds = {one["name"]: one["kind"] for one in policies["plugins"] if "acme" in one["name"]}
    assert kinds == {"acme-widest": "order", "acme-last": "placement", "acme-hour": "predictor"}
    assert "acme-jobs" in [known["name"] for known in formats["formats"]]
    assert "acme-paper" in [paper["name"] for paper in papers["papers"]]
    assert "acme_longest_delay_s" in [metric["key"] for metric in metrics["metrics"]]
    assert "acme-one" in [bound["name"] for bound in metrics["bounds"]]
    assert planned["stages"] == {"runs": 20}


def test_a_run_takes_policy_predictor_format_and_metric_of_the_package(site):
    done = run(
        site, "run", "jobs.txt", "--policy", "acme-widest", "--predictor", "acme-hour",
        "--servers", "1", "--gpus-per-server", "4", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    text = json.dumps(found)
    assert '"policy": "acme-widest"' in text
    # Of four GPUs one is busy until 60 s; the gang of four, submitted at 1 s, starts then.
    assert '"acme_longest_delay_s": 59.0' in text


def test_a_broken_package_is_named_in_a_line_and_nothing_else_breaks(site):
    done = run(site, "metrics", "gap")
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line == (
        "gpusched: plug-in 'broken' of broken 1.2 (broken) is left out: KeyError: 'no such thing'"
    )


def test_without_the_package_its_names_are_unknown():
    done = run(None, "run", "--policy", "acme-widest")
    assert done.returncode == 2
    assert "unknown policy 'acme-widest'" in done.stderr


def test_the_import_of_the_package_loads_no_other(site):
    code = (
        "import sys, gpusched as gs\n"
        "trace = gs.Trace.from_columns([0], [5], [1])\n"
        "gs.simulate(trace, gs.Cluster.uniform(1, 1), policy='fifo')\n"
        "print('acme' in sys.modules, 'importlib.metadata' in sys.modules)\n"
        "gs.metrics()\n"
        "print('acme' in sys.modules)\n"
    )
    done = process(site, "-W", "ignore", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["False", "False", "True"]


OWN = '''
import gpusched as gs


@gs.register_order("own")
class Own(gs.Order):
    """By user."""

    def rank(self, view, jobs):
        return view.user.codes[jobs]
'''


def test_a_file_of_ones_own_is_imported_first(tmp_path):
    (tmp_path / "own_policy.py").write_text(OWN)
    done = run(tmp_path, "--import", "own_policy.py", "run", "-p", "own", "--jobs", "50", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["policy"] == "own"
    for wrong in ("nothing_there.py", "nothing.there"):
        refused = run(tmp_path, "--import", wrong, "run")
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"gpusched: --import {wrong}: ")
