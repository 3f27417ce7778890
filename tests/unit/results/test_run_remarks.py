"""What a run has to say to who asked for it: in warnings, in results, at the command line."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app
from tests.each import each

CLUSTER = gs.Cluster.uniform(1, 4)
PLAIN = gs.Trace.from_columns([0, 1, 2], [10, 10, 10], [4, 4, 4])
TYPED = gs.Cluster((gs.ServerGroup(1, 4, "K80"), gs.ServerGroup(1, 4, "V100")))


class Idle(gs.Scheduler):
    """Starts nothing."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None: ...


SAID = {
    "deadlines": (
        {"policy": "edf"}, "edf decides by deadlines, and no job has one",
    ),
    "estimates": (
        {"policy": "easy"},
        "easy decides by users' estimates, and no job has one: the predictor oracle stands in",
    ),
    "some estimates": (
        {
            "policy": "conservative",
            "trace": gs.Trace.from_columns([0, 1], [5, 5], [1, 1], estimate_s=[9, None]),
        },
        "conservative decides by users' estimates, and 1 job has no estimate",
    ),
    "throughputs": (
        {"policy": "gavel", "cluster": TYPED},
        "gavel decides by throughputs, and the speed of the run has none",
    ),
    "rejects": (
        {"trace": gs.Trace.from_columns([0, 1], [5, 5], [1, 99])},
        "1 job rejected: needs more GPUs than the cluster has",
    ),
    "nothing but rejects": (
        {"trace": gs.Trace.from_columns([0, 1], [5, 5], [98, 99])},
        "2 jobs rejected: needs more GPUs than the cluster has",
    ),
    "idle": ({"policy": Idle()}, "3 jobs wait for ever"),
    "unfinished": ({"policy": Idle()}, "3 jobs unfinished"),
}  # fmt: skip


@each("case", sorted(SAID))
@each("call", ["simulate", "compare", "run"])
def test_what_a_run_lacks_is_a_warning(case, call):
    options, text = SAID[case]
    options = {"policy": "fifo", "trace": PLAIN, "cluster": CLUSTER} | options
    trace, cluster, policy = (options[name] for name in ("trace", "cluster", "policy"))
    own = policy if isinstance(policy, gs.Scheduler) else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec = gs.simulate(trace, cluster, policy=policy).spec
    calls = {
        "simulate": lambda: gs.simulate(trace, cluster, policy=policy),
        "compare": lambda: gs.compare(trace, cluster, [policy]),
        "run": lambda: gs.run(spec, trace, policy=own),
    }
    with pytest.warns(gs.RunWarning) as caught:
        calls[call]()
    told = [str(warning.message) for warning in caught]
    assert any(text in line for line in told), told
    assert len(set(told)) == len(told)
    assert {warning.filename for warning in caught} == {__file__}


def test_a_run_that_has_what_it_needs_says_nothing():
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], estimate_s=[9, 9], deadline_s=[50, 60])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.compare(trace, CLUSTER, ["fifo", "edf", "easy", "gavel"])
        gs.simulate(trace, CLUSTER, policy="easy", predictor="estimate")


def test_a_comparison_says_what_holds_for_all_once_and_names_the_others():
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 99])
    with pytest.warns(gs.RunWarning) as caught:
        gs.compare(trace, CLUSTER, ["fifo", "edf"])
    assert sorted(str(warning.message) for warning in caught) == [
        "1 job rejected: needs more GPUs than the cluster has",
        "edf decides by deadlines, and no job has one",
    ]


def test_a_saved_result_says_it_again(tmp_path):
    result = gs.simulate(PLAIN, CLUSTER, policy="edf")
    result.save(tmp_path / "a.npz")
    loaded = gs.load_result(tmp_path / "a.npz")
    assert loaded.warnings == result.warnings == ["edf decides by deadlines, and no job has one"]


def test_the_command_says_it_once_as_a_remark():
    command = ["run", "-p", "edf", "--jobs", "50", "--servers", "4"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.stderr
    assert made.stderr.count("edf decides by deadlines") == 1


@each(
    ("options", "message"),
    [
        ({"placement": "nope"}, "^unknown placement 'nope'"),
        ({"predictor": "oracel"}, "^unknown predictor 'oracel'"),
        ({"predictor": "estimate"}, "^predictor 'estimate': the trace has no estimate_s"),
        ({"speed": "rong"}, "^unknown speed 'rong'"),
        ({"contention": "shard"}, "^unknown contention 'shard'"),
        ({"placement": "random:x=1"}, "^placement random: unknown parameter 'x'"),
    ],
)
def test_no_policy_is_blamed_for_what_all_share(options, message):
    with pytest.raises(ValueError, match=message):
        gs.compare(PLAIN, CLUSTER, ["fifo", "sjf"], **options)


def test_the_load_counts_the_jobs_that_run():
    trace = gs.Trace.from_columns([0, 10], [5, 50], [4, 8])
    assert gs.simulate(trace, CLUSTER).metric("load") == pytest.approx(4 * 5 / (4 * 10))
    none = gs.Trace.from_columns([0, 10], [5, 50], [8, 8])
    assert gs.simulate(none, CLUSTER).metric("load") == 0


def test_runs_inside_of_other_calls_say_nothing():
    batch = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.online.plan(batch, CLUSTER, contention="none", theta_s=1.0)


@pytest.mark.parametrize("kind", ["profile", "graph", "throughput"])
def test_models_of_jobs_that_no_named_speed_reads_are_told_by_every_way_to_run(kind):
    cluster = gs.Cluster.uniform(2, 4)
    jobs = gs.generate("philly", 20, load=0.9, cluster=cluster, seed=1)
    if kind == "profile":
        jobs, other = jobs.with_profiles(gs.model.zoo(), seed=1), "ring"
    elif kind == "graph":
        stage = gs.model.Stage(replicas=1, compute_s={"gpu": 0.1}, parameter_bytes=1e6)
        graph = gs.model.JobGraph("g", (stage,))
        jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1]).with_graphs([graph], index=[0, 0])
        other = "stages"
    else:
        model = gs.model.JobProfile("m", throughput={"gpu": {n: float(n) for n in range(1, 9)}})
        jobs, other = jobs.with_profiles([model], seed=1), "table"
    said = (
        f"no speed is named: every job runs for its service, and the "
        f"{'graph' if kind == 'graph' else 'profile'}s of the trace are not read; name one, "
        f"such as {other}, or fixed"
    )
    with pytest.warns(gs.RunWarning, match=said):
        assert said in gs.simulate(jobs, cluster, policy="fifo").warnings
    with pytest.warns(gs.RunWarning, match=said):
        gs.compare(jobs, cluster, ["fifo", "sjf"])
    run = gs.Simulation(jobs, cluster, policy="fifo")
    run.run()
    assert said in run.result().warnings
    assert gs.simulate(jobs, cluster, policy="fifo", speed="fixed").warnings == []
