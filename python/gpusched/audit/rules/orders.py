"""The queues of policies, as their documentation has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.orders import ORDER_RULES, Key, OrderRule, attained_us, remaining_us
from gpusched.base.arrays import AnyArray, Float64, Int64

Given = Mapping[str, str]
Keys = tuple[AnyArray, ...] | None

_LAST = 2**62


def _of_job(column: Callable[[Case], AnyArray | None]) -> Key:
    """Make a key of what jobs have."""

    def key(case: Case, given: Given) -> Keys:
        values = column(case)
        return None if values is None else (values[case.job],)

    return key


def _submit(case: Case) -> Int64:
    return case.trace.submit_us


def _gpus(case: Case) -> Int64:
    return case.trace.gpus.astype(np.int64)


def _predicted(case: Case) -> Int64 | None:
    return case.predicted_us


def _gpu_time(case: Case) -> Float64 | None:
    predicted = case.predicted_us
    return None if predicted is None else _gpus(case).astype(np.float64) * predicted


def _per_weight(case: Case) -> Float64 | None:
    predicted, weight = case.predicted_us, case.trace.weight
    return None if predicted is None else predicted / (1.0 if weight is None else weight)


def _lot(case: Case) -> Float64:
    """A number drawn once per job."""
    word = np.full(len(case.trace), case.spec.seed, np.uint64)
    step = np.uint64(0x9E3779B97F4A7C15)
    parts = (np.uint64(1), np.arange(len(word), dtype=np.uint64), np.uint64(0))
    with np.errstate(over="ignore"):
        word = _mixed(word + step)
        for part in parts:
            word = _mixed(word + part * step + step)
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mixed(word: AnyArray) -> AnyArray:
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: AnyArray = word ^ (word >> np.uint64(31))
    return mixed


def _on_fixed(column: Callable[[Case], AnyArray | None]) -> Key:
    """Make a key that is of jobs' services where run times are fixed, and else not known."""
    of_job = _of_job(column)
    return lambda case, given: of_job(case, given) if case.flags.is_steady else None


def _remaining(case: Case, given: Given) -> Keys:
    left = remaining_us(case)
    return None if left is None else (left,)


def _remaining_gpu_time(case: Case, given: Given) -> Keys:
    left = remaining_us(case)
    if left is None:
        return None
    return (case.trace.gpus[case.job].astype(np.float64) * left.astype(np.float64),)


def _attained(case: Case, given: Given) -> Keys:
    return (attained_us(case),)


def _deadline(case: Case, given: Given) -> Keys:
    deadline = case.trace.deadline_us
    if deadline is None:
        return (np.full(len(case.job), _LAST),)
    return (np.where(deadline < 0, _LAST, deadline)[case.job],)


def _laxity(case: Case, given: Given) -> Keys:
    """Of two jobs at one moment, that moment makes no difference."""
    left, due = remaining_us(case), _deadline(case, given)
    if left is None or due is None:
        return None
    return (np.where(due[0] < _LAST, due[0] - left, due[0]),)


def _queue(case: Case, given: Given) -> Keys:
    preset = given.get("preset", "tiresias")
    inside = "running" if preset == "tiresias-artefact" else "submit"
    if given.get("inside", inside) != "submit" or float(given.get("promote", "0")) > 0:
        return None
    is_lucid = preset == "lucid"
    limits = given.get("limits", "18000" if is_lucid else "3250/7200").split("/")
    beyond = given.get("sink", "passed" if is_lucid else "reached") == "passed"
    limits_us = sorted(round(float(limit) * 1e6) + beyond for limit in limits)
    gpu_time = case.trace.gpus[case.job] * attained_us(case)
    queue = np.searchsorted(np.array(limits_us), gpu_time, side="right")
    return queue, case.trace.submit_us[case.job]


def _list(key: Key, scan: str = "skip") -> OrderRule:
    return OrderRule(key, scan=scan)


def _preemptive(key: Key, **more: float) -> OrderRule:
    return OrderRule(key, is_preemptive=True, **more)  # type: ignore[arg-type]


_RULES = {
    "fifo": OrderRule(_of_job(_submit), head_first=True, scan="strict"),
    "sjf": _list(_of_job(_predicted)),
    "sgf": _list(_of_job(_gpus)),
    "swf": _list(_of_job(_gpu_time)),
    "wspt": _list(_of_job(_per_weight)),
    "random": _list(_of_job(_lot)),
    "spjf": _list(_on_fixed(_predicted), "strict"),
    "spwf": _list(_on_fixed(_gpu_time), "strict"),
    "easy": OrderRule(head_first=True, scan=""),
    "srtf": _preemptive(_remaining),
    "srsf": _preemptive(_remaining_gpu_time),
    "las": _preemptive(_attained, period_s=60.0),
    "edf": _preemptive(_deadline),
    "llf": _preemptive(_laxity, period_s=60.0),
    "2d-las": _preemptive(_queue, period_s=60.0, has_crossings=True),
    "serverfilling-srpt": _preemptive(_remaining_gpu_time, may_idle_in_pool=True),
}
for _name, _rule in _RULES.items():
    ORDER_RULES.register(_name)(_rule)
