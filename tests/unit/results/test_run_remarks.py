"""What a run has to say: in warnings, in results, of one job, and that it is its own."""

import copy
import dataclasses
import pickle
import warnings
from datetime import datetime
from typing import Any

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app
from gpusched.plugins.policy import PlacementChoice
from gpusched.reporting.notes import caption
from tests.each import each

CLUSTER = gs.Cluster.uniform(1, 4)
PLAIN = gs.Trace.from_columns([0, 1, 2], [10, 10, 10], [4, 4, 4])
TYPED = gs.Cluster((gs.ServerGroup(1, 4, "K80"), gs.ServerGroup(1, 4, "V100")))


class Idle(gs.Scheduler):
    """Starts nothing."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None: ...


SAID = {
    "deadlines": (
        {"policy": "edf"}, "edf needs deadlines, but no job has one",
    ),
    "estimates": (
        {"policy": "easy"},
        "easy needs run-time estimates, but no job has one; using true run times (oracle) instead",
    ),
    "some estimates": (
        {
            "policy": "conservative",
            "trace": gs.Trace.from_columns([0, 1], [5, 5], [1, 1], estimate_s=[9, None]),
        },
        "conservative needs run-time estimates, but 1 job has no estimate",
    ),
    "throughputs": ({"policy": "gavel", "cluster": TYPED},
                    "gavel decides by throughputs, and the speed of the run has none"),
    "rejects": ({"trace": gs.Trace.from_columns([0, 1], [5, 5], [1, 99])},
                "1 job rejected: needs more GPUs than the cluster has"),
    "nothing but rejects": ({"trace": gs.Trace.from_columns([0, 1], [5, 5], [98, 99])},
                            "2 jobs rejected: needs more GPUs than the cluster has"),
    "idle": ({"policy": Idle()}, "3 jobs wait forever"),
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
        "edf needs deadlines, but no job has one",
    ]


def test_a_saved_result_says_it_again(tmp_path):
    result = gs.simulate(PLAIN, CLUSTER, policy="edf")
    result.save(tmp_path / "a.npz")
    loaded = gs.load_result(tmp_path / "a.npz")
    assert loaded.warnings == result.warnings == ["edf needs deadlines, but no job has one"]


def test_the_command_says_it_once_as_a_remark():
    command = ["run", "-p", "edf", "--jobs", "50", "--servers", "4"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = CliRunner().invoke(app, command)
    assert made.exit_code == 0, made.stderr
    assert made.stderr.count("edf needs deadlines") == 1


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
        f"no speed is named: every job runs for its service, ignoring the "
        f"{'graph' if kind == 'graph' else 'profile'}s of the trace; name one, "
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


@pytest.mark.parametrize(("types", "num_free"), [(None, 3), (["K80", "", "K80|V100"], 2)])
def test_types_between_which_jobs_may_choose_count_as_equally_fast_and_that_is_said(
    types, num_free
):
    jobs = gs.Trace.from_columns([0, 1, 2], [10, 10, 10], [4, 4, 4], gpu_types=types)
    said = f"K80, V100 count as equally fast for {num_free} jobs that may run on several; "
    with pytest.warns(gs.RunWarning, match=said):
        result = gs.simulate(jobs, TYPED, policy="fifo")
    assert [line.startswith(said) for line in result.warnings] == [True]


@pytest.mark.parametrize("types", [["K80", "V100", "K80"], ["K80|T4", "V100", "T4|V100"]])
def test_where_no_job_may_choose_between_types_nothing_is_taken_for_granted(types):
    jobs = gs.Trace.from_columns([0, 1, 2], [10, 10, 10], [4, 4, 4], gpu_types=types)
    assert gs.simulate(jobs, TYPED, policy="fifo").warnings == []
    assert gs.simulate(PLAIN, CLUSTER, policy="fifo").warnings == []


TWO_GPUS = gs.Cluster.uniform(1, 2)
TRACE = gs.Trace.from_columns(
    submit_s=[0, 1, 2], service_s=[100, 50, 9], gpus=[2, 2, 2], deadline_s=[200, 60, 1000],
    restart_s=[5, 5, 5],
)  # fmt: skip
DATED = dataclasses.replace(TRACE, epoch=datetime(2020, 1, 1))


def story(policy: str, job: int, until_s: float | None = None) -> tuple[str, ...]:
    if until_s is None:
        return gs.simulate(DATED, TWO_GPUS, policy=policy).explain(job).lines
    run = gs.Simulation(DATED, TWO_GPUS, policy=policy)
    run.run_until(until_s)
    return run.result().explain(job).lines


def test_a_job_that_still_runs_has_not_finished():
    assert story("fifo", 0, 40) == (
        "Job 0 (id 0) was submitted at 2020-01-01 00:00:00: 2 GPUs, run time 1.67 min.",
        "Ran from 2020-01-01 00:00:00 for 2 s on 2 gpu of server 0.",
        "It had not finished when the run ended.",
        "Its deadline was at 2020-01-01 00:03:20.",
    )


def test_a_job_that_has_not_run_tells_who_held_its_gpus():
    told = story("fifo", 1, 40)
    assert told[1] == "It never ran."
    assert told[2] == ("  At submission, 0 of the 2 GPUs that it may use were free; 1 job held 2.")
    assert told[-2:] == (
        "It had not finished when the run ended.",
        "Its deadline was at 2020-01-01 00:01:00.",
    )


def test_a_job_that_lost_its_gpus_waits_since_then():
    told = story("las", 1, 40)
    assert told[1] == "Ran from 2020-01-01 00:00:01 for 1 s on 2 gpu of server 0."
    assert told[2] == "Waits since 2020-01-01 00:00:02."
    assert told[3].startswith("  When it lost its GPUs, 0 of the 2 GPUs")


def test_of_many_runs_the_first_are_told_and_what_restarts_cost():
    told = story("las:period_s=3", 0)
    ran = [line for line in told if line.startswith("Ran from ")]
    (more,) = (line for line in told if line.startswith("... "))
    assert more == f"... {51 - len(ran)} more runs follow."
    assert told[-2] == (
        "Finished at 2020-01-01 00:11:34, 11.6 min after submission "
        "(50 preemptions, 4.17 min paid for restarts)."
    )
    assert told[-1] == "Missed its deadline, at 2020-01-01 00:03:20, by 8.23 min."


JOBS = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])


def test_the_intervals_of_a_result_cannot_be_changed_under_it(tmp_path):
    result = gs.simulate(JOBS, CLUSTER, policy="fifo")
    result.save(tmp_path / "run.npz")
    for one in (result, gs.load_result(tmp_path / "run.npz")):
        one.schedule.intervals()["job"] = None
        with pytest.raises(TypeError, match="item assignment"):
            one.intervals["job"] = None
        with pytest.raises(ValueError, match="read-only"):
            one.intervals["start_us"][0] = 7
        assert one.intervals["job"].tolist() == [0, 1, 2]
        assert one.audit().ok
        assert pickle.loads(pickle.dumps(one)).digest == result.digest


@pytest.mark.parametrize("made", [gs.Policy("las", period_s=60), PlacementChoice("lwf", kappa=2)])
def test_the_parameters_of_a_choice_cannot_be_changed_under_it(made):
    with pytest.raises(TypeError, match="item assignment"):
        made.parameters["period_s"] = 1
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
        assert other.parameters == made.parameters


def test_a_comparison_has_a_hash_and_is_equal_to_itself_alone():
    one, other = (gs.compare(JOBS, CLUSTER, ["fifo", "sjf"]) for _ in range(2))
    assert {one: 1}[one] == 1
    assert one != other


def test_where_jobs_pile_up_is_said_above_the_figures():
    """Twice the cluster's work arrives; in a run of a tenth of it nothing waits long."""
    cluster = gs.Cluster.uniform(1, 4)
    full, calm = (
        gs.Trace.from_columns([pause * at for at in range(600)], [10] * 600, [4] * 600)
        for pause in (5, 100)
    )
    for trace, said in ((full, True), (calm, False)):
        compared = gs.compare(trace, cluster, ["fifo-skip", "sjf"])
        lines = [line for line in caption(compared) if line.startswith("jobs pile up under ")]
        assert len(lines) == said
        for line in lines:
            assert line.startswith("jobs pile up under fifo-skip (growth ")
            assert line.endswith(": their metrics depend on the trace length")
    found = gs.whatif(full, cluster, "fifo-skip", ["load=*0.5"])
    assert "\njobs pile up under base (growth " in str(found)
