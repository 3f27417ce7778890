"""The engine's books beside plain Python: who holds which GPUs, what is left, who ends next.

A machine asks for decisions at any time and starts, moves and preempts jobs in them. That goes
through Occupancy, Progress and FinishQueue as a run does, stale finishes and ties included.
GPUSCHED_MACHINE_EXAMPLES=N asks for more examples.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import gpusched as gs
from gpusched import _core
from gpusched._core import Allocation
from tests.examples import number_of

EXAMPLES = int(os.environ.get("GPUSCHED_MACHINE_EXAMPLES", number_of(25)))
SERVERS = (4, 2, 3)
MOST_INSTANTS = 1_000

Order = Callable[[Any], None]
Pieces = list[tuple[int, int]]


class Obedient(gs.Scheduler):
    """Does what it was told since its last decision."""

    def __init__(self) -> None:
        super().__init__()
        self.orders: list[Order] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for order in self.orders:
            order(actions)
        self.orders = []


@dataclass
class Job:
    submit_us: int
    left_us: int
    gpus: int
    since_us: int = 0
    held: Pieces | None = None

    @property
    def finish_us(self) -> int:
        return self.since_us + self.left_us

    def stop(self, now_us: int) -> None:
        self.left_us -= now_us - self.since_us
        self.held = None


class EngineMachine(RuleBasedStateMachine):
    @initialize(
        rows=st.lists(
            st.tuples(st.integers(0, 30), st.integers(1, 25), st.integers(1, 5)),
            min_size=2,
            max_size=12,
        )
    )
    def begin(self, rows: list[tuple[int, int, int]]) -> None:
        rows = sorted(rows, key=lambda row: row[0])
        self.jobs = [Job(*row) for row in rows]
        submit, service, gpus = map(np.array, zip(*rows, strict=True))
        self.scheduler = Obedient()
        # Borrowed by the run.
        self.table = _core.JobTable(submit, service, gpus.astype(np.int32))
        self.cluster = _core.Cluster(np.array(SERVERS, np.int32), np.zeros(len(SERVERS), np.int32))
        described = _core.RunDescription(
            policy=self.scheduler, policy_flags=["preemptive", "places"], placement="consolidated"
        )
        self.run = _core.Run(self.table, self.cluster, described)
        self.now_us = -1
        self.done: set[int] = set()

    def go_on(self, step_us: int) -> None:
        """Come to the next question; what ends at that instant has ended."""
        self.now_us += step_us
        for number, job in enumerate(self.jobs):
            if job.held is not None and job.finish_us <= self.now_us:
                job.held = None
                self.done.add(number)
        self.run.proceed(self.now_us, MOST_INSTANTS)

    def waiting(self) -> list[int]:
        return [
            number
            for number, job in enumerate(self.jobs)
            if job.submit_us <= self.now_us and job.held is None and number not in self.done
        ]

    def running(self) -> list[int]:
        return [number for number, job in enumerate(self.jobs) if job.held is not None]

    def free(self) -> list[int]:
        free = [(1 << gpus) - 1 for gpus in SERVERS]
        for job in self.jobs:
            for server, mask in job.held or []:
                assert free[server] & mask == mask
                free[server] &= ~mask
        return free

    def draw_pieces(self, data: st.DataObject, job: Job, free: list[int]) -> Pieces | None:
        """Any free GPUs, not those that a placement would take."""
        units = [
            (server, bit)
            for server, mask in enumerate(free)
            for bit in range(SERVERS[server])
            if mask >> bit & 1
        ]
        if len(units) < job.gpus:
            return None
        chosen = data.draw(st.permutations(units), "gpus")[: job.gpus]
        masks = dict.fromkeys(sorted({server for server, _ in chosen}), 0)
        for server, bit in chosen:
            masks[server] |= 1 << bit
        return list(masks.items())

    def hold(self, number: int, pieces: Pieces, before: Pieces | None = None) -> None:
        """Start the job, or let one go on that was suspended and held these or others before."""
        job = self.jobs[number]
        job.held, job.since_us = pieces, self.now_us
        allocation = Allocation(job.gpus, pieces)

        def order(actions: Any) -> None:
            if pieces == before:
                assert actions.restore(number)
            else:
                (actions.resize if before else actions.start)(number, allocation)

        self.scheduler.orders.append(order)

    @rule(data=st.data(), step_us=st.integers(1, 9), most=st.integers(0, 4))
    def start_some(self, data: st.DataObject, step_us: int, most: int) -> None:
        self.go_on(step_us)
        for number in data.draw(st.permutations(self.waiting()), "jobs")[:most]:
            pieces = self.draw_pieces(data, self.jobs[number], self.free())
            if pieces is not None:
                self.hold(number, pieces)
        self.run.ask(self.now_us)

    @rule(data=st.data(), step_us=st.integers(1, 9), goes_on=st.booleans())
    def preempt_some(self, data: st.DataObject, step_us: int, goes_on: bool) -> None:
        """Some go on in the same decision, perhaps elsewhere."""
        self.go_on(step_us)
        stopped = {
            number: self.jobs[number].held
            for number in self.running()
            if data.draw(st.booleans(), "stops")
        }
        for number in stopped:
            self.jobs[number].stop(self.now_us)
            self.scheduler.orders.append(lambda actions, job=number: actions.suspend(job))
        for number in stopped if goes_on else []:
            pieces = self.draw_pieces(data, self.jobs[number], self.free())
            if pieces is not None:
                self.hold(number, pieces, stopped[number])
        self.run.ask(self.now_us)

    @rule(step_us=st.integers(1, 40))
    def let_time_pass(self, step_us: int) -> None:
        self.go_on(step_us)
        self.run.ask(self.now_us)

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "run") or self.now_us < 0:
            return
        self.run.proceed(self.now_us + 1, MOST_INSTANTS)
        shown, running = self.run.state(), self.running()
        assert sorted(shown["waiting"].tolist()) == self.waiting()
        assert shown["num_finished"] == len(self.done)
        finishes = dict(zip(shown["running"].tolist(), shown["finish_us"].tolist(), strict=True))
        assert finishes == {number: self.jobs[number].finish_us for number in running}
        held = zip(
            shown["held_job"].tolist(),
            shown["held_server"].tolist(),
            shown["held_mask"].tolist(),
            strict=True,
        )
        assert sorted(held) == sorted(
            (number, *piece) for number in running for piece in self.jobs[number].held or []
        )
        free = [mask.bit_count() for mask in self.free()]
        assert shown["free_gpus"].tolist() == free
        assert shown["num_free"] == sum(free)


TestEngine = EngineMachine.TestCase
TestEngine.settings = settings(max_examples=EXAMPLES, stateful_step_count=25, print_blob=True)
