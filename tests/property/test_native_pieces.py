"""The core's containers, hash and random numbers against the plainest Python that does the same."""

from __future__ import annotations

import bisect
import hashlib
import heapq
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from gpusched._core import _testing
from gpusched.reference import rng
from tests.each import each
from tests.examples import examples

pytestmark = pytest.mark.long

machine_settings = examples(60, stateful_step_count=40)
words = st.integers(0, 2**64 - 1)
# Few distinct keys: ties are the interesting case. Infinities are keys like any other.
keys = st.sampled_from([-math.inf, -1.5, 0.0, 1.0, 2.0, 2.0**53, math.inf]) | st.floats(
    allow_nan=False
)


class QueueMachine(RuleBasedStateMachine):
    """A native priority queue of (key, job) next to heapq."""

    native: type

    def __init__(self) -> None:
        super().__init__()
        self.queue = self.native()
        self.twin: list[tuple[float, int]] = []
        self.num_pushed = 0

    def push(self, key: float) -> None:
        job = self.num_pushed  # no two entries are equal
        self.num_pushed += 1
        self.queue.push(key, job)
        heapq.heappush(self.twin, (key, job))

    @rule(new_keys=st.lists(keys, min_size=1, max_size=30))
    def push_any(self, new_keys: list[float]) -> None:
        for key in new_keys:
            self.push(key)

    @rule(num_new=st.integers(1, 150), step=st.sampled_from([0.0, 1.0]))
    def push_in_order(self, num_new: int, step: float) -> None:
        start = float(self.num_pushed)
        for i in range(num_new):
            self.push(start + step * i)

    @precondition(lambda self: self.twin)
    @rule(num_popped=st.integers(1, 120))
    def pop(self, num_popped: int) -> None:
        for _ in range(min(num_popped, len(self.twin))):
            assert self.queue.top() == heapq.heappop(self.twin)
            self.queue.pop()

    @precondition(lambda self: not self.twin)
    @rule()
    def an_empty_queue_has_no_top(self) -> None:
        for call in (self.queue.top, self.queue.pop):
            with pytest.raises(IndexError):
                call()

    @invariant()
    def agrees(self) -> None:
        assert len(self.queue) == len(self.twin)
        if self.twin:
            assert self.queue.top() == self.twin[0]


class HeapMachine(QueueMachine):
    native = _testing.Heap


class RunHeapMachine(QueueMachine):
    native = _testing.RunHeap


class IndexSetMachine(RuleBasedStateMachine):
    """The bitmap of three levels next to a sorted list."""

    @initialize(size=st.sampled_from([1, 63, 64, 65, 4_096, 4_097, 64**3]))
    def create(self, size: int) -> None:
        self.size = size
        self.native = _testing.IndexSet(size)
        self.twin: list[int] = []

    def near(self, fraction: float, step: int) -> int:
        """An index by its place in the set; steps reach the edges of words and blocks."""
        return min(max(0, int(fraction * (self.size - 1)) + step), self.size - 1)

    @rule(fraction=st.floats(0, 1), steps=st.lists(st.integers(-65, 65), min_size=1, max_size=12))
    def insert(self, fraction: float, steps: list[int]) -> None:
        for index in {self.near(fraction, step) for step in steps} - set(self.twin):
            self.native.insert(index)
            bisect.insort(self.twin, index)

    @precondition(lambda self: self.twin)
    @rule(data=st.data(), num_erased=st.integers(1, 10))
    def erase(self, data: st.DataObject, num_erased: int) -> None:
        for _ in range(min(num_erased, len(self.twin))):
            index = self.twin.pop(data.draw(st.integers(0, len(self.twin) - 1)))
            self.native.erase(index)

    @rule(fraction=st.floats(0, 1), step=st.integers(-65, 65))
    def next_of_any(self, fraction: float, step: int) -> None:
        index = self.near(fraction, step)
        at = bisect.bisect_right(self.twin, index)
        assert self.native.next(index) == (self.twin[at] if at < len(self.twin) else -1)

    @invariant()
    def walks_through_all_in_order(self) -> None:
        if not hasattr(self, "native"):
            return
        assert len(self.native) == len(self.twin)
        walked, index = [], self.native.next(-1)
        while index >= 0:
            walked.append(index)
            index = self.native.next(index)
        assert walked == self.twin
        assert self.native.next(self.size - 1) == -1


class RunningIndexMachine(RuleBasedStateMachine):
    """Prefix sums over blocks next to sums over a sorted list."""

    ends = st.integers(0, 6) | st.integers(0, 2**62)

    def __init__(self) -> None:
        super().__init__()
        self.native = _testing.RunningIndex()
        self.twin: list[tuple[int, int, int]] = []  # end, job, gpus
        self.num_jobs = 0

    def insert(self, end: int, gpus: int) -> None:
        self.native.insert(end, self.num_jobs, gpus)
        bisect.insort(self.twin, (end, self.num_jobs, gpus))
        self.num_jobs += 1

    @rule(end=ends, gpus=st.integers(1, 9))
    def insert_one(self, end: int, gpus: int) -> None:
        self.insert(end, gpus)

    @rule(
        first=st.integers(0, 100),
        step=st.sampled_from([-1, 0, 1, 7]),
        num_new=st.integers(1, 150),  # more than two blocks of 64
        gpus=st.integers(1, 3),
    )
    def insert_many(self, first: int, step: int, num_new: int, gpus: int) -> None:
        for i in range(num_new):
            self.insert(1_000 + first + step * i, 1 + (i * gpus) % 5)

    @precondition(lambda self: self.twin)
    @rule(fraction=st.floats(0, 1), num_erased=st.integers(1, 100))
    def erase(self, fraction: float, num_erased: int) -> None:
        for _ in range(min(num_erased, len(self.twin))):
            end, job, _ = self.twin.pop(int(fraction * (len(self.twin) - 1)))
            self.native.erase(end, job)

    @rule(end=ends | st.integers(990, 1_200), job=st.integers(0, 2**32 - 1))
    def sums_from_any_instant(self, end: int, job: int) -> None:
        expected = sum(gpus for *at, gpus in self.twin if tuple(at) >= (end, job))
        assert self.native.sum_from(end, job) == expected
        assert self.native.sum_until(end) == sum(g for e, _, g in self.twin if e <= end)
        assert self.native.after(end) == [own for e, own, _ in self.twin if e > end]
        assert self.native.until(end) == [own for e, own, _ in self.twin if e <= end][::-1]

    @precondition(lambda self: self.twin)
    @rule(fraction=st.floats(0, 1))
    def sums_from_an_entry(self, fraction: float) -> None:
        at = int(fraction * (len(self.twin) - 1))
        end, job, _ = self.twin[at]
        assert self.native.sum_from(end, job) == sum(gpus for *_, gpus in self.twin[at:])
        for until in (end - 1, end, end + 1):
            assert self.native.sum_until(until) == sum(g for e, _, g in self.twin if e <= until)

    @rule(fraction=st.floats(0, 1.2), step=st.integers(-1, 1))
    def reaches_a_sum(self, fraction: float, step: int) -> None:
        total = sum(gpus for *_, gpus in self.twin)
        need = max(1, int(fraction * total) + step)
        before = 0
        for end, job, gpus in self.twin:
            if before + gpus >= need:
                assert self.native.reach(need) == (end, job, gpus, before)
                return
            before += gpus
        assert self.native.reach(need) is None

    @precondition(lambda self: self.twin)
    @rule(fraction=st.floats(0, 1))
    def reaches_a_sum_from_the_back(self, fraction: float) -> None:
        need = max(1, int(fraction * sum(gpus for *_, gpus in self.twin)))
        after = 0
        for entry in reversed(self.twin):
            after += entry[2]
            if after >= need:
                assert self.native.reach_from_back(need) == entry
                return

    @invariant()
    def holds_the_same_entries(self) -> None:
        assert self.native.entries() == self.twin
        assert self.native.total == sum(gpus for *_, gpus in self.twin)


class SrptMachineMachine(RuleBasedStateMachine):
    """Shortest remaining work first, next to a loop that looks at every job at every step."""

    # Few sizes: completions between ticks and many ties, early and late in the time type.
    speeds = st.sampled_from([1, 3, 4, 7, 2**31 - 1])
    begins = st.sampled_from([0, 2**53 - 3, 2**61])
    steps = st.integers(0, 12) | st.integers(0, 10**6)
    ticks = st.integers(1, 10) | st.just(2**53)

    @initialize(speed=speeds, begin=begins)
    def begin(self, speed: int, begin: int) -> None:
        self.native = _testing.SrptMachine(speed)
        self.speed = speed
        self.left: dict[int, Fraction] = {}  # in ticks of the whole machine
        self.now = Fraction(begin)
        self.num_jobs = 0
        assert self.native.advance(begin) == []

    def least(self) -> int:
        return min(self.left, key=lambda job: (self.left[job], job))

    @rule(ticks=ticks, gpus=st.integers(1, 9))
    def add(self, ticks: int, gpus: int) -> None:
        self.native.add(self.num_jobs, ticks, gpus)
        self.left[self.num_jobs] = Fraction(ticks * gpus, self.speed)
        self.num_jobs += 1

    @rule(step=steps)
    def advance(self, step: int) -> None:
        to, completed = self.now + step, []
        while self.left and self.now + self.left[self.least()] <= to:
            job = self.least()
            self.now += self.left.pop(job)
            completed.append(job)
        if self.left:
            self.left[self.least()] -= to - self.now
        self.now = to
        assert self.native.advance(int(to)) == completed

    @invariant()
    def agrees(self) -> None:
        assert len(self.native) == len(self.left)
        if not self.left:
            assert self.native.next_completion() == 2**63 - 1
            return
        assert self.native.running == self.least()
        assert self.native.next_completion() == math.ceil(self.now + self.left[self.least()])
        assert self.native.next_completion() > self.now  # or a run would ask for the past


class TestSrptMachine(SrptMachineMachine.TestCase):
    settings = machine_settings


def test_what_an_srpt_machine_completes_beyond_the_time_type_it_completes_at_its_end():
    machine = _testing.SrptMachine(1)
    machine.advance(2**61)
    for job in range(4):
        machine.add(job, 2**62, 2**31 - 1)
    assert machine.next_completion() == 2**62
    assert machine.advance(2**62 - 1) == []


@given(
    st.integers(1, 9),
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 50), st.integers(1, 9)), min_size=1, max_size=20
    ),
)
def test_an_srpt_machine_does_not_notice_how_often_it_is_looked_at(speed, arrivals):
    seldom, often = _testing.SrptMachine(speed), _testing.SrptMachine(speed)
    completed: list[list[int]] = [[], []]
    now = 0
    for job, (gap, ticks, gpus) in enumerate(arrivals):
        for _ in range(gap):
            now += 1
            completed[1] += often.advance(now)
        completed[0] += seldom.advance(now)
        for machine in (seldom, often):
            machine.add(job, ticks, gpus)
    for _ in range(10_000):
        now += 1
        completed[1] += often.advance(now)
    completed[0] += seldom.advance(now)
    assert completed[0] == completed[1]
    assert len(completed[0]) == len(arrivals)


class TestHeap(HeapMachine.TestCase):
    settings = machine_settings


class TestRunHeap(RunHeapMachine.TestCase):
    settings = machine_settings


class TestIndexSet(IndexSetMachine.TestCase):
    settings = machine_settings


class TestRunningIndex(RunningIndexMachine.TestCase):
    settings = machine_settings


@given(st.binary(max_size=600), st.integers(1, 200))
def test_the_hash_is_sha_256(data, piece):
    assert _testing.sha256(data, piece=piece) == hashlib.sha256(data).hexdigest()


@each("length", [*range(54, 66), *range(118, 130), 10_000, 1_000_003])
def test_the_hash_is_sha_256_around_the_edges_of_its_blocks(length):
    data = bytes(i * i % 251 for i in range(min(length, 1_000))) * (length // 1_000 + 1)
    assert _testing.sha256(data[:length]) == hashlib.sha256(data[:length]).hexdigest()


@given(words, st.sampled_from(sorted(rng.STREAMS)), words, words)
def test_a_draw_is_that_of_the_readable_generator(seed, stream, job, counter):
    native = _testing.draw(seed, rng.STREAMS[stream], job, counter)
    assert native == rng.draw(seed, stream, job, counter)


slots = st.integers(0, 40)  # more than the queue has room for at first


class FinishQueueMachine(RuleBasedStateMachine):
    """Ends are set, moved, dropped and taken; the twin looks at all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.native = _testing.FinishQueue()
        self.ends: dict[int, int] = {}

    @rule(slot=slots, at=st.integers(0, 3))
    def set_or_move(self, slot: int, at: int) -> None:
        self.native.set(slot, at)
        self.ends[slot] = at

    @rule(moved=st.lists(st.tuples(slots, st.integers(0, 3))), announced=st.integers(0, 9))
    def move_together(self, moved: list[tuple[int, int]], announced: int) -> None:
        for _ in range(announced):
            self.native.announce_move()
        for slot, at in moved:
            self.native.move(slot, at)
            self.ends[slot] = at
        self.native.settle()

    @rule(slot=slots)
    def drop(self, slot: int) -> None:
        if self.ends.pop(slot, None) is not None:
            self.native.drop(slot)

    @rule()
    def take_those_of_the_first_instant_by_slot(self) -> None:
        if not self.ends:
            return
        now = min(self.ends.values())
        due = sorted(slot for slot, at in self.ends.items() if at == now)
        assert self.native.take(now) == due
        for slot in due:
            del self.ends[slot]

    @invariant()
    def the_next_end_is_the_least(self) -> None:
        assert self.native.next() == min(self.ends.values(), default=None)


class TestFinishQueue(FinishQueueMachine.TestCase):
    settings = machine_settings


rows = st.lists(st.integers(-3, 3), max_size=20)


@given(st.lists(st.tuples(rows, rows), max_size=40), st.integers(0, 2_000))
def test_a_memo_is_right_where_it_knows_and_passes_its_bound_with_one_entry_alone(
    entries, most_bytes
):
    memo = _testing.CutMemo(most_bytes)
    twin: dict[tuple[int, ...], list[int]] = {}
    for key, row in entries:
        known = memo.find(key)
        if known is None:
            twin[tuple(key)] = row
            assert memo.remember(key, row) == row
        else:
            assert known == twin[tuple(key)]
        numbers = sum(len(k) + len(r) for k, r in twin.items() if memo.find(list(k)) is not None)
        assert memo.num_bytes == 128 * len(memo) + 4 * numbers
        assert memo.num_bytes <= most_bytes or len(memo) == 1


def test_thousands_of_wide_rows_stay_within_the_bound():
    memo = _testing.CutMemo(1 << 20)
    for i in range(3_000):
        memo.remember([i], list(range(1_000)))
        assert memo.num_bytes <= 1 << 20
    assert 0 < len(memo) < 300
    assert memo.find([2_999]) == list(range(1_000))


@given(st.lists(st.tuples(words, st.sampled_from([1, 2]), words, words), min_size=2, unique=True))
def test_draws_of_different_places_differ(places):
    assert len({_testing.draw(*place) for place in places}) == len(places)


@given(st.lists(st.sampled_from([-1.5, 0.0, 2.0, 1e300, math.inf]), min_size=1), st.data())
def test_a_value_at_a_rank_is_that_of_the_sorted(values, data):
    rank = data.draw(st.integers(0, len(values) - 1))
    assert _testing.value_at_rank(values, rank) == sorted(values)[rank]


def test_every_native_piece_that_is_exposed_is_tested_here():
    exposed = {name for name in dir(_testing) if not name.startswith("_")}
    elsewhere = {"heavy_edge_cut", "swap_down"}  # test_graph_cut_laws
    # test_plan_oracle_laws
    elsewhere |= {"PlanQuery", "portable_root", "price_table", "search_plan", "solve_plan"}
    elsewhere |= {"whole_quanta"}
    elsewhere |= {"DeadlinePlanner"}  # test_planner_machine
    elsewhere |= {"WaitingQueue"}  # test_waiting_machine
    elsewhere |= {"JobSet"}  # test_job_set
    elsewhere |= {"BackfillQueue"}  # test_backfill_machine
    elsewhere |= {"fill_line"}  # test_filled_line_laws
    elsewhere |= {"TimedScheduler"}  # test_timed_scheduler
    elsewhere |= {"take_slow_twins"}  # test_fast_paths_equal_slow_twins
    elsewhere |= {"address", "allocate_kept_bytes", "keep_bytes"}  # test_kept_blocks
    elsewhere |= {"take_four_lanes"}  # test_lanes_equal_pairs
    elsewhere |= {"ClearedCategory", "clear_category", "draw_category"}  # test_market,
    elsewhere |= {"register_bare_speed", "forget_bare_speed"}  # test_every_speed
    elsewhere |= {"improve_placement", "bound_placements", "count_categories"}
    assert exposed - elsewhere == {
        "CutMemo",
        "FinishQueue",
        "Heap",
        "RunHeap",
        "IndexSet",
        "RunningIndex",
        "SrptMachine",
        "sha256",
        "draw",
        "value_at_rank",
    }
