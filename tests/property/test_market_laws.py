"""The laws of the matching market: bounds bound, prices clear, splits are what they promise."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gpusched import _core
from gpusched._core import _testing
from gpusched.online.market import Columns, place_jobs
from tests.examples import examples

pytestmark = pytest.mark.long

NO_LIMIT = np.zeros(0)
NO_WHOLE_LIMIT = np.zeros(0, dtype=np.int64)

rate = st.sampled_from([0.5, 1.0, 2.0, 3.0, 7.0])
tenths = st.integers(1, 100).map(lambda tenths: tenths / 10)
rates_of_workers = st.lists(rate, min_size=1, max_size=6).map(np.array)


def slowest(samples: Any, rates: Any) -> float:
    """Seconds until the last worker is done."""
    return float(np.max(samples / rates))


@st.composite
def capped(draw: st.DrawFn) -> tuple[int, Any, Any]:
    """A batch, rates and limits (0: none) of each worker."""
    rates = draw(rates_of_workers)
    limits = draw(st.lists(st.integers(0, 9), min_size=len(rates), max_size=len(rates)))
    return draw(st.integers(1, 30)), rates, np.array(limits, dtype=np.int64)


@given(st.integers(1, 30), rates_of_workers)
def test_a_proportional_round_is_never_longer_than_an_equal_one(batch, rates):
    parts, fits = _core.split_batch(batch, rates, NO_LIMIT, False)
    equal, _ = _core.split_batch(batch, rates, NO_LIMIT, True)
    assert fits
    assert parts.sum() == pytest.approx(batch)
    assert slowest(parts, rates) <= slowest(equal, rates) * (1 + 1e-12)
    whole, _ = _core.split_whole_batch(batch, rates, NO_WHOLE_LIMIT, False)
    equal_whole, _ = _core.split_whole_batch(batch, rates, NO_WHOLE_LIMIT, True)
    assert whole.sum() == equal_whole.sum() == batch
    assert slowest(whole, rates) <= slowest(equal_whole, rates)


@given(capped())
def test_limits_of_memory_hold_and_the_rest_is_divided_again(case):
    batch, rates, limits = case
    most = np.where(limits > 0, limits, np.inf)
    for is_equal in (False, True):
        parts, fits = _core.split_batch(batch, rates, limits.astype(float), is_equal)
        whole, fits_whole = _core.split_whole_batch(batch, rates, limits, is_equal)
        assert np.all(parts <= most)
        assert np.all(whole <= most)
        assert fits == fits_whole == bool(most.sum() >= batch)
        total = min(batch, most.sum())
        assert parts.sum() == pytest.approx(total)
        assert whole.sum() == total
    if most.sum() >= batch:
        pairs = (_core.split_batch(batch, rates, limits.astype(float), e)[0] for e in (False, True))
        best, equal = (slowest(parts, rates) for parts in pairs)
        assert best <= equal * (1 + 1e-12)


@given(st.lists(st.tuples(tenths, tenths), min_size=1, max_size=6), st.booleans())
def test_a_batch_that_fills_every_worker_fits_and_one_that_is_greater_does_not(workers, is_equal):
    rates, limits = map(np.array, zip(*workers, strict=True))
    batch = round(float(limits.sum()), 1)
    parts, fits = _core.split_batch(batch, rates, limits, is_equal)
    assert fits
    assert parts == pytest.approx(limits, rel=1e-12)
    assert not _core.split_batch(batch * (1 + 1e-9), rates, limits, is_equal)[1]
    assert _core.split_batch(batch * (1 - 1e-9), rates, limits, is_equal)[1]


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1e300, 1.7e308])
def test_rates_of_any_size_divide_a_batch_by_their_ratio(scale):
    rates = np.array([scale, scale])
    assert _core.split_batch(10.0, rates, NO_LIMIT, False)[0].tolist() == [5.0, 5.0]
    assert _core.split_whole_batch(11, rates, NO_WHOLE_LIMIT, False)[0].tolist() == [6, 5]
    parts, fits = _core.split_batch(1e300, np.array([1e10, 1.0]), NO_LIMIT, False)
    assert fits
    assert parts.sum() == pytest.approx(1e300)
    whole, fits = _core.split_whole_batch(2**62, np.array([1.0, 2.0, 5.0]), NO_WHOLE_LIMIT, False)
    assert fits
    assert whole.sum() == 2**62


@given(st.integers(1, 12), st.lists(rate, min_size=1, max_size=3).map(np.array), st.data())
@examples(60)
def test_the_whole_split_is_the_best_of_all(batch, rates, data):
    limits = np.array([data.draw(st.integers(0, 8)) for _ in rates], dtype=np.int64)
    most = np.where(limits > 0, limits, batch)
    splits = itertools.product(*(range(int(m) + 1) for m in most))
    times = [slowest(np.array(split), rates) for split in splits if sum(split) == batch]
    whole, fits = _core.split_whole_batch(batch, rates, limits, False)
    assert fits == bool(times)
    if times:
        assert slowest(whole, rates) == min(times)


@st.composite
def problems(draw: st.DrawFn, max_jobs: int = 3, max_workers: int = 6) -> dict[str, Any]:
    """Few jobs and workers, with ties."""
    jobs = draw(st.integers(1, max_jobs))
    workers = draw(st.integers(jobs, max_workers))
    rows = st.lists(rate, min_size=workers, max_size=workers)
    return {
        "rates": np.array(draw(st.lists(rows, min_size=jobs, max_size=jobs))),
        "rounds": np.array(draw(st.lists(st.integers(1, 9), min_size=jobs, max_size=jobs)), float),
        "round_samples": 10.0,
        "gradient_bytes": draw(st.sampled_from([0.0, 1e8, 5e9])),
        "bandwidth_gbps": 10.0,
        "guard": 0.0,
    }


def seconds(problem: dict[str, Any], owner: tuple[int, ...]) -> float:
    """Mean completion where worker ``k`` is held by job ``owner[k]`` (-1: nobody)."""
    total = 0.0
    for job, rates in enumerate(problem["rates"]):
        mine = rates[np.array(owner) == job]
        if not mine.size:
            return np.inf
        ring = 2 * (mine.size - 1) / mine.size * problem["gradient_bytes"] / 1.25e9
        total += problem["rounds"][job] * (10.0 / mine.sum() + ring)
    return total / len(problem["rates"])


def best(problem: dict[str, Any]) -> float:
    """The least mean completion of all ways to hold workers."""
    jobs, workers = problem["rates"].shape
    owners = itertools.product(range(-1, jobs), repeat=workers)
    return min(seconds(problem, owner) for owner in owners)


@given(problems(max_workers=5), st.booleans())
@examples(60)
def test_the_bound_of_all_categories_is_below_the_optimum(problem, prunes):
    optimum = best(problem)
    for descend in (False, True):
        found = place_jobs(**problem, sampler="enumerate", descend=descend, prune=prunes)
        assert found.is_exhaustive
        assert found.lower_bound_s <= optimum * (1 + 1e-9) <= found.mean_jct_s * (1 + 2e-9)


def test_the_bound_of_all_categories_is_that_of_the_least_one():
    # The market finds no better than 4.903, and the last category is bounded by more than that.
    rates = [[7.0, 1, 0.5, 20, 1], [0.5, 3, 7, 3, 0.5], [2, 3, 1, 7, 0.5]]
    work: dict[str, Any] = {"rounds": [5.0, 6, 2], "round_samples": 10.0, "guard": 0.0}
    found = place_jobs(rates, **work, sampler="enumerate", descend=False)
    proven = place_jobs(rates, **work, sampler="exact")
    assert proven.is_optimal
    assert proven.mean_jct_s < found.mean_jct_s
    assert found.lower_bound_s <= proven.mean_jct_s


def test_categories_are_left_out_for_worse_ones_alone():
    # Of equal workers a category's bound is its mean, and the best may be better by very little.
    for rounds in np.linspace(1.0, 3.0, 400):
        work = {"rounds": [1.0, rounds], "round_samples": 1.0, "guard": 0.0, "capacity": [12]}
        found = place_jobs(np.ones((2, 1)), **work, sampler="enumerate", descend=False)
        best_s = min((1 / k + rounds / (12 - k)) / 2 for k in range(1, 12))
        assert found.mean_jct_s == pytest.approx(best_s, rel=1e-12)


@given(problems(max_workers=5), st.data())
def test_at_any_prices_the_bound_is_below_all_placements(problem, data):
    jobs, workers = problem["rates"].shape
    if data.draw(st.booleans()):
        problem["rates"] = np.repeat(problem["rates"][:, :1], workers, axis=1)
    figures = st.sampled_from([0.0, 1e-9, 0.3, 1.0, 5.0, 1e6])
    price = np.array(data.draw(st.lists(figures, min_size=workers, max_size=workers)))
    size = st.sampled_from([0.01, 1.0, 9.0, 1e4])
    estimate = np.array(data.draw(st.lists(size, min_size=jobs, max_size=jobs)))
    owners = list(itertools.product(range(-1, jobs), repeat=workers))
    counts = [tuple(owner.count(job) for job in range(jobs)) for owner in owners]
    category = data.draw(st.sampled_from(sorted(count for count in set(counts) if min(count))))
    of_category, of_all = _testing.bound_placements(
        core_problem(problem), price, estimate, list(category)
    )
    sums = [jobs * seconds(problem, owner) for owner in owners]
    own = min(sum_ for sum_, count in zip(sums, counts, strict=True) if count == category)
    assert of_category <= own * (1 + 1e-12)
    assert of_all <= min(sums) * (1 + 1e-12)


@given(st.integers(1, 6), st.lists(st.floats(0.1, 50.0), min_size=1, max_size=3))
@examples(60)
def test_of_equal_workers_the_bound_is_what_the_category_takes(each, rounds):
    jobs, workers = len(rounds), each * len(rounds)
    problem = {"rates": np.ones((jobs, workers)), "rounds": np.array(rounds), "gradient_bytes": 0.0}
    of_category, of_all = _testing.bound_placements(
        core_problem(problem), np.zeros(workers), np.full(jobs, float(each)), [each] * jobs
    )
    exact_s = sum(10.0 * left / each for left in rounds)
    assert exact_s * (1 - 1e-5) <= of_category <= exact_s * (1 + 1e-12)
    assert of_all <= exact_s * (1 + 1e-12)


@given(
    st.lists(st.integers(1, 100).map(float), min_size=1, max_size=4),
    st.integers(1, 5),
    st.sampled_from([0.5, 1.0]),
)
@examples(60)
def test_every_job_has_its_guarded_part(rounds, each, guard):
    jobs = len(rounds)
    for extra in (0, 1):
        workers = each * jobs + extra
        found = place_jobs(
            np.ones((jobs, 1)), rounds=rounds, round_samples=1.0, capacity=[workers], guard=guard
        )
        assert found.num_workers.min() >= max(1, int(guard * workers / jobs))


@pytest.mark.parametrize("options", [{"split": "equal"}, {"max_samples": np.full((2, 2), 1e3)}, {}])
def test_a_job_pays_its_restart_for_as_many_other_workers(options):
    found = place_jobs(
        [[1.0, 2.0], [2.0, 1.0]], rounds=10, round_samples=10, restart_s=20.0, hysteresis=0.0,
        previous=[[1, 0], [0, 1]], **options,
    )  # fmt: skip
    assert found.counts.tolist() == [[0, 1], [1, 0]]
    assert found.job_s.tolist() == [70.0, 70.0]


@given(problems(), st.sampled_from(["transportation", "jonker-volgenant", "auction"]))
@examples(60)
def test_every_category_has_a_bound_below_what_its_market_found(problem, clearing):
    jobs, workers = problem["rates"].shape
    core = core_problem(problem)
    for category in itertools.product(range(1, workers + 1), repeat=jobs):
        if sum(category) > workers:
            continue
        found = _testing.clear_category(core, list(category), {"guard": 0.0, "clearing": clearing})
        counts = found.counts.reshape(jobs, workers)
        assert counts.sum(axis=1).tolist() == list(category)
        assert counts.sum(axis=0).max() <= 1
        assert found.lower_bound <= found.score * (1 + 1e-9)
        assert np.all(found.price >= -1e-12)


def core_problem(problem: dict[str, Any]) -> Any:
    """The same for the core, every column a class of one worker."""
    jobs, workers = problem["rates"].shape
    return _core.MatchingProblem(
        rate=problem["rates"].ravel(),
        capacity=np.ones(workers, dtype=np.int32),
        rounds=problem["rounds"],
        samples=np.full(jobs, 10.0),
        gradient_bytes=np.full(jobs, problem["gradient_bytes"]),
        bytes_per_s=np.full(jobs, 1.25e9),
    )


@given(problems(), st.sampled_from(["one-pass", "raw"]))
@examples(60)
def test_the_prices_of_one_market_clear_it(problem, valuation):
    """Complementary slackness: nobody would rather have a worker of another job."""
    jobs, workers = problem["rates"].shape
    core = core_problem(problem)
    category = np.full(jobs, workers // jobs)
    rates = problem["rates"]
    slope = np.ones(jobs)
    if valuation == "one-pass":
        slope = problem["rounds"] * 10.0 / (category * rates.mean(axis=1)) ** 2
    value = slope[:, None] * rates
    for clearing in ("transportation", "jonker-volgenant", "auction"):
        options = {"guard": 0.0, "clearing": clearing, "valuation": valuation, "polish": False}
        found = _testing.clear_category(core, category.tolist(), options)
        counts = found.counts.reshape(jobs, workers)
        epsilon = 1e-6 * value.max()
        surplus = value - found.price
        for job in range(jobs):
            own = surplus[job][counts[job] > 0]
            assert surplus[job][counts[job] == 0].max(initial=-np.inf) <= own.min() + epsilon
        assert found.price[counts.sum(axis=0) == 0].max(initial=0.0) <= epsilon


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 4)), min_size=1, max_size=4),
    st.integers(1, 9),
    st.booleans(),
    st.sampled_from([0.0, 1.0, 5.0, 30.0, np.inf]),
)
def test_categories_are_counted_up_to_a_limit(widths, workers, may_idle, limit):
    least = np.array([low for low, _ in widths], dtype=np.int32)
    most = np.array([low + more for low, more in widths], dtype=np.int32)
    assume(least.sum() <= workers)
    idles = may_idle or most.sum() < workers
    ranges = (range(low, high + 1) for low, high in zip(least, most, strict=True))
    held = [sum(category) for category in itertools.product(*ranges)]
    all_of_them = sum(own <= workers if idles else own == workers for own in held)
    found = _testing.count_categories(least, most, workers, may_idle, limit)
    assert found == all_of_them if all_of_them <= limit else limit < found <= all_of_them


@given(problems(), st.booleans(), st.data())
@examples(60)
def test_the_fast_exchanges_leave_nothing_for_the_plain_ones(problem, may_resize, data):
    jobs, workers = problem["rates"].shape
    counts = np.zeros((jobs, workers), dtype=np.int32)
    counts[np.arange(jobs), np.arange(jobs)] = 1
    for worker in range(jobs, workers):
        owner = data.draw(st.integers(-1, jobs - 1))
        if owner >= 0:
            counts[owner, worker] = 1
    core = core_problem(problem)
    options = {"guard": 0.0}
    start = seconds(problem, owners_of(counts))
    for by_pairs in (True, False):
        found, score = _testing.improve_placement(
            core, counts.ravel(), options, may_resize, by_pairs
        )
        shape = found.reshape(jobs, workers)
        assert score <= start * (1 + 1e-12)
        assert score == pytest.approx(seconds(problem, owners_of(shape)))
        assert may_resize or np.array_equal(shape.sum(axis=1), counts.sum(axis=1))
    _, again = _testing.improve_placement(core, found, options, may_resize, True)
    assert again == score


def owners_of(counts: Any) -> tuple[int, ...]:
    """The job that holds each worker, -1: nobody."""
    return tuple(int(np.argmax(column)) if column.any() else -1 for column in counts.T)


@given(st.integers(0, 2**64 - 1), st.sampled_from(["uniform", "seeded"]))
@examples(40)
def test_before_descent_more_draws_never_make_it_worse(seed, sampler):
    random = np.random.default_rng(seed)
    rates = random.uniform(1, 5, (4, 12))
    arguments = {"rounds": random.integers(1, 9, 4), "round_samples": 10.0, "seed": seed}
    scores = [
        place_jobs(
            rates, **arguments, draws=n, sampler=sampler, descend=False, enumerate_up_to=0
        ).score
        for n in (1, 3, 10, 30)
    ]
    assert scores == sorted(scores, reverse=True)


@given(problems(max_jobs=3, max_workers=6), st.data())
@examples(60)
def test_a_placement_is_left_only_for_a_better_one(problem, data):
    jobs, workers = problem["rates"].shape
    owner = [data.draw(st.integers(-1, jobs - 1)) for _ in range(workers)]
    previous = np.array([[owner[k] == job for k in range(workers)] for job in range(jobs)])
    restart_s = data.draw(st.sampled_from([0.0, 1.0, 100.0]))
    found = place_jobs(
        **problem, previous=previous, restart_s=restart_s, hysteresis=0.03, enumerate_up_to=0
    )
    moved = [
        bool(previous[job].any()) and not np.array_equal(found.counts[job], previous[job])
        for job in range(jobs)
    ]
    # Workers with equal rates are one class, so only their number counts.
    if found.is_kept and previous.any(axis=1).all():
        assert not any(moved)
    if previous.any(axis=1).all() and not found.is_kept:
        kept = seconds(problem, tuple(owner))
        assert found.mean_jct_s < kept * (1 - 0.03) * (1 + 1e-9)


@given(seed=st.integers(0, 2**32 - 1), keeps=st.booleans())
def test_workers_are_dealt_in_order_beyond_those_that_are_kept(seed, keeps):
    random = np.random.default_rng(seed)
    num_jobs, num_columns = (int(size) for size in random.integers(1, 7, 2))
    kinds = random.integers(0, 3, num_columns)
    capacity = random.integers(0, 5, num_columns)
    columns = Columns(np.tile(1.0 + kinds, (num_jobs, 1)), capacity, None, None)

    def handed_out(sizes: Any) -> Any:
        return np.stack([random.multinomial(size, [1 / (num_jobs + 1)] * (num_jobs + 1))
                         for size in sizes], axis=1)[:num_jobs]  # fmt: skip

    counts = handed_out(columns.class_capacity).astype(np.int32)
    held = handed_out(capacity) if keeps else np.zeros((num_jobs, num_columns), dtype=int)
    left, free, expected = counts.copy(), capacity.copy(), np.zeros_like(held)
    for most in (held, np.broadcast_to(capacity, held.shape)):
        for job, column in np.ndindex(held.shape):
            kind = columns.class_of_column[column]
            taken = min(most[job, column], left[job, kind], free[column])
            expected[job, column] += taken
            left[job, kind] -= taken
            free[column] -= taken
    assert np.array_equal(columns.deal(counts, held if keeps else None), expected)
