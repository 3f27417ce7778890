"""The answers of an order and a placement, for every waiting job at every instant."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from gpusched import _core
from gpusched.base.ticks import US_PER_S
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law


def _is_order(case: Case) -> bool:
    return case.policy.info.kind == "order" and case.policy.object() is not None


class _KeyProbe(_core.Scheduler):
    """Runs the jobs in the order's sequence, and checks all keys at each instant and between."""

    flags = ("preemptive",)
    spec_key = "keys"

    def __init__(self, order: Any) -> None:
        super().__init__()
        self.order = order
        self.faults: dict[str, list[str]] = {"lifetime": [], "alone": [], "asked": []}
        self.first: dict[int, float] = {}
        self.waited: dict[int, float] = {}  # keys of jobs that have waited since

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        waiting, running = state.waiting, state.running
        jobs = np.concatenate([waiting, running])
        if not len(jobs):
            return
        before = copy.deepcopy(self.order)
        keys = self._keys(state, jobs)
        self._judge(state, jobs, keys, before)
        ranked = jobs[np.lexsort((jobs, np.array(keys)))].tolist()
        left, chosen = state.num_gpus, []
        for job in ranked:
            if state.gpus[job] <= left:
                left -= int(state.gpus[job])
                chosen.append(job)
        if self.order_preempts():
            for job in running.tolist():
                if job not in chosen:
                    actions.preempt(job)
        for job in chosen:
            if job in waiting and (allocation := state.place(job)) is not None:
                actions.start(job, allocation)
        known = dict(zip(jobs.tolist(), keys, strict=True))
        self.waited = {job: known[job] for job in state.waiting.tolist()}
        if len(state.running):
            actions.wake(state.now_us + US_PER_S)

    def order_preempts(self) -> bool:
        return bool(getattr(self.order, "preemptive", False))

    def _keys(self, state: Any, jobs: Any, order: Any = None) -> list[float]:
        asked = self.order if order is None else copy.deepcopy(order)
        keys: list[float] = np.asarray(asked.rank(state, jobs), dtype=float).tolist()
        return keys

    def _judge(self, state: Any, jobs: Any, keys: list[float], before: Any) -> None:
        at = f"at {state.now_us / US_PER_S:g} s"
        lifetime = self.order.lifetime
        again = self._keys(state, jobs)
        for job, key, other in zip(jobs.tolist(), keys, again, strict=True):
            if key != other:
                self.faults["asked"].append(f"job {job}, asked twice {at}: keys {key} and {other}")
            kept = self.first.setdefault(job, key) if lifetime == "fixed" else None
            kept = self.waited.get(job) if lifetime == "service" else kept
            if kept is not None and kept != key:
                self.faults["lifetime"].append(
                    f"the key of job {job} is {key} {at}; it was {kept}, but its lifetime is "
                    f'"{lifetime}"'
                )
        backwards = self._keys(state, jobs[::-1], before)[::-1]
        for i, (job, key) in enumerate(zip(jobs.tolist(), keys, strict=True)):
            (alone,) = self._keys(state, jobs[i : i + 1], before)
            for how, other in (("alone", alone), ("in another sequence", backwards[i])):
                if other != key:
                    self.faults["alone"].append(
                        f"{at} the key of job {job} is {key} among {len(jobs)} jobs, and {other} "
                        f"asked {how}"
                    )


def _key_faults(kind: str, case: Case) -> Faults:
    probe = _KeyProbe(case.policy.object())
    # The probe keeps more than the state.
    case.simulate(policy=probe, outages=None, trace=case.uncancelled)
    yield from probe.faults[kind]


for _name, _kind, _rank, _sentence in (
    ("key-lifetime", "lifetime", 36,
     "A key changes only as its lifetime allows: never, or only while the job runs."),
    ("key-of-its-own", "alone", 37,
     "A key does not depend on which other jobs are asked about, nor on their sequence."),
    ("asking-is-free", "asked", 38, "Asking for keys does not change them."),
):  # fmt: skip
    law(_name, _sentence, of=("policy",), when=_is_order, rank=_rank)(partial(_key_faults, _kind))


_PIECES = list[tuple[int, int]]


class _PlacementProbe(_core.Scheduler):
    """Starts some of the accepted jobs, and compares the answers."""

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
                    f"jobs {other} and {job} are alike, but only one fits {at}"
                )
            if answer is None:
                self._refuse(state, job, kind, at)
                continue
            if kind in self.refused:
                self.faults["refused"].append(
                    f"job {job} is accepted {at}; a like job was refused, no GPU was freed since"
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
            self.faults["empty"].append(f"job {job} is refused {at} on an empty cluster")

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
            return f"{answer.gpus} GPUs of {state.num_free} for a job of {gpus}"
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
                return f"{self.types[server]} is not one of {allowed}"
        total = sum(mask.bit_count() for _, mask in answer.pieces)
        return None if total == gpus else f"{total} GPUs for a job of {gpus}"


def _answers(kind: str, case: Case) -> Faults:
    probe = _PlacementProbe(case)
    # The probe keeps more than the state.
    case.simulate(policy=probe, outages=None, trace=case.uncancelled)
    yield from probe.faults[kind]


for _name, _kind, _rank, _sentence in (
    ("whole-answers", "answer", 32,
     "An answer covers the whole job, on GPUs that are free and of an allowed type."),
    ("alike-jobs", "kind", 33,
     "Of two jobs with the same number of GPUs and types both are accepted, or neither."),
    ("stays-refused", "refused", 34, "A refused job stays refused until GPUs are released."),
    ("repeated-answers", "asked", 35, "The same question has the same answer each time."),
    ("empty-cluster", "empty", 35,
     "A job that fits the empty cluster before the run fits whenever the cluster is empty."),
):  # fmt: skip
    law(_name, _sentence, of=("placement",), rank=_rank)(partial(_answers, _kind))
