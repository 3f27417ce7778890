"""What the bench compares, ranks and times is what it is said to be."""

import msgspec
import numpy as np
import pytest

import gpusched as gs
from bench import field
from bench.field import ORACLE, Standings, field_study, knows_services, middle, page
from bench.grade_study import Answer, answers, graded, main
from bench.iterations import iterations_recur, times_recur
from bench.policies import TimedPolicy
from gpusched.base.arrays import Float64
from gpusched.plugins.registry import policies
from gpusched_papers.a_srpt import TESTBED
from tests.unit.real_data import needs_real_data

FOREST = "forest:refit_jobs=1000,trees=20"


def small(study: gs.Study) -> gs.Study:
    """Two of its generated workloads with fewer jobs, and too many of them."""
    traces = [msgspec.structs.replace(one, jobs=60, loads=(3.0,)) for one in study.traces[:2]]
    clusters = [msgspec.structs.replace(one, servers=4) for one in study.clusters[:2]]
    names = [one.label for one in traces]
    tables = [one | {"trace": [n for n in one["trace"] if n in names]} for one in study.runs]
    return msgspec.structs.replace(
        study, traces=tuple(traces), clusters=tuple(clusters), runs=tuple(tables)
    )


@pytest.fixture(scope="module")
def standings(tmp_path_factory: pytest.TempPathFactory) -> Standings:
    study, _ = field_study(
        tmp_path_factory.mktemp("nothing"), only=["fifo", "sjf", "random"], num_seeds=3
    )
    result = gs.sweep(small(study))
    assert result.num_failed == 0
    return Standings(small(study), result.finished)


def test_every_registered_policy_is_ranked_or_asks_for_more():
    study = gs.Study.from_toml(field.STUDY.read_bytes())
    for name, info in policies().items():
        asks = any(map(info.has, ("deadlines", "elastic", "offline")))
        assert (name in study.policies) is not asks
    of_services = [one for one in study.policies if knows_services(one)]
    by_predictions = [one["policy"] for one in study.runs if one["predictor"] != ORACLE]
    assert by_predictions == [of_services, of_services]


def test_a_policy_with_options_has_a_row_of_its_own_and_once():
    study, _ = field_study(more=["fifo", "las:period_s=60"], only=["fifo"])
    assert list(study.policies) == ["fifo", "las:period_s=60"]


@pytest.mark.parametrize("name", ["dancer", "sjf-bco"])
def test_policies_for_other_jobs_are_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"^policy {name}: is (deadlines|offline), "):
        field_study(more=[name])


def test_who_asks_for_services_runs_by_predictions_and_by_the_truth(standings):
    assert standings.rows == ["fifo", "sjf", "random", "sjf (clairvoyant)"]
    runs = standings.runs.group_by("policy", "predictor").len().rows()
    assert set(runs) == {
        ("fifo", ORACLE, 6), ("random", ORACLE, 6), ("sjf", ORACLE, 6), ("sjf", "group-mean", 6),
    }  # fmt: skip
    work = standings.workloads[0]
    told, fair = (standings.values(row, work, "mean_jct_s") for row in ("sjf (clairvoyant)", "sjf"))
    assert told.tolist() != fair.tolist()


def test_what_is_read_runs_once_unless_something_is_drawn(tmp_path):
    (tmp_path / "itp").mkdir()
    (tmp_path / "itp" / "cluster01.csv").write_text("")
    study, missing = field_study(tmp_path, only=["fifo", "sjf", "random"])
    assert len(missing) == 7
    num_seeds = {}
    for policy in ("random", "fifo", "sjf"):
        for predictor in (ORACLE, FOREST):
            asked = [
                one
                for one in study.runs
                if "ITP 01" in one["trace"]
                and policy in one["policy"]
                and predictor == one["predictor"]
            ]
            seeds = [one.get("seed", study.seeds) for one in asked]
            num_seeds[policy, predictor] = len({*seeds[0]}) if len(seeds) > 1 else len(seeds)
    assert num_seeds == {
        ("random", ORACLE): 20, ("random", FOREST): 0, ("fifo", ORACLE): 1, ("fifo", FOREST): 0,
        ("sjf", ORACLE): 1, ("sjf", FOREST): 1,
    }  # fmt: skip


def test_policies_are_compared_over_the_workloads(standings):
    compared = standings.compared("mean_wait_s", is_deployable=False)
    assert compared.frame["num_seeds"].to_list() == [len(standings.workloads)] * 4
    columns = [
        [middle(standings.values(row, work, "mean_wait_s")).value for work in standings.workloads]
        for row in ("sjf", compared.baseline)
    ]
    (row,) = compared.frame.filter(policy="sjf").to_dicts()
    assert row["ratio"] == pytest.approx(gs.studies.ratio(*columns).value)
    deployable = standings.compared("mean_wait_s").frame["policy"]
    assert not any("clairvoyant" in name for name in deployable)


def test_the_page_has_every_figure_and_says_what_is_left_out(standings):
    text = page(standings, "python -m bench.field --seeds 3", ["ITP 01"])
    assert "`python -m bench.field --seeds 3`" in text
    assert "Left out, as the data are not there: ITP 01." in text
    for work in standings.workloads:
        _, _, part = text.partition(f"**{work}, 4 servers of 8 GPUs**")
        lines = [line for line in part.split("\n**")[0].splitlines() if line.startswith("| ")]
        assert len(lines) == 2 + len(standings.rows)
        assert all(line.count("|") == len(standings.study.metrics) + 2 for line in lines)
        assert all("[" in line for line in lines[2:])


def test_a_policy_whose_runs_are_not_there_is_not_compared(standings):
    runs = standings.runs.filter(~((standings.runs["policy"] == "random")
                                   & (standings.runs["trace"] == "philly (drawn)")))  # fmt: skip
    cut = Standings(standings.study, runs)
    assert "random" not in cut.compared("mean_jct_s").frame["policy"]
    assert "Not compared, as some runs are not done or failed: random." in page(cut, "", [])


@needs_real_data
@pytest.mark.parametrize("place", range(8))
def test_a_window_has_the_fewest_servers_at_which_jobs_wait_an_hour_at_most(place):
    study, _ = field_study()
    work = study.traces[place]
    trace = gs.read_trace(work.file)
    for window in work.windows:
        trace = trace.between(window.since, window.until).rebased()
    waits = []
    fewest = study.clusters[place].servers
    for servers in (fewest - 1, fewest):
        result = gs.simulate(trace, gs.Cluster.uniform(servers, 8), policy="fifo-skip")
        waits.append(result.summary()["mean_wait_s"])
    assert waits[0] > 3600 >= waits[1]


def iterations(trace: gs.Trace) -> Float64:
    """Of each job, by the time of one on the empty cluster."""
    limits = gs.bounds.iteration_limits(trace, TESTBED.cluster(), speed="stages")
    counted: Float64 = trace.service_s / limits["low"]
    return counted


def models_of_a_group(trace: gs.Trace) -> float:
    """How many graphs the jobs of a group and a width have, on average over jobs."""
    assert trace.group is not None
    assert trace.graph is not None
    kinds = np.stack([trace.group.codes, trace.gpus])
    _, kind = np.unique(kinds, axis=1, return_inverse=True)
    return float(np.mean([len(set(trace.graph[kind == one])) for one in kind]))


def test_jobs_have_as_many_iterations_as_seconds_in_the_study():
    ratio = iterations(iterations_recur(1)) / times_recur(1).service_s
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-3)


def test_a_group_trains_one_model_in_the_study_and_many_here():
    assert models_of_a_group(times_recur(1)) == 1
    assert models_of_a_group(iterations_recur(1)) > 3


every_kind = pytest.mark.parametrize("name", ["optimus", "gavel"])


@every_kind
def test_a_policy_that_came_to_no_decision_has_no_times(name):
    assert TimedPolicy(name).decisions_ms().shape == (0,)


@every_kind
def test_every_decision_is_timed(name):
    cluster = gs.Cluster.uniform(2, 4)
    timed = TimedPolicy(name)
    result = gs.simulate(gs.generate("philly", 30, cluster=cluster, seed=1), cluster,
                         policy=timed.policy)  # fmt: skip
    found = timed.decisions_ms()
    assert 1 < len(found) <= result.schedule.counters["instants"]
    assert (found >= 0).all()


@pytest.mark.long
def test_better_grades_have_better_answers(capsys):
    found = list(answers(0))
    # 2 logs of 14 pairs and 2 unknown orders, 14 base cases and 2 sizes of the right one, twice.
    assert len(found) == 2 * (14 * 16 + 2 * 14) * 2
    exact = [answer for answer in found if answer.letter == "A"]
    assert len(exact) >= 28
    assert max(answer.effect_factor for answer in exact) < 1.05
    rows = graded(found).texts
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    worst_levels = [float(row[-1]) for row in rows]
    assert worst_levels == sorted(worst_levels)
    main(["--sites", "1"])
    assert capsys.readouterr().out.splitlines()[2].split() == list(rows[0])


def test_the_table_has_nearest_ranks():
    found = [Answer("C", 1 + k / 10, 2.0) for k in range(10)]
    assert graded(found).texts == [("C", "10", "1.40", "1.80", "2.00", "2.00")]
