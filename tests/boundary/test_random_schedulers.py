"""A scheduler that acts at random: whatever it tries, what comes out is a possible schedule."""

import random
from typing import Any

import gpusched as gs
from gpusched._core import Allocation
from tests.each import each

CLUSTER = gs.Cluster((gs.ServerGroup(2, 4, "K80"), gs.ServerGroup(2, 3, "V100")))


class Whim(gs.Scheduler):
    """At each decision a handful of actions, legal or not, and then whatever fits is started."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = random.Random(seed)
        self.num_refused = self.num_done = 0

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for _ in range(self.rng.randrange(8)):
            try:
                self.act(state, actions)
                self.num_done += 1
            except (gs.InvariantError, ValueError, IndexError):
                self.num_refused += 1
        for job in state.waiting.tolist():
            if self.rng.random() < 0.7:
                self.start(state, actions, job)
        if len(state.waiting) or len(state.running):  # what was suspended still counts as running
            actions.wake(state.now_us + 10**6)

    def start(self, state: Any, actions: Any, job: int) -> None:
        """Start a job where the placement says; it may have been stopped at this very instant."""
        allocation = state.place(job)
        if allocation is None:
            return
        try:
            actions.start(job, allocation)
        except gs.InvariantError:
            self.num_refused += 1

    def act(self, state: Any, actions: Any) -> None:
        job = self.rng.randrange(35)
        deed = self.rng.choice(["start", "place", "preempt", "suspend", "restore", "wake"])
        if deed == "start":
            masks = [(server, self.rng.randrange(16)) for server in range(self.rng.randrange(5))]
            actions.start(job, Allocation(self.rng.randrange(9), masks))
        elif deed == "place":
            allocation = state.place(job)
            if allocation is not None:
                actions.start(job, allocation)
        elif deed == "wake":
            actions.wake(state.now_us + self.rng.randrange(-2, 5 * 10**6))
        else:
            getattr(actions, deed)(job)


def workload(rng: random.Random, *, is_typed: bool) -> gs.Trace:
    submit, service, gpus, types = zip(
        *(
            (
                rng.randrange(20),
                rng.randrange(1, 9),
                rng.randrange(1, 9),
                rng.choice(["", "K80", "V100"]) if is_typed else "",
            )
            for _ in range(30)
        ),
        strict=True,
    )
    costs = [rng.randrange(3) for _ in range(30)]
    return gs.Trace.from_columns(submit, service, gpus, gpu_types=types, restart_s=costs)


@each("placement", ["count", "best-fit", "spread", "consolidated", "random"])
def test_whatever_a_scheduler_tries_the_schedule_is_possible(placement):
    refused = done = 0
    for seed in range(25):
        jobs = workload(random.Random(seed), is_typed=placement != "count")
        scheduler = Whim(seed)
        result = gs.simulate(jobs, CLUSTER, policy=scheduler, placement=placement)
        result.audit().raise_if_bad()
        again = gs.simulate(jobs, CLUSTER, policy=Whim(seed), placement=placement)
        assert again.digest == result.digest
        refused += scheduler.num_refused
        done += scheduler.num_done
    assert min(refused, done) > 500
