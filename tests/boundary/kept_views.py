"""Plug-ins that keep all that they are shown and, inside their calls, use what they kept."""

import contextlib
import gc
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

import gpusched as gs
from gpusched._core import Allocation
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace

JOB = np.array([0])
LOOKS: dict[str, list[Callable[[Any], Any]]] = {
    "State": [
        lambda s: s.seed, lambda s: s.now_us, lambda s: s.num_gpus, lambda s: s.num_free,
        lambda s: s.submit_us, lambda s: s.gpus, lambda s: s.predicted_us, lambda s: s.weight,
        lambda s: s.deadline_us, lambda s: s.value, lambda s: s.min_gpus, lambda s: s.max_gpus,
        lambda s: s.is_elastic, lambda s: s.num_types, lambda s: s.type_gpus,
        lambda s: s.rates(JOB, 0, 1), lambda s: s.parts_of(0), lambda s: s.restart_us(JOB),
        lambda s: s.remaining_us(JOB), lambda s: s.attained_us(JOB),
    ],
    "FreeGpus": [
        lambda f: f.free_gpus, lambda f: f.server_gpus, lambda f: f.server_type,
        lambda f: f.lowest_free(0, 0),
    ],
    "Actions": [lambda a: a.restore(0)],
}  # fmt: skip
# Would change the run, or be refused inside of a call for other reasons.
LOOKS_WHEN_CLOSED = {
    "State": [lambda s: s.waiting, lambda s: s.running, lambda s: s.place(0)],
    "FreeGpus": [],
    "Actions": [
        lambda a: a.start(0, Allocation(1, [(0, 1)])), lambda a: a.preempt(0),
        lambda a: a.suspend(0), lambda a: a.resize(0, Allocation(1, [(0, 1)])),
        lambda a: a.reallocate([(0, [(0, 1)])]), lambda a: a.wake(10**12),
    ],
}  # fmt: skip


class World:
    """All that was shown so far, what is open now, and what the next calls are to do."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.columns: list[tuple[Any, Any]] = []
        self.open: list[Any] = []
        self.around: list[Any] = []
        self.plans: deque[str] = deque()
        self.owners: list[Any] = []
        self.is_nested = False

    def check(self, shown: Any) -> None:
        """What is open can be used, and what is not is refused."""
        kind = type(shown).__name__
        if any(shown is one for one in self.around):
            return  # open or not, as the run inside has a thread of its own or not
        is_open = any(shown is one for one in self.open)
        for look in LOOKS[kind] + LOOKS_WHEN_CLOSED[kind]:
            if not is_open:
                assert refusal(look, shown) == "during the call"
            elif look in LOOKS[kind]:
                with contextlib.suppress(IndexError, gs.InvariantError):  # before any job is there
                    look(shown)

    def called(self, plug_in: Any, *shown: Any) -> None:
        """A call of a plug-in has begun."""
        self.open += shown
        for one in [*self.kept[-6:], *shown]:
            self.check(one)
        for one in shown:
            if not any(one is kept for kept in self.kept):
                self.kept.append(one)
                if type(one).__name__ == "State":
                    self.columns += [(c, c.copy()) for c in (one.gpus, one.submit_us, one.weight)]
        if self.plans and not self.is_nested:
            self.act(self.plans.popleft(), plug_in, shown)

    def returned(self, *shown: Any) -> None:
        """The call is about to end."""
        self.open = [one for one in self.open if not any(one is closed for closed in shown)]

    def act(self, plan: str, plug_in: Any, shown: tuple[Any, ...]) -> None:
        """Do something within a call that a plug-in need not be prepared for."""
        if plan == "collect":
            gc.collect()
        elif plan == "drop the owners":
            self.owners.clear()
            gc.collect()
        elif plan == "look from another thread":
            found: list[str] = []
            for one in shown:
                look = LOOKS[type(one).__name__][0]
                thread = threading.Thread(target=lambda x=one, f=look: found.append(refusal(f, x)))
                thread.start()
                thread.join(timeout=30)
            assert found == ["in the thread"] * len(shown)
        else:
            self.run_itself(plug_in)

    def run_itself(self, plug_in: Any) -> None:
        """Run the plug-in anew inside of its own call."""
        seam = "placement" if isinstance(plug_in, gs.Placement) else "policy"
        self.is_nested = True
        self.around, self.open = self.open, []
        try:
            made = gs.simulate(trace(5, seed=9), CLUSTER, **{seam: plug_in})
        except ValueError as error:
            if not (isinstance(plug_in, gs.Scheduler) and "one run at a time" in str(error)):
                raise
        else:
            assert not isinstance(plug_in, gs.Scheduler)
            twin = gs.simulate(trace(5, seed=9), CLUSTER, **{seam: twin_of(plug_in)})
            assert made.digest == twin.digest
        finally:
            self.is_nested, self.open, self.around = False, self.around, []


def refusal(look: Callable[[Any], Any], shown: Any) -> str:
    """Return which of the two refusals comes of a look."""
    try:
        found = look(shown)
    except ValueError as error:
        words = [w for w in ("during the call", "in the thread") if w in str(error)]
        return words[0] if words else str(error)
    return f"found {found!r}"


class KeepingOrder(ShortestFirst):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def rank(self, view: Any, jobs: Any) -> Any:
        self.world.called(self, view)
        keys = super().rank(view, jobs)
        self.world.returned(view)
        return keys


class KeepingPlacement(FirstFit):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def place(self, free: Any, request: Any) -> Any:
        self.world.called(self, free)
        pieces = super().place(free, request)
        self.world.returned(free)
        return pieces


class KeepingScheduler(Strict):
    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world

    def begin(self, state: Any) -> None:
        self.world.called(self, state)
        self.world.returned(state)

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.world.called(self, state, actions)
        super().decide(state, finished, arrived, actions)
        self.world.returned(state, actions)


def twin_of(plug_in: Any) -> str:
    """Return the registered name that decides as a plug-in of this module does."""
    twins = {gs.Placement: "first-fit", gs.Order: "sjf", gs.Scheduler: "fifo"}
    return next(name for seam, name in twins.items() if isinstance(plug_in, seam))
