"""The ranking of all policies: who is in the study, what is run, and what the page says."""

from __future__ import annotations

import msgspec
import pytest

import gpusched as gs
from bench import field
from bench.field import ORACLE, Standings, field_study, knows_services, page
from gpusched.plugins.registry import policies
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


def test_ranks_are_those_of_the_means(standings):
    for metric in ("mean_wait_s", "tenant_fairness"):
        test = standings.ranking(metric, is_deployable=False)
        assert test is not None
        expected = dict.fromkeys(test.names, 0.0)
        for work in standings.workloads:
            means = {
                row: float(standings.values(row, work, metric).mean()) for row in standings.rows
            }
            best_first = sorted(means, key=means.__getitem__, reverse=metric == "tenant_fairness")
            assert len({*means.values()}) == len(means)
            for place, row in enumerate(best_first, 1):
                expected[row] += place / len(standings.workloads)
        assert dict(zip(test.names, test.mean_ranks, strict=True)) == pytest.approx(expected)
    deployable = standings.ranking("mean_wait_s")
    assert deployable is not None
    assert not any("clairvoyant" in name for name in deployable.names)


def test_the_page_has_every_figure_and_says_what_is_left_out(standings):
    text = page(standings, "python -m bench.field --seeds 3", ["ITP 01"])
    assert "`python -m bench.field --seeds 3`" in text
    assert "Left out, as the data are not there: ITP 01." in text
    for work in standings.workloads:
        _, _, part = text.partition(f"**{work}, 4 servers of 8 GPUs**")
        lines = [line for line in part.split("\n**")[0].splitlines() if line.startswith("| ")]
        assert len(lines) == 2 + len(standings.rows)
        assert all(line.count("|") == len(standings.study.metrics) + 2 for line in lines)
        assert all("±" in line for line in lines[2:])


def test_a_policy_whose_runs_are_not_there_is_not_ranked(standings):
    runs = standings.runs.filter(~((standings.runs["policy"] == "random")
                                   & (standings.runs["trace"] == "philly (drawn)")))  # fmt: skip
    cut = Standings(standings.study, runs)
    ranking = cut.ranking("mean_jct_s")
    assert ranking is not None
    assert "random" not in ranking.names
    assert "Not ranked, as some runs are not done or failed: random." in page(cut, "", [])


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
