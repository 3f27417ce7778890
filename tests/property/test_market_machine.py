"""One market that decides again and again while bidders and workers come and go.

It is asked beside a search over all ways to hold the workers in plain Python, and beside a second
market of the same past, which must decide alike. (One without a past may break ties otherwise: the
solvers begin at the prices that they found last.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from gpusched import _core
from tests.examples import examples

CLASSES = 2
SAMPLES = 10.0
BYTES_PER_S = 1e9
EXACT = 1e-9
# Few values: ties are the interesting case.
rates = st.tuples(*[st.sampled_from([0.5, 1.0, 1.0, 3.0])] * CLASSES)
capacities = st.lists(st.integers(0, 3), min_size=CLASSES, max_size=CLASSES).filter(any)


@dataclass
class Bidder:
    rates: tuple[float, ...]
    rounds: float
    gradient_bytes: float
    restart_s: float
    waited_s: float = 0.0
    held: tuple[int, ...] = (0,) * CLASSES

    def seconds(self, counts: tuple[int, ...]) -> float:
        """Until it completes with these workers; infinite without any."""
        width = sum(counts)
        if not width:
            return math.inf
        rate = sum(own * count for own, count in zip(self.rates, counts, strict=True))
        ring_s = 2 * (width - 1) / width * self.gradient_bytes / BYTES_PER_S
        seconds = self.rounds * (SAMPLES / rate + ring_s) + self.waited_s
        return seconds + (self.restart_s if any(self.held) and counts != self.held else 0.0)


def splits(workers: int, bidders: int) -> Iterator[tuple[int, ...]]:
    """Each way to hand out the workers of a class, some of them to nobody."""
    if not bidders:
        yield ()
        return
    for own in range(workers + 1):
        for rest in splits(workers - own, bidders - 1):
            yield (own, *rest)


class MarketMachine(RuleBasedStateMachine):
    @initialize(capacity=capacities)
    def open(self, capacity: list[int]) -> None:
        self.market, self.second = _core.MatchingMarket(), _core.MatchingMarket()
        self.capacity = capacity
        self.bidders: list[Bidder] = []

    @rule(
        rates=rates,
        rounds=st.sampled_from([1.0, 2.0, 8.0]),
        gradient_bytes=st.sampled_from([0.0, 0.0, 2e9]),
        restart_s=st.sampled_from([0.0, 1.0, 60.0]),
    )
    def come(self, **bid: Any) -> None:
        if len(self.bidders) < 4:
            self.bidders.append(Bidder(**bid))

    @precondition(lambda self: self.bidders)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        self.bidders.pop(data.draw(st.integers(0, len(self.bidders) - 1), "bidder"))

    @precondition(lambda self: self.bidders)
    @rule(part=st.sampled_from([0.5, 0.9]))
    def work(self, part: float) -> None:
        for bidder in self.bidders:
            bidder.waited_s += 5.0
            if any(bidder.held):
                bidder.rounds *= part

    @rule(capacity=capacities)
    def change_workers(self, capacity: list[int]) -> None:
        """Who holds workers of a class that shrinks has to begin anew."""
        for own, (before, after) in enumerate(zip(self.capacity, capacity, strict=True)):
            for bidder in self.bidders if after < before else []:
                if bidder.held[own]:
                    bidder.held = (0,) * CLASSES
        self.capacity = capacity

    def problem(self) -> _core.MatchingProblem:
        def column(name: str) -> Any:
            return np.array([getattr(bidder, name) for bidder in self.bidders])

        return _core.MatchingProblem(
            rate=column("rates").ravel(),
            capacity=np.array(self.capacity, dtype=np.int32),
            rounds=column("rounds"),
            samples=np.full(len(self.bidders), SAMPLES),
            gradient_bytes=column("gradient_bytes"),
            bytes_per_s=np.full(len(self.bidders), BYTES_PER_S),
            waiting_s=column("waited_s"),
            restart_s=column("restart_s"),
            previous=column("held").astype(np.int32).ravel(),
        )

    def who_waits(self) -> set[int]:
        """Those with the most work left, where there are fewer workers than bidders."""
        mean = np.average([bidder.rates for bidder in self.bidders], axis=1, weights=self.capacity)
        alone_s = [
            own.rounds * SAMPLES / rate for own, rate in zip(self.bidders, mean, strict=True)
        ]
        order = sorted(range(len(alone_s)), key=lambda bidder: (alone_s[bidder], bidder))
        return set(order[sum(self.capacity) :])

    def best_s(self, running: list[Bidder]) -> float:
        """The least mean completion of all ways to hold the workers."""
        ways = (list(splits(workers, len(running))) for workers in self.capacity)
        return min(
            sum(bidder.seconds(tuple(own[at] for own in way)) for at, bidder in enumerate(running))
            for way in itertools.product(*ways)
        ) / len(running)

    @precondition(lambda self: self.bidders)
    @rule(
        sampler=st.sampled_from(["seeded", "uniform", "enumerate"]),
        clearing=st.sampled_from(["transportation", "jonker-volgenant", "auction"]),
        hysteresis=st.sampled_from([0.0, 0.03]),
    )
    def decide(self, **chosen: Any) -> None:
        options = {"guard": 0.0, "draws": 5, "enumerate_up_to": 0.0, **chosen}
        found = self.market.solve(self.problem(), options)
        again = self.second.solve(self.problem(), options)
        for shown in ("counts", "price", "job_s"):
            assert getattr(found, shown).tolist() == getattr(again, shown).tolist()
        assert found.lower_bound_s == again.lower_bound_s

        rows = [tuple(row) for row in found.counts.reshape(-1, CLASSES).tolist()]
        held = [sum(row[own] for row in rows) for own in range(CLASSES)]
        assert all(own <= most for own, most in zip(held, self.capacity, strict=True))
        assert {at for at, row in enumerate(rows) if not any(row)} == self.who_waits()
        seconds = [own.seconds(row) for own, row in zip(self.bidders, rows, strict=True)]
        assert found.job_s.tolist() == pytest.approx(seconds, rel=EXACT)
        assert found.price.min() >= 0
        running = [own for own, row in zip(self.bidders, rows, strict=True) if any(row)]
        assert found.mean_s == pytest.approx(
            sum(own for own in seconds if own < math.inf) / len(running), rel=EXACT
        )
        best_s = self.best_s(running)
        assert found.lower_bound_s <= best_s * (1 + EXACT)
        assert found.mean_s >= best_s * (1 - EXACT)
        if found.is_kept and all(any(own.held) for own in running):
            assert [own.held for own in running] == [row for row in rows if any(row)]
        for bidder, row in zip(self.bidders, rows, strict=True):
            bidder.held = row


TestMarket = MarketMachine.TestCase
TestMarket.settings = examples(60, stateful_step_count=20)
