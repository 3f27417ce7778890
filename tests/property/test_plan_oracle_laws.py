"""The deadline allocation without a simulation: the oracle, its prices, and the certificate."""

from __future__ import annotations

import functools
import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gpusched._core import _testing
from gpusched.online.deadline_plan import DeadlineJob, plan_deadlines
from tests.each import each
from tests.examples import examples

pytestmark = pytest.mark.long

SLOT_S = 100.0

# (cost, same, changed, first, goes_on), few values: ties are the interesting cases, and changes
# that take all of a segment.
option = st.builds(
    lambda cost, same, lost, goes_on: (cost, same, max(same - lost, -1), same, goes_on),
    st.sampled_from([0.0, 1.0, 1.5, 2.0, math.inf]),
    st.integers(0, 4),
    st.sampled_from([0, 1, 1, 2, 2, 3, 4, 5]),
    st.sampled_from([True, True, True, False]),
)


@st.composite
def programs(draw):
    num_configurations = draw(st.integers(1, 3))
    num_segments = draw(st.integers(1, 4))
    options = draw(
        st.lists(option, min_size=num_configurations * num_segments,
                 max_size=num_configurations * num_segments)
    )  # fmt: skip
    gpus = draw(st.lists(st.sampled_from([1, 2, 4]), min_size=num_configurations,
                         max_size=num_configurations))  # fmt: skip
    current = draw(st.integers(-1, num_configurations - 1))
    is_fresh = current < 0 and draw(st.booleans())
    return options, gpus, draw(st.integers(0, 8)), current, is_fresh


def follow(options, gpus, quanta, current, is_fresh, choices):
    """Cost of the choices, one for each segment; None if they do not do the work."""
    cost, left, previous, has_run = 0.0, quanta, current, not is_fresh
    for segment, chosen in enumerate(choices):
        if left <= 0 or chosen < 0:
            previous = -1
            continue
        own_cost, same, changed, first, goes_on = options[segment * len(gpus) + chosen]
        done = same if chosen == previous else changed if has_run else first
        # The first run of all must do something.
        if own_cost == math.inf or done < 0 or (not has_run and done == 0):
            return None
        cost, left, has_run = cost + own_cost, left - done, True
        previous = chosen if goes_on else -1
    return cost if left <= 0 else None


# The second configuration pays its change in the second segment and works in the third.
CHANGE_OF_A_SEGMENT = (
    [(0.0, 4, 4, 4, True), (math.inf, 0, 0, 0, True)]
    + [(math.inf, 0, 0, 0, True), (0.0, 1, 0, 1, True)] * 2,
    [1, 1],
    5,
    -1,
    True,
)


@given(programs())
@example(CHANGE_OF_A_SEGMENT)
@examples(500)
def test_the_dynamic_program_equals_exhaustive_search(program):
    options, gpus, quanta, current, is_fresh = program
    num_segments = len(options) // len(gpus)
    every = itertools.product(range(-1, len(gpus)), repeat=num_segments)
    costs = [follow(*program, choices=choices) for choices in every]
    known = [cost for cost in costs if cost is not None]
    cost, choices = _testing.solve_plan(options, gpus, quanta, current, is_fresh)
    if not known:
        assert cost == -1.0
    else:
        assert cost == pytest.approx(min(known))
        assert follow(*program, choices=choices) == pytest.approx(cost)


@st.composite
def long_programs(draw):
    """Many options of costs near each other, as those of a job's window are."""
    rng = random.Random(draw(st.integers(0, 1 << 30)))
    num_configurations, num_segments = rng.randint(1, 5), rng.randint(2, 12)
    quanta = rng.randint(1, 80)
    steps = rng.choice([0.0, 0.25, 1.0])  # of costs: many are equal, or none
    options = []
    for _ in range(num_segments):
        price = rng.uniform(0.5, 2.0)
        for configuration in range(num_configurations):
            same = rng.randint(0, 6) * (configuration + 1)
            cost = price * (configuration + 1) ** rng.choice([1.0, 1.2])
            if steps:
                cost = round(cost / steps) * steps
            changed = max(same - rng.choice([0, 1, 1, 3]), -1)
            fits, goes_on = rng.random() < 0.9, rng.random() < 0.9
            options.append((cost if fits else math.inf, same, changed, same, goes_on))
    gpus = [rng.choice([1, 2, 4]) for _ in range(num_configurations)]
    current = rng.randint(-1, num_configurations - 1)
    return options, gpus, quanta, current, current < 0 and rng.random() < 0.5


def least_cost(options, gpus, quanta, current, is_fresh):
    """The dynamic program, one number at a time; sums in the order in which the core has them."""
    num_segments = len(options) // len(gpus)

    @functools.cache
    def least(segment, left, previous, has_run):
        if left <= 0:
            return 0.0
        if segment == num_segments:
            return math.inf
        best = least(segment + 1, left, -1, has_run)
        for chosen in range(len(gpus)):
            cost, same, changed, first, goes_on = options[segment * len(gpus) + chosen]
            done = same if chosen == previous else changed if has_run else first
            if cost == math.inf or done < 0 or (not has_run and done == 0):
                continue
            after = least(segment + 1, left - done, chosen if goes_on else -1, True)
            best = min(best, cost + after)
        return best

    return least(0, quanta, current, not is_fresh)


@given(long_programs())
@examples(500)
def test_rows_of_many_quanta_have_the_bits_of_single_numbers(program):
    cost, choices = _testing.solve_plan(*program)
    assert cost == (least_cost(*program) if cost >= 0 else -1.0)
    assert (cost < 0) == (least_cost(*program) == math.inf)
    if cost >= 0:
        assert follow(*program, choices=choices) == pytest.approx(cost)


@given(st.one_of(programs(), long_programs()))
@example(CHANGE_OF_A_SEGMENT)
@examples(1000)
def test_the_search_near_a_bound_finds_what_the_whole_program_finds(program):
    assert _testing.search_plan(*program) == _testing.solve_plan(*program)


@each("seed", range(12))
def test_a_search_among_very_many_configurations_finds_the_same(seed):
    rng = random.Random(seed)
    num_configurations, num_segments = rng.choice([64, 65, 140]), 4
    options = []
    for _ in range(num_segments):
        for configuration in range(num_configurations):
            done = rng.randint(0, 9)
            cost = done * (2.0 if configuration < 64 else 1.0) + rng.random()
            changed = done - rng.randint(0, 1)
            options.append((cost, done, changed, done, rng.random() < 0.9))
    program = options, [1] * num_configurations, 12, -1, rng.random() < 0.5
    cost, choices = _testing.search_plan(*program)
    assert (cost, choices) == _testing.solve_plan(*program)
    assert num_configurations == 64 or max(choices) >= 64


@given(
    st.lists(st.integers(-50, 1 << 40), min_size=1, max_size=9),
    st.sampled_from([0, 7, 300_000_000]),
    st.sampled_from([1 / 3, 1.0, 7.25]),
    st.one_of(st.just(1.0), st.floats(1e-3, 1e12)),
    st.integers(1, 640),
)
def test_quanta_of_segments_are_rounded_down_as_single_numbers_are(
    lengths, lost, rate, quantum, most
):
    known = [
        -1 if length <= lost else min(most, int((length - lost) * rate / quantum))
        for length in lengths
    ]
    assert _testing.whole_quanta(lengths, lost, rate, quantum, most) == known


rates = st.dictionaries(
    st.tuples(st.sampled_from(["A", "B"]), st.sampled_from([1, 2])),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    min_size=1,
)
jobs = st.lists(
    st.builds(
        DeadlineJob,
        arrival_s=st.sampled_from([0.0, 0.0, 100.0, 150.0]),
        deadline_s=st.sampled_from([100.0, 250.0, 300.0, 400.0]),
        work=st.sampled_from([60.0, 100.0, 200.0, 350.0]),
        rates=rates,
        value=st.sampled_from([0.5, 1.0, 2.0]),
        change_s=st.sampled_from([0.0, 0.0, 20.0]),
    ),
    min_size=1,
    max_size=6,
)


def work_done(job: DeadlineJob, first: int, chosen: tuple) -> float:
    """Work of a configuration (or None) in each slot from ``first`` on, within the job's time."""
    done, previous, has_run = 0.0, None, False
    for slot, configuration in enumerate(chosen, first):
        if configuration is not None:
            begin = max(slot * SLOT_S, job.arrival_s)
            end = min((slot + 1) * SLOT_S, job.deadline_s)
            lost = job.change_s if has_run and configuration != previous else 0.0
            done += max(0.0, end - begin - lost) * job.rates[configuration]
            has_run = True
        previous = configuration
    return done


def schedules(job: DeadlineJob, *, whole_slots: bool) -> list[tuple]:
    """Every assignment of configurations to slots that meets the deadline, nothing wasted."""
    first = math.ceil(job.arrival_s / SLOT_S) if whole_slots else int(job.arrival_s // SLOT_S)
    last = int(job.deadline_s // SLOT_S) if whole_slots else math.ceil(job.deadline_s / SLOT_S)
    found = []
    for chosen in itertools.product([None, *sorted(job.rates)], repeat=max(0, last - first)):
        if work_done(job, first, chosen) >= job.work:
            found.append((first, chosen))
    return found


@given(jobs)
@examples(60)
def test_the_cost_of_a_job_alone_is_that_of_the_best_schedule(found):
    # All prices of an empty cluster are those of no promise: cost counts GPU slots by type.
    job = found[0]
    plan = plan_deadlines([job], {"A": 2, "B": 2}, slot_s=SLOT_S, prices="density", quanta=640)
    assert plan.admitted[0] == (plan.reason[0] == "admitted")
    held = schedules(job, whole_slots=False)
    fast = [s for s in held if is_enough(s, job, job.change_s * max(job.rates.values()))]
    if not held:
        assert plan.reason[0] in ("impossible", "no room")
    if fast and job.deadline_s > job.arrival_s:
        assert plan.reason[0] in ("admitted", "too dear")
    for step in plan.steps(0):
        assert job.arrival_s - SLOT_S < step.from_s < step.until_s < job.deadline_s + SLOT_S


def is_enough(schedule: tuple, job: DeadlineJob, reserve: float) -> bool:
    """Whether the schedule does a fiftieth more than the work and the reserve."""
    return work_done(job, *schedule) >= 1.02 * job.work + reserve


def usage(plan, num_jobs: int) -> dict[tuple[str, int], int]:
    """GPUs promised by type and slot."""
    held: dict[tuple[str, int], int] = {}
    for job in range(num_jobs):
        for step in plan.steps(job):
            for slot in range(round(step.from_s / SLOT_S), round(step.until_s / SLOT_S)):
                key = step.gpu_type, slot
                held[key] = held.get(key, 0) + step.gpus
    return held


@given(jobs, st.sampled_from(["market", "density", "theory", "constant"]))
def test_nothing_is_promised_twice_and_every_plan_does_its_work(found, prices):
    plan = plan_deadlines(found, {"A": 2, "B": 3}, slot_s=SLOT_S, prices=prices)
    for (gpu_type, _), gpus in usage(plan, len(found)).items():
        assert gpus <= {"A": 2, "B": 3}[gpu_type]
    for index, job in enumerate(found):
        if not plan.admitted[index]:
            assert plan.steps(index) == ()
            continue
        assert plan.cost[index] < job.value
        done, reached, previous = 0.0, -1.0, None
        for step in plan.steps(index):
            begin, end = max(step.from_s, job.arrival_s), min(step.until_s, job.deadline_s)
            assert begin < end
            configuration = step.gpu_type, step.gpus
            is_new = previous is not None and (configuration != previous or step.from_s != reached)
            done += (end - begin - job.change_s * is_new) * job.rates[configuration]
            reached, previous = step.until_s, configuration
        assert done >= job.work * (1 - 1e-9)


@given(jobs)
@examples(60)
def test_the_certificate_holds_at_theory_prices(found):
    plan = plan_deadlines(found, {"A": 16, "B": 8}, slot_s=SLOT_S, prices="theory")
    values = np.array([job.value for job in found])
    assert plan.value == pytest.approx(values[plan.admitted].sum())
    assert plan.upper_bound >= plan.value - 1e-9
    if plan.exponent <= 1:
        assert plan.dual_objective <= plan.initial_objective + plan.ratio * plan.value + 1e-9


def fits(works: list[float], slots: int, ends: tuple[float, float]) -> bool:
    """Whether one GPU does all works in so many slots and two cut ones, one job in each."""
    for holders in itertools.product(range(-1, len(works)), repeat=2):
        left = list(works)
        for holder, end_s in zip(holders, ends, strict=True):
            if holder >= 0:
                left[holder] -= end_s
        if sum(math.ceil(max(0.0, work) / SLOT_S) for work in left) <= slots:
            return True
    return False


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 9)), min_size=1, max_size=6),
    st.sampled_from([0.0, 1.0, 7.0, 1e4, 1e9, 1e9 + 64]),
    st.sampled_from(["market", "density", "theory", "constant"]),
    st.sampled_from([1, 4, 30, 66_000, 5_000_000]),
    st.sampled_from([None, False, True]),
)
@example([(4, 1)], 1.0, "theory", 30, None)
@example([(4, 1)], 1.0, "theory", 30, False)
def test_the_bound_is_one_however_long_the_windows_are(rows, arrival_s, prices, slots, whole_slots):
    # All at once on one GPU, which is for some of them: the best packs the slots of the window,
    # of which the first and the last are cut, or not for use, where it begins within a slot.
    window_s = slots * SLOT_S
    found = [
        DeadlineJob(arrival_s, arrival_s + window_s, window_s * quarters / 4, {("A", 1): 1.0},
                    value=float(value))
        for quarters, value in rows
    ]  # fmt: skip
    plan = plan_deadlines(found, {"A": 1}, slot_s=SLOT_S, prices=prices, whole_slots=whole_slots)
    late_s = arrival_s % SLOT_S
    is_whole = prices == "theory" if whole_slots is None else whole_slots
    best = max(
        sum(value for _, value in some)
        for size in range(len(rows) + 1)
        for some in itertools.combinations(rows, size)
        if fits(
            [window_s * quarters / 4 for quarters, _ in some],
            slots - (late_s > 0),
            (0.0, 0.0) if is_whole or late_s == 0 else (SLOT_S - late_s, late_s),
        )
    )
    assert plan.value <= best <= plan.upper_bound <= sum(value for _, value in rows)


def power(base, exponent):
    """By squares, as the core has it."""
    result = 1.0
    while exponent > 0:
        if exponent % 2:
            result *= base
        base *= base
        exponent //= 2
    return result


def halved(value, degree):
    """The root by halving what is between one and the value, to the last bit."""
    low, high = 1.0, value
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if power(middle, degree) <= value else (low, middle)
    return low


@given(st.floats(1.0, 1e6), st.integers(1, 4096))
@example(1.0, 1)
@example(1.0 + 2**-52, 1)
@examples(300)
def test_the_portable_root_is_the_root(value, degree):
    root = _testing.portable_root(value, degree)
    assert root == pytest.approx(value ** (1 / degree), rel=1e-12)
    assert root == halved(value, degree)


@pytest.mark.parametrize("rule", ["market", "density", "theory"])
def test_prices_rise_from_their_lower_to_their_upper_bound(rule):
    table = np.array(_testing.price_table(rule, 16, 0.01, 0.4, 2))
    assert (np.diff(table) >= 0).all()
    assert table[-1] == pytest.approx(table.max())
    middle = table[1:-1] ** 2 / (table[:-2] * table[2:])
    assert np.allclose(middle[: 16 - 4], 1.0)


@pytest.mark.parametrize("prices", ["market", "density", "constant", "theory"])
@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(1, 600), st.integers(1, 64)), max_size=4),
    st.sampled_from([1, 64, 512]),
    st.integers(1, 30 * 24),
)
@example([(0, 60, 1)], 512, 30 * 24)
@examples(40)
def test_jobs_that_are_over_keep_no_job_out(prices, before, gpus, hours):
    """Whatever prices learned of others, an idle cluster has room for whom it would serve first."""
    # A market refuses who pays least where more was asked for in a slot than half of all GPUs.
    asked = sum(seconds * few for _, seconds, few in before)
    assume(prices != "market" or asked < 0.5 * 512 * 300)
    work = 3_600.0 * hours
    own = DeadlineJob(7_200.0, 7_200.0 + 2 * work, work, {("A", gpus): 1.0})
    others = [
        DeadlineJob(float(at), at + 3_600.0, float(seconds), {("A", few): 1.0})
        for at, seconds, few in sorted(before)
    ]
    assert plan_deadlines([own], {"A": 512}, prices=prices).reason == ("admitted",)
    plan = plan_deadlines([*others, own], {"A": 512}, prices=prices)
    assert plan.reason[-1] == "admitted"
    assert plan.upper_bound >= plan.value


def test_the_bound_says_how_much_was_lost_at_most():
    job = DeadlineJob(0.0, 400.0, 300.0, {("A", 1): 1.0, ("A", 2): 1.5})
    plan = plan_deadlines([job] * 8, {"A": 2}, slot_s=SLOT_S, prices="theory")
    assert 1 <= plan.value <= plan.upper_bound <= 8


# Long windows, so that segments have several slots; few GPUs, so that many plans are too dear.
offers = st.lists(
    st.tuples(
        st.sampled_from([0, 0, 30, 250]),  # arrival, after the one before
        st.sampled_from([90, 400, 1_000, 7_000]),  # to the deadline
        st.sampled_from([50.0, 300.0, 2_000.0]),  # work
        st.sampled_from([0.2, 1.0, 1.1, 3.0]),  # value
        st.sampled_from([0, 0, 20, 130]),  # change
        st.dictionaries(
            st.tuples(st.integers(0, 1), st.sampled_from([1, 2, 4])),
            st.sampled_from([0.5, 1.0, 1.7, 3.0]),
            min_size=1,
        ),
    ),
    min_size=2,
    max_size=14,
)


def offers_of(drawn):
    """The arguments of the core: arrivals in order, ways as rows."""
    jobs, now = [], 0
    for after, patience, work, value, change, ways in drawn:
        now += after
        rows = [(gpu_type, gpus, rate) for (gpu_type, gpus), rate in sorted(ways.items())]
        jobs.append((now, now + patience, work, value, change, rows))
    return jobs


def plan_with_bound(jobs, type_gpus, slot_us):
    """Decide on the jobs one by one: what each plan costs, None if the value or more; and whether
    the bound said so beforehand."""
    planner = _testing.DeadlinePlanner(type_gpus, slot_us=slot_us, quanta=640)
    found = []
    for now_us, deadline_us, work, value, change_us, ways in jobs:
        query = _testing.PlanQuery(
            ways=ways, work=work, value=value, change_us=change_us, now_us=now_us,
            deadline_us=deadline_us,
        )  # fmt: skip
        planner.see(query)
        is_too_dear = planner.is_too_dear(query)
        verdict, steps, cost = planner.find(query)
        if verdict == "admitted":
            planner.promise(query, steps)
        found.append((cost if verdict == "admitted" else None, is_too_dear))
    return found


@pytest.mark.long
@given(offers)
@examples(300)
def test_what_is_too_dear_by_the_bound_has_no_plan_below_its_value(drawn):
    for cost, is_too_dear in plan_with_bound(offers_of(drawn), [4, 2], 100):
        assert not (is_too_dear and cost is not None)


def test_the_bound_tells_what_is_too_dear():
    # Each holds half of the GPUs for all of its window, at a price that rises with what is held.
    ways = [(0, 2, 1.0)]
    jobs = [(0, 1_000, 900.0, 1.0, 0, ways)] * 2 + [(0, 1_000, 900.0, 0.01, 0, ways)]
    found = plan_with_bound(jobs, [4, 2], 100)
    assert [cost is not None for cost, _ in found] == [True, True, False]
    assert [is_too_dear for _, is_too_dear in found] == [False, False, True]


def test_a_type_without_gpus_changes_no_plan():
    jobs = [(0, 1_000, 500.0, 1.0, 0, [(0, 2, 1.0)]), (0, 1_000, 300.0, 2.0, 0, [(0, 1, 0.5)])]
    with_none = plan_with_bound(jobs, [4, 0], 100)
    assert with_none == plan_with_bound(jobs, [4], 100)
    assert all(cost is not None for cost, _ in with_none)
    for gpus in (-1, 2**22 + 1):
        with pytest.raises(
            ValueError, match=f"GPU type 1 has {gpus} GPUs; it must have 0 to 4194304"
        ):
            plan_with_bound(jobs, [4, gpus], 100)


@each("seed", [69, *range(10)])
def test_every_step_of_a_plan_lasts(seed):
    draw = random.Random(seed)
    found, arrival_s = [], 0.0
    for _ in range(draw.choice([3, 8, 15])):
        arrival_s += draw.choice([0, 0, 3, 10, 25])
        rates = {}
        for gpu_type in "AB":
            pace = draw.choice([0.5, 1.0, 2.0, 3.0])
            for gpus in (1, 2, 4):
                rates[gpu_type, gpus] = pace * draw.choice([gpus, math.sqrt(gpus), 1])
        window_s, work = draw.choice([15, 30, 60, 100]), float(draw.choice([10, 20, 40, 50, 80]))
        value, change_s = draw.choice([1.0, 3.0, 9.0]), draw.choice([0.0, 0.0, 2.0, 10.0])
        found.append(DeadlineJob(arrival_s, arrival_s + window_s, work, rates, value, change_s))
    for prices in ("market", "density"):
        quanta = draw.choice([8, 64])
        plan = plan_deadlines(found, {"A": 4, "B": 3}, slot_s=10.0, prices=prices, quanta=quanta)
        steps = [step for job in range(len(found)) for step in plan.steps(job)]
        assert steps
        assert all(step.from_s < step.until_s for step in steps)
