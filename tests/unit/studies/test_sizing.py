"""How many servers a workload needs, compared with trying every number of them."""

from __future__ import annotations

import pickle
import threading
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.supervision import Cancelled
from gpusched.studies.sizing import ServerKinds

H = 3600
WEEKS = 4 * 7 * 24 * H


@pytest.fixture(scope="module")
def trace() -> gs.Trace:
    """Four weeks and a bit of 600 jobs, the widest of 16 GPUs."""
    rng = np.random.default_rng(5)
    submit = np.sort(rng.uniform(0, 1.1 * WEEKS, 600))
    return gs.Trace.from_columns(
        submit, rng.lognormal(9.5, 1.2, 600), rng.choice([1, 1, 2, 4, 8, 16], 600), name="weeks"
    )


def p95(trace: gs.Trace, servers: int, policy: str = "fifo-skip") -> Any:
    return gs.simulate(trace, gs.Cluster.uniform(servers, 8), policy=policy).metric("p95_wait_s")


def test_the_fewest_servers_are_those_of_a_search_through_all(trace):
    found = gs.size(trace, "p95_wait_s < 20 min", policy="fifo-skip", resamples=0)
    every = [servers for servers in range(2, 41) if p95(trace, servers) < 20 * 60]
    assert found.servers == every[0]
    assert found.cluster == gs.Cluster.uniform(every[0], 8)
    assert found.result is not None
    assert found.result.metric("p95_wait_s") == p95(trace, every[0])
    assert found.exceptions == ()
    assert str(found).startswith(f"you need {every[0]} servers x 8 GPUs")


def test_the_runs_that_led_there_are_shown(trace):
    found = gs.size(trace, "p95_wait_s < 20 min and mean_jct_s < 1 d", policy="fifo-skip")
    table = found.table()
    assert table.columns == [
        "servers", "gpus", "p95_wait_s", "mean_jct_s", "jobs_without", "is_met", "wall_s",
    ]  # fmt: skip
    assert table["servers"].is_sorted()
    assert found.servers is not None
    around = range(found.servers - 3, found.servers + 4)
    assert set(around) & set(range(2, 100)) <= set(table["servers"])
    for row in table.iter_rows(named=True):
        assert row["p95_wait_s"] == p95(trace, row["servers"])
        assert row["is_met"] == (row["p95_wait_s"] < 1200 and row["mean_jct_s"] < 86_400)


def test_no_job_may_be_left_out(trace):
    """One GPU would serve the narrow jobs at once, and refuse the others."""
    jobs = gs.Trace.from_columns([0, 0], [1, 1], [1, 17])
    found = gs.size(jobs, "p95_wait_s < 600", resamples=0)
    assert found.servers == 3
    assert found.table()["servers"].min() == 3


def test_where_more_servers_miss_the_goal_it_is_said(monkeypatch):
    from gpusched.studies.sizing import SizingRuns

    def simulated(self: Any, counts: tuple[int, ...]) -> tuple[dict[str, float], int]:
        return {"p95_wait_s": 0.0 if counts[0] in (9, *range(11, 31)) else 900.0}, 0

    monkeypatch.setattr(SizingRuns, "_simulated", simulated)
    jobs = gs.Trace.from_columns(np.zeros(30), np.ones(30), np.full(30, 8))
    found = gs.size(jobs, "p95_wait_s < 600", resamples=0)
    assert found.servers == 9
    assert [run.counts for run in found.exceptions] == [(10,)]
    assert any(note.startswith("not monotone") and "10 servers" in note for note in found.notes())


def test_a_goal_that_no_number_of_servers_meets_has_no_answer(trace):
    found = gs.size(trace, "mean_jct_s < 1")
    assert (found.servers, found.cluster, found.result, found.confidence) == (None,) * 4
    assert str(found).startswith("no number of servers was found")
    assert "more servers do not help mean_jct_s < 1" in found.notes()[0]


def test_a_least_utilisation_bounds_the_servers_from_above(trace):
    alone = gs.size(trace, "p95_wait_s < 20 min", policy="fifo-skip", resamples=0)
    assert alone.result is not None
    used = float(alone.result.metric("utilisation"))
    easy = f"p95_wait_s < 20 min and utilisation > {used - 0.01}"
    hard = f"p95_wait_s < 20 min and utilisation > {used + 0.01}"
    assert gs.size(trace, easy, policy="fifo-skip", resamples=0).servers == alone.servers
    found = gs.size(trace, hard, policy="fifo-skip", resamples=0)
    assert found.servers is None
    assert found.nearest is not None
    assert found.nearest.counts == alone.counts
    assert "all other goals are met by" in found.notes()[1]


def test_resamples_say_how_sure_it_is(trace):
    asked: dict[str, Any] = {"goal": "p95_wait_s < 20 min", "policy": "fifo-skip", "resamples": 30}
    found = gs.size(trace, **asked, threads=1)
    sure = found.confidence
    assert sure is not None
    assert (sure.num_blocks, len(sure.meets), len(sure.servers)) == (4, 30, 30)
    assert sure.interval is not None
    low, high = sure.interval
    assert low < high
    assert 0 < sure.share < 1
    assert found.servers is not None
    assert sure.share_with(high) >= 0.95
    assert sure.share_with(0) == 0
    again = gs.size(trace, **asked, threads=3).confidence
    assert again is not None
    assert np.array_equal(again.servers, sure.servers)
    assert np.array_equal(again.meets, sure.meets)
    assert "4 blocks are few" in found.notes()[-1]


def test_what_a_resample_needs_is_the_fewest_for_it(trace):
    from gpusched.traces.resampling import resampled

    found = gs.size(trace, "p95_wait_s < 20 min", policy="fifo-skip", resamples=3, seed=7)
    assert found.confidence is not None
    for index, servers in enumerate(found.confidence.servers.tolist()):
        drawn = resampled(trace, 7 * 86_400_000_000, np.random.default_rng([7, index]))
        assert p95(drawn, servers) < 20 * 60
        assert servers == 2 or p95(drawn, servers - 1) >= 20 * 60


def test_a_short_trace_has_no_interval_and_says_so():
    jobs = gs.Trace.from_columns([0, 5], [10, 10], [1, 1])
    found = gs.size(jobs, "p95_wait_s < 600")
    assert found.confidence is None
    assert "was not looked at" in found.notes()[-1]


@pytest.fixture(scope="module")
def typed() -> gs.Trace:
    """Jobs for V100 only, for A100 only, and for any."""
    rng = np.random.default_rng(8)
    types = rng.choice(["V100", "A100", ""], 300, p=[0.3, 0.2, 0.5]).tolist()
    return gs.Trace.from_columns(
        np.sort(rng.uniform(0, 100 * H, 300)), rng.uniform(600, 6 * H, 300),
        rng.choice([1, 2, 4], 300), gpu_types=types,
    )  # fmt: skip


def test_the_cheapest_mix_is_that_of_a_search_through_all(typed):
    prices = {"V100": 1.0, "A100": 1.7}
    found = gs.size(typed, "p95_wait_s < 1 h", policy="fifo-skip", prices=prices, gpus_per_server=4)
    assert found.is_proven

    def price(v100: int, a100: int) -> float:
        return 4 * (v100 * prices["V100"] + a100 * prices["A100"])

    best = np.inf
    for v100 in range(1, 16):
        for a100 in range(1, 16):
            if price(v100, a100) < best:
                groups = (gs.ServerGroup(v100, 4, "V100"), gs.ServerGroup(a100, 4, "A100"))
                run = gs.simulate(typed, gs.Cluster(groups), policy="fifo-skip")
                if run.metric("p95_wait_s") < H:
                    best = price(v100, a100)
    assert found.hourly_price == pytest.approx(best)
    assert found.counts is not None
    assert all(found.counts)
    assert found.table().columns[:5] == ["servers", "V100", "A100", "gpus", "hourly_price"]
    assert any(note.startswith("cheapest of") for note in found.notes())


def test_prices_may_be_those_of_servers(typed):
    asked: dict[str, Any] = {"goal": "p95_wait_s < 1 h", "resamples": 0}
    gpus = {"V100": 4, "A100": 8}
    by_gpu = gs.size(typed, **asked, prices={"V100": 1, "A100": 2}, gpus_per_server=gpus)
    by_server = gs.size(
        typed, **asked, prices={"V100": 4, "A100": 16}, price_per="server", gpus_per_server=gpus
    )
    assert by_gpu.counts == by_server.counts
    assert by_gpu.hourly_price == by_server.hourly_price


def test_types_that_no_job_may_use_are_an_error(typed):
    with pytest.raises(
        ValueError, match=r"types: .* have no room .* jobs for A100, V100, any type"
    ):
        gs.size(typed, "p95_wait_s < 600", types=["T4"])
    with pytest.raises(ValueError, match="max_servers: 1 x gpu"):
        gs.size(gs.Trace.from_columns([0], [1], [9]), "p95_wait_s < 600", max_servers=1)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"goal": "p95 < 600"}, ValueError, "goal: unknown metric 'p95'"),
        ({"policy": "easyy"}, ValueError, "did you mean 'easy'"),
        ({"policy": 3}, TypeError, "policy: expected a name"),
        ({"types": "V100"}, TypeError, "types: expected a list of names"),
        ({"types": []}, ValueError, "types: must be one or more names"),
        ({"types": ["V100", "V100"]}, ValueError, "each once"),
        ({"types": ["V100"], "prices": {"A100": 1}}, ValueError, "no GPU is of type 'A100'"),
        ({"prices": 0}, ValueError, "prices: must be more than 0"),
        ({"price_per": "rack"}, ValueError, "price_per: 'rack' must be 'gpu' or 'server'"),
        ({"gpus_per_server": 65}, ValueError, "gpus_per_server: 65 must lie in 1..64"),
        ({"gpus_per_server": {"V100": 4}}, ValueError, "GPU type"),
        ({"resamples": -1}, ValueError, "resamples: -1"),
        ({"block_s": 0}, ValueError, "block_s: 0 must be finite and positive"),
        ({"threads": 0}, ValueError, "threads: 0"),
        ({"goal": "dsr > 0.9"}, ValueError, "metric dsr: is defined only where"),
    ],
)
def test_a_wrong_argument_is_named(trace, arguments, error, message):
    with pytest.raises(error, match=message):
        gs.size(trace, **({"goal": "p95_wait_s < 600"} | arguments))


def test_a_stop_ends_it(trace):
    stop = threading.Event()
    stop.set()
    with pytest.raises(Cancelled):
        gs.size(trace, "p95_wait_s < 600", stop=stop)
    stop = threading.Event()
    with pytest.raises(Cancelled):
        gs.size(trace, "p95_wait_s < 600", resamples=500, stop=stop, progress=lambda _: stop.set())


def test_progress_tells_of_the_resamples(trace):
    told: list[gs.Progress] = []
    gs.size(trace, "p95_wait_s < 20 min", resamples=5, progress=told.append)
    assert told[-1] == gs.Progress(5, 5, "resamples")
    assert [now.done for now in told] == sorted(now.done for now in told)


def test_a_sizing_can_be_pickled_and_written_as_plain_values(trace):
    import json

    found = gs.size(trace, "p95_wait_s < 20 min", resamples=3)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["servers"] == found.servers
    assert plain["confidence"]["resamples"] == 3


def test_no_more_servers_can_be_of_use_than_are_busy_if_no_job_waits():
    jobs = gs.Trace.from_columns([0, 5, 10, 20], [10, 10, 10, 1], [9, 1, 8, 64])
    assert ServerKinds(("gpu",), (8,)).most_useful(jobs) == (8,)
    assert ServerKinds(("gpu",), (8,)).most_useful(jobs.head(3)) == (3,)
    assert ServerKinds(("gpu",), (16,)).most_useful(jobs.head(3)) == (2,)
