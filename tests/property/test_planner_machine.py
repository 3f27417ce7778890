"""The planner of deadlines next to a plain search: what is promised is kept, at the least cost.

Jobs are offered, go early and end, time passes. Windows are whole slots and a slot does whole
parts of the work, so that the planner has nothing to round and must find the very optimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gpusched import _core
from gpusched._core import _testing
from tests.examples import examples

SLOT_US = 100
TYPE_GPUS = (4, 2)
PARTS = 6
"""Of each job's work; a slot does one to three of them, by configuration."""
MOST_SLOTS = 7

Step = tuple[int, int, int]
ways = st.dictionaries(
    st.tuples(st.integers(0, 1), st.sampled_from([1, 2, 3])), st.integers(1, 3), min_size=1
).map(lambda drawn: [(*way, parts) for way, parts in sorted(drawn.items())])


@dataclass
class Offer:
    """A job: ways to run are (type, gpus, parts of the work in a slot)."""

    ways: list[tuple[int, int, int]]
    work: float
    value: float
    first: int
    last: int

    def query(self) -> Any:
        part = self.work / PARTS
        return _testing.PlanQuery(
            ways=[(own, gpus, parts * part / SLOT_US) for own, gpus, parts in self.ways],
            work=self.work,
            value=self.value,
            change_us=0,
            now_us=self.first * SLOT_US,
            deadline_us=self.last * SLOT_US,
        )


class ReadablePrices:
    """Of one type: a quarter of the least value of a GPU slot up to the greatest, geometrically."""

    def __init__(self, gpus: int) -> None:
        self.gpus = gpus
        self.densities: list[float] = []

    def of(self, promised: int) -> float:
        if not self.densities:
            return 1.0
        low = min(min(self.densities) / 4, max(self.densities) / 10)
        high = min(max(self.densities), low * 1e6)
        return low * (high / low) ** (promised / self.gpus)


class PlannerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.native = _testing.DeadlinePlanner(TYPE_GPUS, slot_us=SLOT_US, quanta=PARTS)
        self.prices = [ReadablePrices(gpus) for gpus in TYPE_GPUS]
        self.kept: list[tuple[Offer, list[Step]]] = []
        self.now = 0  # slot

    def promised(self, gpu_type: int, slot: int) -> int:
        return sum(
            offer.ways[way][1]
            for offer, steps in self.kept
            for begin, end, way in steps
            if begin <= slot < end and offer.ways[way][0] == gpu_type
        )

    def slot_cost(self, gpu_type: int, gpus: int, slot: int) -> float:
        """What the GPUs cost in the slot; infinite where so many are not left."""
        before = self.promised(gpu_type, slot)
        if before + gpus > TYPE_GPUS[gpu_type]:
            return math.inf
        return self.prices[gpu_type].of(before) * gpus

    def least_cost(self, offer: Offer) -> float:
        """Of all ways to do the work, by how much of it is done after each slot."""
        least = [0.0, *[math.inf] * PARTS]
        for slot in range(offer.first, offer.last):
            after = list(least)
            for gpu_type, gpus, parts in offer.ways:
                cost = self.slot_cost(gpu_type, gpus, slot)
                for done, before in enumerate(least):
                    reached = min(done + parts, PARTS)
                    after[reached] = min(after[reached], before + cost)
            least = after
        return least[PARTS]

    def cost_of(self, offer: Offer, steps: list[Step]) -> float:
        return sum(
            self.slot_cost(*offer.ways[way][:2], slot)
            for begin, end, way in steps
            for slot in range(begin, end)
        )

    def see(self, offer: Offer) -> None:
        self.native.see(offer.query())
        for gpu_type, gpus, parts in offer.ways:
            slots = max(1.0, PARTS / parts)
            self.prices[gpu_type].densities.append(offer.value / (gpus * slots))

    def decide(self, offer: Offer) -> None:
        """Whatever can be done is found at its least cost, and promised below the value."""
        is_too_dear = self.native.is_too_dear(offer.query())
        verdict, steps, cost = self.native.find(offer.query())
        least = self.least_cost(offer)
        if least == math.inf:
            most = max(parts for *_, parts in offer.ways)
            is_possible = most * (offer.last - offer.first) >= PARTS
            assert verdict == ("no room" if is_possible else "impossible")
            assert steps == []
            return
        assert cost == pytest.approx(least, rel=1e-9)
        if cost != pytest.approx(offer.value, rel=1e-9):
            assert verdict == ("admitted" if least < offer.value else "too dear")
            assert not (is_too_dear and least < offer.value)
        if verdict != "admitted":
            return
        assert self.cost_of(offer, steps) == pytest.approx(cost, rel=1e-9)
        assert sum(offer.ways[way][2] * (end - begin) for begin, end, way in steps) >= PARTS
        slots = [slot for begin, end, _ in steps for slot in range(begin, end)]
        assert slots == sorted(set(slots))
        assert offer.first <= slots[0] <= slots[-1] < offer.last
        self.native.promise(offer.query(), steps)
        self.kept.append((offer, steps))

    @rule(
        ways=ways,
        work=st.sampled_from([600.0, 1_200.0, 60_000.0]),
        value=st.sampled_from([1e-7, 0.1, 0.5, 1.0, 1.0, 4.0]),
        ahead=st.integers(0, 2),
        length=st.integers(2, MOST_SLOTS),
    )
    def offer(
        self, ways: list[tuple[int, int, int]], work: float, value: float, ahead: int, length: int
    ) -> None:
        first = self.now + ahead
        offer = Offer(ways, work, value, first, first + length)
        self.see(offer)
        self.decide(offer)

    def take_out(self, data: st.DataObject) -> tuple[Offer, list[Step]]:
        offer, steps = self.kept.pop(data.draw(st.integers(0, len(self.kept) - 1), "job"))
        self.native.withdraw(offer.query(), steps)
        return offer, steps

    @precondition(lambda self: self.kept)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        """A job goes, perhaps in the midst of its plan: what was to come is free again."""
        self.take_out(data)

    @precondition(lambda self: any(offer.first >= self.now for offer, _ in self.kept))
    @rule(data=st.data())
    def plan_anew(self, data: st.DataObject) -> None:
        """Who has not begun can have again what it had, or something cheaper."""
        offer, steps = self.take_out(data)
        if offer.first < self.now:
            return
        assert self.least_cost(offer) <= self.cost_of(offer, steps) * (1 + 1e-9)
        self.decide(offer)

    @rule(slots=st.sampled_from([1, 1, 2, 5, 70]))
    def let_time_pass(self, slots: int) -> None:
        """What has ended is forgotten, without a word to the planner."""
        self.now += slots
        self.native.advance(self.now * SLOT_US)
        self.kept = [(offer, steps) for offer, steps in self.kept if steps[-1][1] > self.now]

    @invariant()
    def holds_what_is_promised(self) -> None:
        for gpu_type, gpus in enumerate(TYPE_GPUS):
            for slot in range(self.now, self.now + MOST_SLOTS + 4):
                promised = self.promised(gpu_type, slot)
                assert self.native.promised(gpu_type, slot) == promised <= gpus
            for promised in range(gpus + 1):
                price = self.prices[gpu_type].of(promised)
                assert self.native.price(gpu_type, promised) == pytest.approx(price, rel=1e-9)


TestPlanner = PlannerMachine.TestCase
TestPlanner.settings = examples(25, stateful_step_count=20)


def test_more_than_there_is_cannot_be_promised():
    planner = _testing.DeadlinePlanner([2], slot_us=SLOT_US, quanta=PARTS)
    query = Offer([(0, 2, 1)], 600.0, 1.0, 0, 6).query()
    planner.promise(query, [(0, 3, 0)])
    message = "of 2 GPUs of type 0 4 are promised in slot 2"
    with pytest.raises(_core.InvariantError, match=message):
        planner.promise(query, [(2, 4, 0)])


def test_what_was_not_promised_cannot_be_taken_back():
    planner = _testing.DeadlinePlanner([2], slot_us=SLOT_US, quanta=PARTS)
    query = Offer([(0, 1, 1)], 600.0, 1.0, 0, 6).query()
    with pytest.raises(_core.InvariantError, match="of 2 GPUs of type 0 -1 are promised in slot 1"):
        planner.withdraw(query, [(1, 2, 0)])
