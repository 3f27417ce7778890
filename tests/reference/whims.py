"""Schedulers that act at random, so that every action of an engine meets every other.

What they want is a function of the seed, the instant and what an engine shows of itself: two
engines that are equal are asked for the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpusched.reference.cluster import Cluster
from gpusched.reference.engine import Engine
from gpusched.reference.lists import NonPreemptive
from gpusched.reference.model import Active, Allocation, Job
from tests.reference.reallocation import Part, Reallocation, parts_of

Choices = Mapping[int, Sequence[list[Part]]]
"""For each job the parts that it can run on."""

Deed = tuple[str, int, Allocation]
"""What to do, with which job, and on which GPUs."""


def random_plan(
    rng: random.Random,
    active: Iterable[int],
    held: Mapping[int, list[Part]],
    choices: Choices,
    type_gpus: Sequence[int],
) -> list[tuple[int, list[Part]]]:
    """Return what each job shall hold; mostly no more than there is, so that it often fits."""
    left = list(type_gpus)
    wanted = []
    for job in rng.sample(sorted(active), len(list(active))):
        keeps = job in held and rng.random() < 0.8
        parts = held[job] if keeps else drawn(rng, choices[job])
        is_over = any(gpus > left[gpu_type] for gpu_type, gpus in parts)
        if rng.random() < (0.95 if is_over else 0.1):
            continue
        for gpu_type, gpus in parts:
            left[gpu_type] -= gpus
        wanted.append((job, parts))
    return wanted


def drawn(rng: random.Random, choices: Sequence[list[Part]]) -> list[Part]:
    """Return one of the choices, more often than not of a single type."""
    simple = [parts for parts in choices if len(parts) == 1]
    return rng.choice(simple if simple and rng.random() < 0.7 else choices)


class Hands:
    """Deals GPUs out one by one; knows who holds what, as an engine does not tell everybody."""

    def __init__(self, cluster: Cluster, choices: Choices) -> None:
        self.cluster = cluster
        self.choices = choices
        self.held: dict[int, Allocation] = {}

    def deeds(
        self, rng: random.Random, finished: Iterable[int], active: Iterable[int]
    ) -> list[Deed]:
        """Return what to do next, all of it allowed."""
        for job in finished:
            del self.held[job]
        done: list[Deed] = []
        suspended = [job for job in sorted(self.held) if rng.random() < 0.2]
        done += [("suspend", job, {}) for job in suspended]
        for job in rng.sample(sorted(active), len(list(active))):
            done += self.deed(rng, job, suspended)
        for job in suspended:  # nobody took them back
            del self.held[job]
        return done

    def deed(self, rng: random.Random, job: int, suspended: list[int]) -> list[Deed]:
        """Return what to do with one job, if anything."""
        own = self.held.get(job)
        if own is None:
            allocation = self.hand(rng, job, suspended) if rng.random() < 0.8 else None
            if allocation is None:
                return []
            self.held[job] = allocation
            return [("start", job, allocation)]
        if job in suspended:
            free = self.free(suspended)
            if rng.random() < 0.4 and all(mask & ~free[s] == 0 for s, mask in own.items()):
                suspended.remove(job)
                return [("restore", job, {})]
        elif rng.random() < 0.6:
            return []
        elif rng.random() < 0.2:
            del self.held[job]
            return [("preempt", job, {})]
        allocation = self.hand(rng, job, [*suspended, job])
        if allocation is None or allocation == own or rng.random() < 0.2:
            return []
        if job in suspended:
            suspended.remove(job)
        self.held[job] = allocation
        return [("resize", job, allocation)]

    def free(self, but: Sequence[int]) -> Allocation:
        """Return the GPUs that no job holds but these."""
        free = self.cluster.all_free()
        for job, allocation in self.held.items():
            for server, mask in allocation.items():
                free[server] &= ~(0 if job in but else mask)
        return free

    def hand(self, rng: random.Random, job: int, but: Sequence[int]) -> Allocation | None:
        """Return GPUs drawn out of the free ones and those of some jobs, or None."""
        free = self.free(but)
        chosen: Allocation = {}
        for gpu_type, gpus in drawn(rng, self.choices[job]):
            name = self.cluster.gpu_types[gpu_type]
            of_type = [
                (server, gpu)
                for server, mask in free.items()
                for gpu in range(mask.bit_length())
                if mask >> gpu & 1 and self.cluster.types[server] == name
            ]
            if len(of_type) < gpus:
                return None
            for server, gpu in rng.sample(of_type, gpus):
                chosen[server] = chosen.get(server, 0) | 1 << gpu
        return dict(sorted(chosen.items()))


def choices_of(
    jobs: Iterable[Active], cluster: Cluster, can_run: Any, is_elastic: bool
) -> dict[int, list[list[Part]]]:
    """Return for each job the parts that it can run on, of one type or of two."""
    type_gpus = gpus_by_type(cluster)
    choices = {}
    for job in jobs:
        types = cluster.allowed_types(job.job)
        own = range(job.gpus, job.gpus + 1)
        widths = range(job.job.min_gpus, (job.job.max_gpus or cluster.num_gpus) + 1)
        found = []
        for width in widths if is_elastic else own:
            splits = [[(t, width)] for t in types]
            splits += [
                [(t, part), (u, width - part)]
                for t in types
                for u in types
                if t < u
                for part in range(1, width)
            ]
            fitting = [s for s in splits if all(gpus <= type_gpus[t] for t, gpus in s)]
            found += [s for s in fitting if can_run(job, s)]
        choices[job.id] = found
    return choices


def gpus_by_type(cluster: Cluster) -> list[int]:
    """Return the GPUs of each type."""
    return [cluster.gpus_of(name) for name in cluster.gpu_types]


class Whim(NonPreemptive):
    """Draws at every event, and some time later as long as there are jobs."""

    def __init__(self, seed: int, unit: int) -> None:
        self.seed = seed
        self.unit = unit
        self.seen: list[Any] = []

    def cost(self, job: Job, gpus: int) -> int:
        """Return the job's own cost."""
        return job.checkpoint_us + job.restart_us

    def rng(self, now: int) -> random.Random:
        """Return what draws at an instant."""
        return random.Random(f"{self.seed} {now}")

    def wake(self, engine: Engine) -> int | None:
        """Return some instant ahead."""
        return later(self.seed, engine.now, self.unit) if engine.active else None

    def see(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Note what the engine shows of itself."""
        now = engine.now
        self.seen.append(
            (
                now,
                [job.id for job in finished],
                [job.id for job in arrived],
                [(job.id, job.remaining(now), job.attained(now)) for job in engine.active],
                [parts_of(engine.cluster, job.allocation or {}) for job in engine.running],
            )
        )


def later(seed: int, now: int, unit: int) -> int:
    """Return the next instant to draw at."""
    return now + random.Random(f"later {seed} {now}").randrange(1, 6 * unit + 1)


class Replanned(Whim):
    """A random plan, through the reallocation layer."""

    def __init__(self, seed: int, unit: int, choices: Choices) -> None:
        super().__init__(seed, unit)
        self.choices = choices

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Draw a plan and apply it."""
        self.see(engine, finished, arrived)
        held = {job.id: parts_of(engine.cluster, job.allocation or {}) for job in engine.running}
        active = [job.id for job in engine.active]
        rng = self.rng(engine.now)
        plan = random_plan(rng, active, held, self.choices, gpus_by_type(engine.cluster))
        wanted = [(engine.jobs[job], parts) for job, parts in plan]
        refused = Reallocation(engine).apply(wanted)
        self.seen.append([job.id for job in refused])


class Dealt(Whim):
    """Random GPUs, by actions one after the other."""

    def __init__(self, seed: int, unit: int, hands: Hands) -> None:
        super().__init__(seed, unit)
        self.hands = hands

    def decide(self, engine: Engine, finished: list[Active], arrived: list[Active]) -> None:
        """Draw deeds and do them."""
        self.see(engine, finished, arrived)
        ended = [job.id for job in finished]
        for name, number, allocation in self.hands.deeds(
            self.rng(engine.now), ended, [job.id for job in engine.active]
        ):
            job = engine.jobs[number]
            if name in ("start", "resize"):
                getattr(engine, name)(job, allocation, [])
            elif name == "restore":
                assert engine.restore(job)
            else:
                getattr(engine, name)(job)
