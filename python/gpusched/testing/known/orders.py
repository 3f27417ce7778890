"""Keys of an order of Python: what they depend on, and how long they last."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from gpusched import _core
from gpusched.base.ticks import US_PER_S
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law


def _is_order(case: Case) -> bool:
    return case.policy.info.kind == "order" and case.policy.object() is not None


class _KeyProbe(_core.Scheduler):
    """Runs the jobs in the order's sequence, and looks at all keys at each instant and between."""

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
                self.faults["asked"].append(f"asked twice {at}, job {job} has keys {key}, {other}")
            kept = self.first.setdefault(job, key) if lifetime == "fixed" else None
            kept = self.waited.get(job) if lifetime == "service" else kept
            if kept is not None and kept != key:
                self.faults["lifetime"].append(
                    f"the key of job {job} is {key} {at}; it was {kept}, and its lifetime is "
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


def _faults(case: Case, kind: str) -> Faults:
    probe = _KeyProbe(case.policy.object())
    case.simulate(policy=probe)
    yield from probe.faults[kind]


@law(
    "key-lifetime",
    "A key changes no more than its lifetime says: never, or only while the job runs.",
    of=("policy",),
    when=_is_order,
    rank=36,
)
def _key_lifetime(case: Case) -> Faults:
    yield from _faults(case, "lifetime")


@law(
    "key-of-its-own",
    "A key does not depend on which jobs are asked about together, nor in what sequence.",
    of=("policy",),
    when=_is_order,
    rank=37,
)
def _key_of_its_own(case: Case) -> Faults:
    yield from _faults(case, "alone")


@law(
    "asking-is-free",
    "To ask for keys changes none.",
    of=("policy",),
    when=_is_order,
    rank=38,
)
def _asking_is_free(case: Case) -> Faults:
    yield from _faults(case, "asked")
