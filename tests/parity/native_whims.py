"""The whims of the reference as schedulers of the core: they draw the same from what it shows."""

import random
from typing import Any

import numpy as np

import gpusched as gs
from gpusched._core import Allocation
from tests.reference.elastic_cases import ElasticCase
from tests.reference.whims import Choices, Hands, later, random_plan


class NativeWhim(gs.Scheduler):
    """Draws as a whim of the reference does, and notes what the core shows."""

    def __init__(self, case: ElasticCase) -> None:
        super().__init__()
        self.seed, self.unit = case.seed, case.unit
        self.seen: list[Any] = []

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        now, running = state.now_us, state.running.tolist()
        active = sorted([*state.waiting.tolist(), *running])
        ids = np.array(active, dtype=np.int64)
        left, attained = state.remaining_us(ids).tolist(), state.attained_us(ids).tolist()
        self.seen.append(
            (
                now,
                finished.tolist(),
                arrived.tolist(),
                list(zip(active, left, attained, strict=True)),
                [state.parts_of(job) for job in running],
            )
        )
        self.act(random.Random(f"{self.seed} {now}"), state, finished.tolist(), active, actions)
        if active:
            actions.wake(later(self.seed, now, self.unit))

    def withdraw(self, job: int) -> bool:
        return True  # it keeps nothing of jobs that wait

    def act(
        self, rng: random.Random, state: Any, finished: list[int], active: list[int], actions: Any
    ) -> None:
        raise NotImplementedError


class NativeReplanned(NativeWhim):
    def __init__(self, case: ElasticCase) -> None:
        super().__init__(case)
        self.choices: Choices = case.choices

    def act(
        self, rng: random.Random, state: Any, finished: list[int], active: list[int], actions: Any
    ) -> None:
        held = {job: state.parts_of(job) for job in state.running.tolist()}
        type_gpus = state.type_gpus.tolist()
        plan = random_plan(rng, active, held, self.choices, type_gpus)
        self.seen.append(self.hand_on(plan, held, actions))

    def hand_on(self, plan: list[tuple[int, Any]], held: dict[int, Any], actions: Any) -> list[int]:
        return list(actions.reallocate(plan))


class NativeChanged(NativeReplanned):
    """Names those alone whose GPUs change."""

    def hand_on(self, plan: list[tuple[int, Any]], held: dict[int, Any], actions: Any) -> list[int]:
        for job in held.keys() - dict(plan).keys():
            actions.preempt(job)
        changed = [(job, parts) for job, parts in plan if held.get(job) != parts]
        return list(actions.reallocate(changed, keep_others=True))


class NativeDealt(NativeWhim):
    def __init__(self, case: ElasticCase) -> None:
        super().__init__(case)
        self.hands = Hands(case.cluster, case.choices)

    def act(
        self, rng: random.Random, state: Any, finished: list[int], active: list[int], actions: Any
    ) -> None:
        for name, job, allocation in self.hands.deeds(rng, finished, active):
            if name in ("start", "resize"):
                gpus = sum(mask.bit_count() for mask in allocation.values())
                getattr(actions, name)(job, Allocation(gpus, list(allocation.items())))
            elif name == "restore":
                assert actions.restore(job)
            else:
                getattr(actions, name)(job)


WHIMS = {"replanned": NativeReplanned, "dealt": NativeDealt}
