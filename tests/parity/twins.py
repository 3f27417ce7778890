"""Native plug-ins written once more in Python, by the rules of the documentation alone."""

from typing import Any

import numpy as np

import gpusched as gs
from gpusched.reference import placements, rng


class FirstCome(gs.Order):
    """``fifo``."""

    scan = "strict"

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.submit_us[jobs]


class FirstComeSkip(FirstCome):
    """``fifo-skip``."""

    scan = "skip"


class ShortestJob(gs.Order):
    """``sjf``."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.predicted_us[jobs]


class SmallestGang(gs.Order):
    """``sgf``."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs]


class SmallestWork(gs.Order):
    """``swf``."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs].astype(float) * view.predicted_us[jobs].astype(float)


class ServicePerWeight(gs.Order):
    """``wspt``."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.predicted_us[jobs] / view.weight[jobs]


class Lots(gs.Order):
    """``random``."""

    def rank(self, view: Any, jobs: Any) -> Any:
        return [rng.uniform(rng.draw(view.seed, "order", job, 0)) for job in jobs.tolist()]


class ShortestRemaining(gs.Order):
    """``srtf``."""

    lifetime, preemptive = "service", True

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.remaining_us(jobs)


class SmallestRemaining(gs.Order):
    """``srsf``."""

    lifetime, preemptive = "service", True

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.gpus[jobs].astype(float) * view.remaining_us(jobs).astype(float)


class LeastAttained(gs.Order):
    """``las``, which decides anew each minute only where it is told to."""

    lifetime, preemptive = "service", True

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.attained_us(jobs)


class EarliestDeadline(gs.Order):
    """``edf``, where every job has a deadline."""

    preemptive = True

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.deadline_us[jobs]


class LeastLaxity(gs.Order):
    """``llf``, likewise, which decides anew each minute only where it is told to."""

    lifetime, preemptive = "clock", True

    def rank(self, view: Any, jobs: Any) -> Any:
        return view.deadline_us[jobs] - view.now_us - view.remaining_us(jobs)


class TwoQueues(gs.Order):
    """``2d-las`` with one limit, which is noticed at the next decision."""

    lifetime, preemptive = "service", True

    def __init__(self, limit_s: float = 18_000.0) -> None:
        super().__init__()
        self.limit_us = round(limit_s * 1e6)

    def rank(self, view: Any, jobs: Any) -> Any:
        # Inside a queue by submit, which is the order of job ids.
        return view.gpus[jobs] * view.attained_us(jobs) >= self.limit_us


ORDERS: dict[str, type[gs.Order]] = {
    "fifo": FirstCome,
    "fifo-skip": FirstComeSkip,
    "sjf": ShortestJob,
    "sgf": SmallestGang,
    "swf": SmallestWork,
    "wspt": ServicePerWeight,
    "random": Lots,
    "srtf": ShortestRemaining,
    "srsf": SmallestRemaining,
    "las": LeastAttained,
}


DEADLINE_ORDERS: dict[str, type[gs.Order]] = {"edf": EarliestDeadline, "llf": LeastLaxity}


class _OnServers(gs.Placement):
    """Asks ``choose`` how many GPUs of which allowed server, and takes the lowest free ones."""

    def choose(self, free: dict[int, int], gpus: int, sizes: dict[int, int]) -> Any:
        raise NotImplementedError

    def place(self, free: Any, request: Any) -> Any:
        types, counts = free.server_type.tolist(), free.free_gpus.tolist()
        allowed = [s for s, gpu_type in enumerate(types) if request.types >> gpu_type & 1]
        open_gpus = {server: counts[server] for server in allowed}
        if sum(open_gpus.values()) < request.gpus:
            return None
        sizes = free.server_gpus.tolist()
        chosen = self.choose(open_gpus, request.gpus, {server: sizes[server] for server in allowed})
        if chosen is None:
            return None
        return [(s, free.lowest_free(s, count)) for s, count in sorted(chosen.items()) if count]


class FirstFit(_OnServers):
    """``first-fit``."""

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.first_fit(free, gpus)


class BestFit(_OnServers):
    """``best-fit``."""

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.best_fit(free, gpus)


class WorstFit(_OnServers):
    """``worst-fit``."""

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.worst_fit(free, gpus)


class Spread(_OnServers):
    """``spread``."""

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.spread(free, gpus)


class Consolidated(_OnServers):
    """``consolidated``."""

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.consolidated(free, gpus, sizes)


class ConsolidatedRelaxed(_OnServers):
    """``consolidated-relaxed``."""

    def __init__(self, kappa: float = 2.0) -> None:
        super().__init__()
        self.kappa = kappa

    def choose(self, free: Any, gpus: int, sizes: Any) -> Any:
        return placements.consolidated_relaxed(free, gpus, sizes, self.kappa)


class RandomGpus(gs.Placement):
    """``random``."""

    def begin(self, seed: int) -> None:
        self.seed = seed

    def place(self, free: Any, request: Any) -> Any:
        left = [
            (server, gpu)
            for server, (count, gpu_type) in enumerate(
                zip(free.free_gpus.tolist(), free.server_type.tolist(), strict=True)
            )
            if request.types >> gpu_type & 1
            for gpu in range(64)
            if free.lowest_free(server, count) >> gpu & 1
        ]
        if len(left) < request.gpus:
            return None
        chosen: dict[int, int] = {}
        for i in range(request.gpus):
            counter = 1_000_003 * request.preemptions + i
            bits = rng.draw(self.seed, "placement", request.job, counter)
            server, gpu = left.pop(rng.below(bits, len(left)))
            chosen[server] = chosen.get(server, 0) | 1 << gpu
        return sorted(chosen.items())


PLACEMENTS: dict[str, type[gs.Placement]] = {
    "first-fit": FirstFit,
    "best-fit": BestFit,
    "worst-fit": WorstFit,
    "spread": Spread,
    "consolidated": Consolidated,
    "consolidated-relaxed": ConsolidatedRelaxed,
    "random": RandomGpus,
}


class StrictScheduler(gs.Scheduler):
    """``fifo``."""

    is_strict = True

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in state.waiting.tolist():
            allocation = state.place(job)
            if allocation is not None:
                actions.start(job, allocation)
            elif self.is_strict:
                return


class SkipScheduler(StrictScheduler):
    """``fifo-skip``."""

    is_strict = False


class PooledSrtf(gs.Scheduler):
    """``srtf`` on one pool of GPUs: whoever is not among the chosen stops."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        running = state.running.tolist()
        jobs = np.concatenate([state.waiting, state.running])
        keys = state.remaining_us(jobs).tolist()
        budget, chosen = state.num_gpus, []
        for _, job in sorted(zip(keys, jobs.tolist(), strict=True)):
            if state.gpus[job] <= budget:
                budget -= int(state.gpus[job])
                chosen.append(job)
        for job in running:
            if job not in chosen:
                actions.preempt(job)
        for job in chosen:
            if job not in running:
                actions.start(job, state.place(job))


class PreemptiveScheduler(gs.Scheduler):
    """The five steps of a preemptive decision, on servers; by remaining service: ``srtf``."""

    def keys(self, state: Any, jobs: Any) -> Any:
        return state.remaining_us(jobs)

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        running = set(state.running.tolist())
        jobs = np.concatenate([state.waiting, state.running])
        keys = self.keys(state, jobs).tolist()
        in_order = [job for _, job in sorted(zip(keys, jobs.tolist(), strict=True))]

        budget, chosen = state.num_gpus, set()
        for job in in_order:
            if state.gpus[job] <= budget:
                budget -= int(state.gpus[job])
                chosen.add(job)
        makes_room = [job for job in in_order if job in running - chosen]
        for job in makes_room:
            actions.suspend(job)
        for job in in_order:
            if job in chosen - running:
                self.try_to_start(state, actions, job)
        for job in makes_room:
            if not actions.restore(job):
                actions.preempt(job)
        for job in in_order:
            if job not in chosen | running:
                self.try_to_start(state, actions, job)

    def try_to_start(self, state: Any, actions: Any, job: int) -> None:
        allocation = state.place(job)
        if allocation is not None:
            actions.start(job, allocation)


class TurnScheduler(PreemptiveScheduler):
    """``las``: by attained service, decided anew at each multiple of the period in need."""

    def __init__(self, period_s: float = 60.0) -> None:
        super().__init__()
        self.period_us = round(period_s * 1e6)

    def keys(self, state: Any, jobs: Any) -> Any:
        return state.attained_us(jobs)

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        super().decide(state, finished, arrived, actions)
        if len(state.waiting):
            actions.wake((state.now_us // self.period_us + 1) * self.period_us)
