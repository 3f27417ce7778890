"""Common mistakes of new users, and what the message must name.

docs/messages.py explains the messages; a test checks that it has them all.
"""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app

FILES = {
    "jobs.csv": "submit_s,service_s,gpus\n0,10,1\n5,20,2\n",
    "empty.csv": "",
    "words.csv": "submit_s,service_s,gpus\none,two,three\n",
    "short.csv": "submit_s,gpus\n0,1\n",
    "header.csv": "submit_s,service_s,gpus\n",
    "notes.txt": "Dear all,\n",
    "cluster.toml": "[[servers]]\ncount = 2\ngpus = 8\n",
    "odd.toml": "[[serverz]]\ncount = 1\ngpus = 8\n",
    "broken.toml": "[[servers]\n",
    "zero.toml": "[[servers]]\ncount = 0\ngpus = 8\n",
}
"""Files in the working folder."""

CLI: dict[str, dict[str, str]] = {
    "Commands and options": {
        "comprae": "compare",
        "compare --polices fifo": "--policies",
        "compare -x": "-x",
        "run jobs.csv": "--policy",
        "run jobs.csv -p": "-p",
        "run": "--policy",
        "compare jobs.csv more.csv": "more.csv",
        "trace inof jobs.csv": "inof",
        "trace info": "FILE",
        "trace info jobs.csv extra": "extra",
        "trace convert jobs.csv": "FILE",
        "policies nope": "nope",
        "--import nowhere policies": "No module named 'nowhere'",
        "metrics mean_jtc_s": "mean_jct_s",
    },
    "Files": {
        "compare nowhere.csv": "nowhere.csv",
        "compare empty.csv": "empty.csv",
        "compare words.csv": "words.csv",
        "compare short.csv": "service_s",
        "compare header.csv": "header.csv",
        "compare folder": "folder",
        "trace info notes.txt": "notes.txt",
        "compare jobs.csv --format itpp": "did you mean 'itp'",
        "compare --format itp": "TRACE",
        "compare jobs.csv --format helios": "jobs.csv",
        "compare jobs.csv --column duration": "KEY=VALUE",
        "compare jobs.csv --column service_s=length": "length",
        "compare jobs.csv --column servce_s=gpus": "servce_s",
        "compare jobs.csv --column a=b --column a=c": "a is given twice",
        "compare jobs.csv --option x=1": "'x'",
        "trace convert jobs.csv jobs.csv": "jobs.csv",
        "trace convert jobs.csv jobs.xyz": "xyz",
        "trace convert jobs.csv nowhere/a.csv": "nowhere",
        "trace generate phily a.csv": "phily",
        "trace generate philly folder.csv": "folder.csv",
        "compare jobs.csv --out jobs.csv": "jobs.csv",
        "run jobs.csv -p fifo --timeline a.txt": "a.txt",
        "export jobs.csv a.json": "jobs.csv",
        "export nowhere.npz a.json": "nowhere.npz",
        "export nowhere.npz a.json --option tracks=gpus": "gpus",
    },
    "Policies and numbers": {
        "run jobs.csv -p srft": "did you mean 'srtf'",
        "compare jobs.csv -p fifo,sjf,fifo": "'fifo' is listed twice",
        "run jobs.csv -p 2d-las:presett=lucid": "did you mean 'preset'",
        "run jobs.csv -p 2d-las:preset=lucidd": "did you mean 'lucid'",
        "run jobs.csv -p 2d-las:period_s=soon": "'soon'",
        "compare jobs.csv -p preset=lucid": "follows no policy",
        "run jobs.csv -p fifo:": "key=value",
        "run jobs.csv -p sjf --placement nope": "placement 'nope'",
        "run jobs.csv -p sjf --placement consolidatd": "did you mean 'consolidated'",
        "run jobs.csv -p sjf --predictor oracel": "'oracel'",
        "run jobs.csv -p easy --predictor estimate": "estimate_s",
        "compare --jobs 0": "--jobs",
        "compare --jobs many": "--jobs",
        "compare jobs.csv --threads 0": "--threads",
        "compare jobs.csv --load nan": "--load",
        "compare jobs.csv --load -0.5": "--load",
        "compare jobs.csv --seed -1": "--seed",
        "run jobs.csv -p fifo --explain 7": "--explain",
        "compare jobs.csv --deadlines tightnes=1": "tightness",
    },
    "Clusters and speeds": {
        "compare jobs.csv --servers 0": "--servers",
        "compare jobs.csv --servers many": "--servers",
        "compare jobs.csv --servers 4 --gpus-per-server 65": "65",
        "compare jobs.csv --cluster nowhere.toml": "nowhere.toml",
        "compare jobs.csv --cluster odd.toml": "serverz",
        "compare jobs.csv --cluster broken.toml": "broken.toml",
        "compare jobs.csv --cluster zero.toml": "count",
        "compare jobs.csv --cluster cluster.toml --servers 4": "--servers",
        "compare jobs.csv --speed rong --profiles zoo": "did you mean 'ring'",
        "compare jobs.csv --speed ring": "--profiles",
        "compare jobs.csv --speed ring --profiles zooo": "zooo",
        "compare jobs.csv --contention shared --speed fixed": "--contention shared",
        "compare jobs.csv --nic-gbps 0": "nic_gbps",
        "compare jobs.csv --servers-per-rack 2": "--nic-gbps",
        "reproduce sjf-bc": "sjf-bco",
        "reproduce sjf-bco --seeds 1": "--seeds",
    },
}
"""By topic: arguments of ``gpusched``, and what the message must name."""

PYTHON: dict[str, dict[str, str]] = {
    "Names": {
        "gs.simulat(trace, cluster)": "did you mean 'simulate'",
        "gs.load('result.npz')": "load_result",
        "gs.simulate(trace, cluster, policy='srft')": "did you mean 'srtf'",
        "gs.simulate(trace, cluster, policy=7)": "7",
        "gs.simulate(trace, cluster, policy=None)": "None",
        "gs.simulate(trace, cluster, placement='x')": "placement 'x'",
        "gs.simulate(trace, cluster, predictor='oracel')": "'oracel'",
        "gs.simulate(trace, cluster, predictor='estimate')": "estimate_s",
        "gs.simulate(trace, cluster, speed='rong')": "'rong'",
        "gs.simulate(trace, cluster, contention='shared', speed='fixed')": "speed 'fixed'",
        "gs.simulate(trace, cluster, polcy='fifo')": "polcy",
        "gs.simulate(trace)": "cluster",
        "gs.simulate(cluster, trace)": "trace",
        "gs.simulate(trace, 64)": "cluster",
        "gs.simulate(trace, cluster, seed=-1)": "seed",
        "gs.simulate(trace, cluster, seed='one')": "seed",
        "gs.Policy('fifo', scann='skip')": "did you mean 'scan'",
        "gs.Policy('2d-las', preset='lucidd')": "did you mean 'lucid'",
        "gs.Policy('las', period_s='soon')": "period_s",
        "gs.compare(trace, cluster, [])": "policies",
        "gs.compare(trace, cluster, 'fifo')": "policies",
        "gs.compare(trace, cluster, ['fifo', 'fifo'])": "'fifo' is listed twice",
        "gs.compare(trace, cluster, ['fifo'], threads=0)": "threads",
    },
    "Traces": {
        "gs.read_trace('nowhere.csv')": "nowhere.csv",
        "gs.read_trace('empty.csv')": "empty.csv",
        "gs.read_trace('words.csv')": "words.csv",
        "gs.read_trace('short.csv')": "service_s",
        "gs.read_trace('jobs.csv', format='cvs')": "did you mean 'csv'",
        "gs.read_trace('jobs.csv', columns={'service_s': 'length'})": "length",
        "gs.read_trace('jobs.csv', columns={'servce_s': 'gpus'})": "servce_s",
        "gs.read_trace('jobs.csv', on_bad='ignore')": "on_bad",
        "gs.read_trace('jobs.csv', procesors='requested')": "procesors",
        "gs.read_trace('jobs.csv', max_bytes=0)": "max_bytes",
        "gs.Trace.from_columns([0, 1], [5, 5], [1])": "gpus",
        "gs.Trace.from_columns([0], ['long'], [1])": "service_s",
        "gs.Trace.from_columns([0], [-5], [1], on_bad='error')": "service_s",
        "gs.Trace.from_columns([0], [5], [0], on_bad='error')": "gpus",
        "gs.Trace.from_columns([0], [float('nan')], [1], on_bad='error')": "service_s",
        "gs.Trace.from_columns([], [], [])": "no jobs",
        "gs.Trace.from_columns([0], [5])": "gpus",
        "trace.head(0)": "head",
        "trace.filter([True])": "filter",
        "trace.with_load(0, 8)": "load",
        "trace.with_deadlines('tight')": "tight",
        "trace.with_profiles([])": "profiles",
        "trace.offered_load(0)": "gpus",
        "gs.generate('phily', 10)": "phily",
        "gs.generate('philly', 0)": "jobs",
        "gs.generate('philly', 10, load=-1)": "load",
    },
    "Clusters, results and files": {
        "gs.Cluster.uniform(0, 8)": "servers",
        "gs.Cluster.uniform(4, 65)": "65",
        "gs.Cluster.uniform('4', 8)": "'4'",
        "gs.Cluster(())": "servers",
        "gs.read_cluster('nowhere.toml')": "nowhere.toml",
        "gs.read_cluster('odd.toml')": "serverz",
        "cluster.with_bandwidth(nic_gbps=0)": "nic_gbps",
        "gs.load_result('jobs.csv')": "jobs.csv",
        "gs.load_result('nowhere.npz')": "nowhere.npz",
        "result.metric('mean_jtc_s')": "did you mean 'mean_jct_s'",
        "result.jobs['jtc_s']": "jtc_s",
        "result.explain(99)": "99",
        "result.export('a.xyz')": "a.xyz",
        "result.to_perfetto('a.json', tracks='gpus')": "gpus",
        "result.save('nowhere/a.npz')": "nowhere/a.npz",
        "result.to_parquet('folder')": "folder",
    },
    "Plug-ins": {
        "gs.simulate(trace, cluster, policy=NoRank())": "rank",
        "gs.simulate(trace, cluster, policy=BadLifetime())": "did you mean 'lifetime'",
        "gs.simulate(trace, cluster, policy=NoRank)": "NoRank()",
        "gs.register_order('fifo')(NoRank)": "'fifo'",
        "gs.register_order('my order')(NoRank)": "my order",
        "gs.register_order('mine')(NoDecide)": "Order",
        "gs.simulate(trace, cluster, policy=NoDecide())": "decide",
        "gs.simulate(trace, cluster, policy=WrongCount())": "rank",
    },
}
"""By topic: an expression, and what the error must name; names are those of :func:`given`."""


class NoRank(gs.Order):
    """An order without its method."""

    def keyy(self, view: Any, jobs: Any) -> Any:
        """Do not rank."""


class BadLifetime(gs.Order):
    """An order with a misspelt attribute."""

    lifetme = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        """Rank all alike."""
        return [0.0] * len(jobs)


class WrongCount(gs.Order):
    """An order that returns one key too few."""

    def rank(self, view: Any, jobs: Any) -> Any:
        """Leave one out."""
        return [0.0] * (len(jobs) - 1)


class NoDecide(gs.Scheduler):
    """A scheduler without its method."""


def given() -> dict[str, Any]:
    """Return the names that an expression may use."""
    trace = gs.Trace.from_columns([0, 1, 1], [10, 10, 10], [8, 8, 8])
    cluster = gs.Cluster.uniform(1, 8)
    result = gs.simulate(trace, cluster)
    classes = {kind.__name__: kind for kind in (NoRank, BadLifetime, WrongCount, NoDecide)}
    return {"gs": gs, "trace": trace, "cluster": cluster, "result": result, **classes}


@contextmanager
def folder(path: Path) -> Iterator[None]:
    """Change into a folder with :data:`FILES` within this context."""
    for name, text in FILES.items():
        (path / name).write_text(text, encoding="utf-8")
    (path / "folder").mkdir()
    (path / "folder.csv").mkdir()
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


PARSER = ("No such", "Missing", "Got unexpected", "Invalid value", "Option ")
"""Beginnings of messages from the command-line parser, which differ between its versions."""


def said_by_command(arguments: str) -> tuple[int, str, str]:
    """Return the exit code of ``gpusched``, its stderr and its stdout."""
    made = CliRunner().invoke(app, arguments.split())
    return made.exit_code, made.stderr, made.stdout


def said_by_python(expression: str, names: dict[str, Any]) -> BaseException | None:
    """Return the error of an expression, or None."""
    run: Callable[[], Any] = lambda: eval(expression, dict(names))  # noqa: E731
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run()
    except Exception as error:
        return error
    return None
