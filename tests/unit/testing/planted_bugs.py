"""Policies and placements with a mistake each, of the kinds that people make."""

from typing import Any, ClassVar

import gpusched as gs


class DoubleBooking(gs.Placement):
    """Looks at how many GPUs a server has, and not at how many are free."""

    def place(self, free: Any, request: Any) -> Any:
        types = free.server_type.tolist()
        for server, gpus in enumerate(free.server_gpus.tolist()):
            if gpus >= request.gpus and request.types >> types[server] & 1:
                return [(server, (1 << request.gpus) - 1)]
        return None


class SecretClock(gs.Order):
    """Its key grows with the time that a job has waited, and it says that keys are fixed."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        waited_s = (view.now_us - view.submit_us[jobs]) / 1e6
        return view.gpus[jobs] - waited_s


class FirstAskedFirst(gs.Order):
    """Numbers jobs in a dictionary as it is asked about them, so that it matters who is first."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[int, int] = {}

    def rank(self, view: Any, jobs: Any) -> Any:
        return [self.seen.setdefault(job, len(self.seen)) for job in jobs.tolist()]


class ByAddress(gs.Order):
    """Breaks ties by where objects happen to lie in memory."""

    def rank(self, view: Any, jobs: Any) -> Any:
        lists = [[job] for job in jobs.tolist()]
        return [id(of) for of in lists]


class Forgetful(gs.Scheduler):
    """Remembers who waits by itself, and loses those who do not fit when they arrive."""

    flags = ("non-preemptive",)

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in arrived.tolist():
            if (allocation := state.place(job)) is not None:
                actions.start(job, allocation)


class SharedMemory(gs.Scheduler):
    """Keeps how often each width was served in an attribute of the class."""

    flags = ("non-preemptive",)
    served: ClassVar[dict[int, int]] = {}

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        jobs = sorted(
            state.waiting.tolist(), key=lambda job: (self.served.get(int(state.gpus[job]), 0), job)
        )
        for job in jobs:
            if (allocation := state.place(job)) is not None:
                actions.start(job, allocation)
                width = int(state.gpus[job])
                self.served[width] = self.served.get(width, 0) + 1


class Impatient(gs.Scheduler):
    """Is said not to preempt, and takes GPUs back for a job that is shorter than one that runs."""

    flags = ("non-preemptive",)

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in arrived.tolist():
            for other in state.running.tolist():
                if state.predicted_us[job] < state.predicted_us[other] // 2:
                    actions.preempt(other)
        for job in sorted(state.waiting.tolist(), key=lambda job: int(state.predicted_us[job])):
            if (allocation := self._place(state, job)) is not None:
                actions.start(job, allocation)

    def _place(self, state: Any, job: int) -> Any:
        return (
            state.place(job) if state.attained_us([job])[0] == 0 or not len(state.running) else None
        )


class InTheOrderOfNumbers(gs.Scheduler):
    """Looks only behind the last job that it started, as if none were released later."""

    flags = ("non-preemptive",)

    def begin(self, state: Any) -> None:
        self.next = 0

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in state.waiting.tolist():
            if job < self.next:
                continue
            allocation = state.place(job)
            if allocation is None:
                return
            actions.start(job, allocation)
            self.next = job + 1


POLICIES = (
    SecretClock, FirstAskedFirst, ByAddress, Forgetful, SharedMemory, Impatient,
    InTheOrderOfNumbers,
)  # fmt: skip
PLACEMENTS = (DoubleBooking,)
