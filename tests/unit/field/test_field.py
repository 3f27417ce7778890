"""The ranking of all policies: who is in it, what is run, and what the page says."""

from __future__ import annotations

import pytest

import gpusched as gs
from gpusched import field
from gpusched.field import (
    FIRST_SEED,
    METRICS,
    ORACLE,
    Standings,
    Workload,
    entrants,
    field_study,
    generated,
    page,
)
from gpusched.plugins.registry import policies
from gpusched.sweeping.sweep import sweep
from tests.unit.real_data import needs_real_data


@pytest.fixture(scope="module")
def few() -> list[Workload]:
    """Two small workloads of which a seed decides the jobs."""
    return [
        Workload(
            profile,
            {"generate": profile, "jobs": 60, "loads": [3.0]},
            4,
            is_drawn=True,
            predictor="group-mean",
        )
        for profile in ("helios", "philly")
    ]


@pytest.fixture(scope="module")
def standings(few: list[Workload]) -> Standings:
    who = entrants(only=["fifo", "sjf", "random"])
    result = sweep(field_study(few, who, 3))
    assert result.num_failed == 0
    return Standings(result.finished, tuple(few), tuple(who))


def test_every_registered_policy_is_ranked_or_asks_for_more() -> None:
    ranked = {one.policy for one in entrants()}
    for name, info in policies().items():
        asks = any(map(info.has, ("deadlines", "elastic", "offline")))
        assert (name in ranked) is not asks


def test_a_policy_with_options_has_a_row_of_its_own_and_once() -> None:
    names = [one.policy for one in entrants(["fifo", "las:period_s=60"], only=["fifo"])]
    assert names == ["fifo", "las:period_s=60"]


@pytest.mark.parametrize("name", ["dancer", "sjf-bco"])
def test_policies_for_other_jobs_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^policy {name}: is (deadlines|offline), "):
        entrants([name])


def test_who_asks_for_services_runs_by_predictions_and_by_the_truth(standings: Standings) -> None:
    assert [row.label for row in standings.rows] == ["fifo", "sjf", "random", "sjf (clairvoyant)"]
    runs = standings.runs.group_by("policy", "predictor").len().rows()
    assert set(runs) == {
        ("fifo", ORACLE, 6), ("random", ORACLE, 6), ("sjf", ORACLE, 6), ("sjf", "group-mean", 6),
    }  # fmt: skip
    told, fair = standings.rows[3], standings.rows[1]
    work = standings.workloads[0]
    assert standings.values(told, work, "mean_jct_s").tolist() != (
        standings.values(fair, work, "mean_jct_s").tolist()
    )


def test_what_is_read_runs_once_unless_something_is_drawn(few: list[Workload]) -> None:
    read = Workload("read", {"file": "jobs.csv"}, 4, is_drawn=False, predictor="forest")
    who = entrants(only=["fifo", "sjf", "random"])
    tables = field_study([*few, read], who, 20).runs
    of_read = [one for one in tables if one["trace"] == ["read"]]
    num_seeds = {(*one["policy"], one["predictor"]): len(one["seed"]) for one in of_read}
    assert num_seeds == {
        ("random", ORACLE): 20, ("fifo", "sjf", ORACLE): 1, ("sjf", "forest"): 1,
    }  # fmt: skip
    assert all(seed >= FIRST_SEED for one in tables for seed in one["seed"])


def test_ranks_are_those_of_the_means(standings: Standings) -> None:
    for metric in ("mean_wait_s", "tenant_fairness"):
        test = standings.ranking(metric, is_deployable=False)
        assert test is not None
        expected = dict.fromkeys(test.names, 0.0)
        for work in standings.workloads:
            means = {
                row.label: float(standings.values(row, work, metric).mean())
                for row in standings.rows
            }
            best_first = sorted(means, key=means.__getitem__, reverse=metric == "tenant_fairness")
            assert len({*means.values()}) == len(means)
            for place, label in enumerate(best_first, 1):
                expected[label] += place / len(standings.workloads)
        assert dict(zip(test.names, test.mean_ranks, strict=True)) == pytest.approx(expected)
    deployable = standings.ranking("mean_wait_s")
    assert deployable is not None
    assert not any("clairvoyant" in name for name in deployable.names)


def test_the_page_has_every_figure_and_says_what_is_left_out(standings: Standings) -> None:
    text = page(standings, "gpusched field --seeds 3", ["ITP 01"])
    assert "`gpusched field --seeds 3`" in text
    assert "Left out, as the data are not there: ITP 01." in text
    for work in standings.workloads:
        _, _, part = text.partition(f"**{work.name}, 4 servers of 8 GPUs**")
        lines = [line for line in part.split("\n**")[0].splitlines() if line.startswith("| ")]
        assert len(lines) == 2 + len(standings.rows)
        assert all(line.count("|") == len(METRICS) + 2 for line in lines)
        assert all("±" in line for line in lines[2:])


def test_a_policy_whose_runs_are_not_there_is_not_ranked(standings: Standings) -> None:
    runs = standings.runs.filter(~((standings.runs["policy"] == "random")
                                   & (standings.runs["trace"] == "philly")))  # fmt: skip
    cut = Standings(runs, standings.workloads, standings.who)
    ranking = cut.ranking("mean_jct_s")
    assert ranking is not None
    assert "random" not in ranking.names
    assert "Not ranked, as some runs are not done or failed: random." in page(cut, "", [])


def test_what_was_run_is_not_run_again(
    few: list[Workload], monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr(field, "generated", lambda: few)
    monkeypatch.setattr(field, "windows", lambda: ([], ["ITP 01"]))
    first, missing, _ = field.state_of_the_field(
        only=["fifo"], num_seeds=2, folder=str(tmp_path), executor="threads:1"
    )
    second, _, _ = field.state_of_the_field(
        ["sjf"], only=["fifo"], num_seeds=2, folder=str(tmp_path), executor="threads:1"
    )
    assert missing == ["ITP 01"]
    kept = second.runs.filter(second.runs["policy"] == "fifo")
    assert kept["wall_s"].to_list() == first.runs["wall_s"].to_list()
    assert len(second.runs) == len(first.runs) + 2 * 2 * 2


def test_windows_are_those_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field, "find_data", lambda name: None)
    there, missing = field.windows()
    assert there == []
    assert len(missing) == 8
    assert len(generated()) == 4


@needs_real_data
@pytest.mark.parametrize("place", range(8))
def test_a_window_has_the_fewest_servers_at_which_jobs_wait_an_hour_at_most(place: int) -> None:
    work = field.windows()[0][place]
    trace = gs.read_trace(work.jobs["file"])
    for window in work.jobs.get("windows", ()):
        trace = trace.between(window["from"], window["to"]).rebased()
    waits = []
    for servers in (work.servers - 1, work.servers):
        cluster = gs.Cluster.uniform(servers=servers, gpus=field.GPUS)
        result = gs.simulate(trace, cluster, policy="fifo-skip")
        waits.append(result.summary()["mean_wait_s"])
    assert waits[0] > 3600 >= waits[1]
