"""What a placement answers, asked at every instant about every job that waits."""

from __future__ import annotations

from typing import Any

from gpusched import _core
from gpusched.base.ticks import US_PER_S
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law

_PIECES = list[tuple[int, int]]


class _PlacementProbe(_core.Scheduler):
    """Starts some of the jobs that are accepted, and compares the answers."""

    flags = ("non-preemptive",)
    spec_key = "answers"

    def __init__(self, case: Case) -> None:
        super().__init__()
        allowed = case.trace.allowed_types or [()] * len(case.trace)
        gpus = case.trace.gpus.tolist()
        self.kinds = list(zip(gpus, allowed, strict=True))
        self.sizes = case.cluster.server_gpus.tolist()
        self.types = [case.cluster.gpu_types[i] for i in case.cluster.server_type.tolist()]
        self.faults: dict[str, list[str]] = {
            name: [] for name in ("answer", "kind", "refused", "asked", "empty")
        }
        self.held: dict[int, _PIECES] = {}
        self.refused: set[Any] = set()
        self.num_decisions = 0

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.num_decisions += 1
        for job in finished.tolist():
            self.held.pop(job, None)
        if len(finished):
            self.refused = set()
        at = f"at {state.now_us / US_PER_S:g} s"
        answers: dict[Any, tuple[int, bool]] = {}
        for job in state.waiting.tolist():
            answer = self._ask(state, job, at)
            kind = self.kinds[job]
            other, was_accepted = answers.setdefault(kind, (job, answer is not None))
            if was_accepted != (answer is not None):
                self.faults["kind"].append(
                    f"jobs {other} and {job} are alike, and {at} only one fits"
                )
            if answer is None:
                self._refuse(state, job, kind, at)
                continue
            if kind in self.refused:
                self.faults["refused"].append(
                    f"job {job} is accepted {at}; its like was refused, and no GPU came free since"
                )
            if not len(state.running) or (job + self.num_decisions) % 3:
                actions.start(job, answer)
                self.held[job] = answer.pieces
                answers = {}  # fewer GPUs are free now
        if len(state.running):
            actions.wake(state.now_us + US_PER_S)

    def _refuse(self, state: Any, job: int, kind: Any, at: str) -> None:
        self.refused.add(kind)
        if not len(state.running):
            self.faults["empty"].append(f"job {job} is refused {at}, when the cluster is empty")

    def _ask(self, state: Any, job: int, at: str) -> Any:
        answer, again = state.place(job), state.place(job)
        told, told_again = (None if of is None else (of.pieces, of.ranks) for of in (answer, again))
        if told != told_again:
            self.faults["asked"].append(f"job {job}, asked twice {at}: {told} and {told_again}")
        if answer is not None:
            fault = self._fault(state, job, answer)
            if fault:
                self.faults["answer"].append(f"job {job} {at}: {fault}")
        return answer

    def _fault(self, state: Any, job: int, answer: Any) -> str | None:
        gpus, allowed = self.kinds[job]
        if answer.gpus != gpus or gpus > state.num_free:
            return f"{answer.gpus} GPUs of {state.num_free} for a gang of {gpus}"
        if not answer.pieces:  # of a pool
            return None
        taken = [0] * len(self.sizes)
        for pieces in self.held.values():
            for server, mask in pieces:
                taken[server] |= mask
        for server, mask in answer.pieces:
            if mask & taken[server] or mask >> self.sizes[server]:
                return f"GPUs {mask:#b} of server {server} are not all free"
            if allowed and self.types[server] not in allowed:
                return f"{self.types[server]} is none of {allowed}"
        total = sum(mask.bit_count() for _, mask in answer.pieces)
        return None if total == gpus else f"{total} GPUs for a gang of {gpus}"


def _faults(case: Case, kind: str) -> Faults:
    probe = _PlacementProbe(case)
    case.simulate(policy=probe)
    yield from probe.faults[kind]


@law(
    "whole-answers",
    "An answer is the whole gang, on GPUs that are free and of an allowed type.",
    of=("placement",),
    rank=32,
)
def _whole_answers(case: Case) -> Faults:
    yield from _faults(case, "answer")


@law(
    "alike-jobs",
    "Of two jobs of one width and the same types both are accepted, or neither.",
    of=("placement",),
    rank=33,
)
def _alike_jobs(case: Case) -> Faults:
    yield from _faults(case, "kind")


@law(
    "stays-refused",
    "What was refused stays refused until GPUs are released.",
    of=("placement",),
    rank=34,
)
def _stays_refused(case: Case) -> Faults:
    yield from _faults(case, "refused")


@law("repeated-answers", "The same question twice has the same answer.", of=("placement",), rank=35)
def _repeated_answers(case: Case) -> Faults:
    yield from _faults(case, "asked")


@law(
    "empty-cluster",
    "What an empty cluster can hold before the run, it holds whenever it is empty.",
    of=("placement",),
    rank=35,
)
def _empty_cluster(case: Case) -> Faults:
    yield from _faults(case, "empty")
