"""How many servers a workload needs: goals, searches, and all of it against trying every number."""

import dataclasses
import itertools
import math
import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.supervision import Cancelled
from gpusched.studies.sizing import NEIGHBOURS, Goal, Goals, ServerKinds, cheapest_mix, fewest
from tests.each import each

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


def test_an_answer_under_which_jobs_pile_up_is_marked():
    rows = [(10 * at, 100, 1) for at in range(400)]
    jobs = gs.Trace.from_columns(*map(list, zip(*rows, strict=True)))

    def notes(goal: str) -> list[str]:
        return gs.size(jobs, goal, gpus_per_server=1, resamples=0).notes()

    assert any("jobs pile up under" in line for line in notes("mean_wait_s < 4 h"))
    assert not any("pile up" in line for line in notes("mean_wait_s < 1 s"))


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
    assert str(found).startswith("no size found")
    assert "more servers do not help mean_jct_s < 1" in found.notes()[0]


def test_a_least_utilisation_bounds_the_servers_from_above(trace):
    alone = gs.size(trace, "p95_wait_s < 20 min", policy="fifo-skip", resamples=0)
    used = float(alone.result.metric("utilisation"))
    easy = f"p95_wait_s < 20 min and utilisation > {used - 0.01}"
    hard = f"p95_wait_s < 20 min and utilisation > {used + 0.01}"
    assert gs.size(trace, easy, policy="fifo-skip", resamples=0).servers == alone.servers
    found = gs.size(trace, hard, policy="fifo-skip", resamples=0)
    assert found.servers is None
    assert found.nearest.counts == alone.counts
    assert "all other goals are met by" in found.notes()[1]


def test_resamples_say_how_sure_it_is(trace):
    asked: dict[str, Any] = {"goal": "p95_wait_s < 20 min", "policy": "fifo-skip", "resamples": 30}
    found = gs.size(trace, **asked, threads=1)
    sure = found.confidence
    assert (sure.num_blocks, len(sure.meets), len(sure.servers)) == (4, 30, 30)
    assert sure.interval is not None
    low, high = sure.interval
    assert low < high
    assert 0 < sure.share < 1
    assert found.servers is not None
    assert sure.share_with(high) >= 0.95
    assert sure.share_with(0) == 0
    again = gs.size(trace, **asked, threads=3).confidence
    assert np.array_equal(again.servers, sure.servers)
    assert np.array_equal(again.meets, sure.meets)
    assert "4 blocks are few" in found.notes()[-1]


def test_what_a_resample_needs_is_the_fewest_for_it(trace):
    from gpusched.traces.resampling import resampled

    found = gs.size(trace, "p95_wait_s < 20 min", policy="fifo-skip", resamples=3, seed=7)
    for index, servers in enumerate(found.confidence.servers.tolist()):
        drawn = resampled(trace, 7 * 86_400_000_000, np.random.default_rng([7, index]))
        assert p95(drawn, servers) < 20 * 60
        assert servers == 2 or p95(drawn, servers - 1) >= 20 * 60


def test_a_short_trace_has_no_interval_and_says_so():
    jobs = gs.Trace.from_columns([0, 5], [10, 10], [1, 1])
    found = gs.size(jobs, "p95_wait_s < 600")
    assert found.confidence is None
    assert "no confidence estimate" in found.notes()[-1]


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
    assert any(note.startswith("cheapest in") for note in found.notes())


def test_prices_may_be_those_of_servers(typed):
    asked: dict[str, Any] = {"goal": "p95_wait_s < 1 h", "resamples": 0}
    gpus = {"V100": 4, "A100": 8}
    by_gpu = gs.size(typed, **asked, prices={"V100": 1, "A100": 2}, gpus_per_server=gpus)
    by_server = gs.size(
        typed, **asked, prices={"V100": 4, "A100": 16}, price_per="server", gpus_per_server=gpus
    )
    assert by_gpu.counts == by_server.counts
    assert by_gpu.hourly_price == by_server.hourly_price


def test_jobs_of_types_that_are_not_on_offer_are_left_out_by_name(typed):
    found = gs.size(typed, "p95_wait_s < 600", types=["T4"], resamples=0)
    bound = typed.filter("gpu_types != ''")
    assert len(found.trace) == len(typed) - len(bound) == 143
    share = 100 * bound.gpu_seconds / typed.gpu_seconds
    assert found.notes()[0] == (
        f"157 jobs that name A100, V100, not on offer: left out ({share:.1f}% of the GPU time)"
    )
    with pytest.raises(ValueError, match=r"types: T4: no job may .* jobs for A100, V100"):
        gs.size(bound, "p95_wait_s < 600", types=["T4"])


def test_the_types_that_jobs_name_are_on_offer_by_themselves(typed):
    bound = typed.filter("gpu_types != ''")
    found = gs.size(bound, "p95_wait_s < 600", gpus_per_server=4, resamples=0)
    assert found.kinds.types == ("A100", "V100")
    pools = [
        gs.size(bound, "p95_wait_s < 600", types=[name], gpus_per_server=4, resamples=0).servers
        for name in found.kinds.types
    ]
    assert found.counts is not None
    assert sum(found.counts) <= sum(pools)  # one goal for both pools, and not one for each


def test_types_between_which_jobs_may_choose_count_as_equally_fast_and_that_is_said(typed):
    found = gs.size(typed, "p95_wait_s < 1 h", prices={"V100": 1, "A100": 2}, resamples=0)
    assert found.notes()[0].startswith("V100, A100 count as equally fast for 143 jobs that may")
    bound = typed.filter("gpu_types != ''")
    alone = gs.size(bound, "p95_wait_s < 1 h", prices={"V100": 1, "A100": 2}, resamples=0)
    assert not any("equally fast" in note for note in alone.notes())


def test_prices_buy_work_where_the_speeds_of_types_are_known():
    """A100 costs twice as much and does the work of 2.5 V100: alone it is the cheapest."""
    rng = np.random.default_rng(3)
    jobs = gs.Trace.from_columns(
        np.sort(rng.uniform(0, 50 * H, 400)), rng.uniform(600, 6 * H, 400), rng.choice([1, 2], 400)
    )
    asked: dict[str, Any] = {"goal": "p95_wait_s < 30 min", "policy": "fifo-skip", "resamples": 0}
    asked |= {"prices": {"V100": 1.0, "A100": 2.0}, "gpus_per_server": 4}
    equal = gs.size(jobs, **asked)
    assert equal.counts is not None
    assert equal.counts[1] == 0
    assert "V100, A100 count as equally fast for 400 jobs" in equal.notes()[0]

    found = gs.size(jobs, **asked, speeds={"V100": 1, "A100": 2.5})
    assert found.counts is not None
    assert found.counts[0] == 0
    assert found.cluster is not None
    assert found.cluster.speeds == {"A100": 2.5}
    assert found.hourly_price < equal.hourly_price
    assert found.notes()[0] == "run times assumed: on a GPU of speed 1"
    run = gs.simulate(jobs, found.cluster, policy="fifo-skip")
    assert run.metric("p95_wait_s") < 30 * 60
    assert run.digest == found.result.digest

    # Stated on A100, whose speed may be any: the jobs are 2.5 times as long on V100.
    other = gs.size(jobs.with_reference_type("A100"), **asked, speeds={"V100": 2, "A100": 5})
    longer = dataclasses.replace(jobs, service_us=jobs.service_us * 5 // 2)
    same = gs.size(longer, **asked, speeds={"A100": 2.5})
    assert other.counts == same.counts
    unpriced = gs.size(
        jobs.with_reference_type("T4"), **(asked | {"prices": {"A100": 2.0}}), speeds={"A100": 2.5}
    )
    assert unpriced.hourly_price == found.hourly_price
    named = gs.size(jobs, **asked, speeds={"V100": 1, "A100": 2.5, "T4": 1})
    assert named.counts == found.counts
    with pytest.raises(
        ValueError, match="speeds: 'A10' is not a GPU type on offer; did you mean 'A100'"
    ):
        gs.size(jobs, **asked, speeds={"A10": 2})


def test_servers_without_room_for_the_widest_job_are_an_error():
    with pytest.raises(ValueError, match="max_servers: 1 x gpu"):
        gs.size(gs.Trace.from_columns([0], [1], [9]), "p95_wait_s < 600", max_servers=1)


@each(
    ("arguments", "error", "message"),
    [
        ({"goal": "p95 < 600"}, ValueError, "goal: unknown metric 'p95'"),
        ({"policy": "easyy"}, ValueError, "did you mean 'easy'"),
        ({"policy": 3}, TypeError, "policy: expected a name"),
        ({"types": "V100"}, TypeError, "types: expected a list of names"),
        ({"types": []}, ValueError, "types: must be one or more names"),
        ({"types": ["V100", "V100"]}, ValueError, "each once"),
        ({"types": ["V100"], "prices": {"A100": 1}}, ValueError, "no GPU is of type 'A100'"),
        ({"prices": 0}, ValueError, "prices: must be positive"),
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


@each(
    ("text", "operator", "bound"),
    [
        ("p95_wait_s < 600", "<", 600),
        ("p95_wait_s<=10 min", "<=", 600),
        ("  p95_wait_s > 2h ", ">", 7200),
        ("p95_wait_s >= 1.5 d", ">=", 129_600),
        ("p95_wait_s < 1e3", "<", 1000),
        ("p95_wait_s < 30 s", "<", 30),
    ],
)
def test_a_goal_is_a_metric_and_a_bound(text, operator, bound):
    assert Goals.parse(text).goals == (Goal("p95_wait_s", operator, bound),)


def test_goals_are_joined_by_and():
    goals = Goals.parse("mean_wait_s < 60 and utilisation > 40% AND mean_wait_s > 1")
    assert [goal.bound for goal in goals.goals] == [60, 0.4, 1]
    assert goals.metrics == ("mean_wait_s", "utilisation")
    assert str(goals) == "mean_wait_s < 60 (1 min) and utilisation > 0.4 and mean_wait_s > 1"
    assert Goals.parse(goals) is goals


@each(
    ("text", "value", "is_met"),
    [
        ("p95_wait_s < 60", 60.0, False),
        ("p95_wait_s <= 60", 60.0, True),
        ("p95_wait_s > 60", 60.0, False),
        ("p95_wait_s >= 60", 60.0, True),
        ("p95_wait_s < 60", math.nan, False),
        ("p95_wait_s > 60", math.nan, False),
    ],
)
def test_bounds_are_strict_or_not_and_nothing_undefined_is_met(text, value, is_met):
    assert Goals.parse(text).are_met({"p95_wait_s": value}) == is_met


@each(
    ("text", "message"),
    [
        ("p95_wait < 600", "did you mean 'p95_wait_s'"),
        ("p95_wait_s 600", "must have the form METRIC < NUMBER"),
        ("p95_wait_s = 600", "must have the form"),
        ("", "must have the form"),
        ("p95_wait_s < soon", "'soon' is not a number"),
        ("p95_wait_s < 3 parsecs", "'3parsecs' is not a number"),
        ("p95_wait_s < 1e999", "must be finite"),
        ("p95_wait_s < 5%", "p95_wait_s is not a ratio"),
        ("utilisation > 5 min", "utilisation is not a time"),
        ("lower_bound_name < 3", "is a text"),
        ("p95_wait_s < 600 and", "must have the form"),
    ],
)
def test_a_wrong_goal_is_named(text, message):
    with pytest.raises(ValueError, match=message):
        Goals.parse(text)


def test_only_text_is_a_goal():
    with pytest.raises(TypeError, match="goal: expected text, not 600"):
        Goals.parse(600)


@given(data=st.data())
def test_the_fewest_is_found_from_anywhere(data):
    least = data.draw(st.integers(0, 30))
    most = data.draw(st.integers(least, 400))
    guess = data.draw(st.integers(least, most))
    threshold = data.draw(st.integers(0, 450))
    asked: list[int] = []

    def holds(number: int) -> bool:
        assert least <= number <= most
        asked.append(number)
        return number >= threshold

    found = fewest(holds, least, guess, most)
    assert found == (None if threshold > most else max(threshold, least))
    assert len(set(asked)) <= 3 * (most - least + 2).bit_length() + 2 * NEIGHBOURS + 2


def test_neighbours_below_the_answer_are_tried_until_none_of_them_holds():
    held = {10, *range(12, 41)}
    assert fewest(held.__contains__, 1, 20, 40) == 10
    assert fewest(held.__contains__, 1, 20, 40, neighbours=0) == 12
    asked: list[int] = []

    def holds(number: int) -> bool:
        asked.append(number)
        return number >= 12

    fewest(holds, 1, 20, 40)
    assert {13, 14, 15, 11, 10, 9} <= set(asked)


@given(data=st.data())
def test_the_cheapest_mix_is_the_cheapest_of_all_that_hold(data):
    """Of several kinds, each with a strength; held by what is strong enough, so for more, too."""
    size = data.draw(st.integers(1, 3))
    prices = data.draw(st.lists(st.sampled_from([1, 1.5, 2, 3.7, 5]), min_size=size, max_size=size))
    most = tuple(data.draw(st.lists(st.integers(0, 7), min_size=size, max_size=size)))
    strength = data.draw(st.lists(st.integers(0, 4), min_size=size, max_size=size))
    wanted = data.draw(st.integers(1, 40))
    few = data.draw(st.integers(0, 3))

    def holds(counts: tuple[int, ...]) -> bool:
        assert any(counts)
        assert all(count <= limit for count, limit in zip(counts, most, strict=True))
        power = sum(s * min(n, 5) for s, n in zip(strength, counts, strict=True))
        return power >= wanted and counts[0] >= min(few, most[0])

    def price(counts: tuple[int, ...]) -> float:
        return sum(p * n for p, n in zip(prices, counts, strict=True))

    every = [c for c in itertools.product(*(range(n + 1) for n in most)) if any(c) and holds(c)]
    found = cheapest_mix(holds, prices, most, 10_000)
    assert (found is None) == (not every)
    if found is not None:
        assert found.is_proven
        assert price(found.counts) == pytest.approx(min(map(price, every)))


def test_kinds_that_spoil_a_mix_are_left_out():
    """Forty small ones do, unless there is a large one: then that must do alone."""

    def holds(counts: tuple[int, ...]) -> bool:
        small, large = counts
        return large >= 30 or (large == 0 and small >= 40)

    found = cheapest_mix(holds, [1.0, 2.0], (60, 60), 1_000)
    assert (found.counts, found.is_proven) == ((40, 0), True)


def test_a_search_that_runs_out_says_so():
    rng = random.Random(1)
    wall = {a: rng.randint(0, 3) + 200 - 2 * a for a in range(101)}

    def holds(counts: tuple[int, ...]) -> bool:
        return counts[1] >= min(wall[a] for a in range(counts[0] + 1))

    proven = cheapest_mix(holds, [2.0, 1.0], (100, 250), 100_000)
    short = cheapest_mix(holds, [2.0, 1.0], (100, 250), 40)
    assert proven.is_proven
    assert not short.is_proven
    assert holds(short.counts)
