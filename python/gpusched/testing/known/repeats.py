"""Repetition, and changes that must have no effect or a known one."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np

from gpusched._core import Order
from gpusched.results.result import Result
from gpusched.schedules.schedule import FINISHED, REJECTED
from gpusched.testing.cases import (
    Case,
    Columns,
    moved,
    one_more_server,
    with_columns,
    with_rows,
)
from gpusched.testing.law_registry import Faults, law
from gpusched.traces.dependencies import parsed
from gpusched.traces.workload import Trace


def _is_of_python(case: Case) -> bool:
    return case.subject.object() is not None


def _class_attributes(made: Any) -> dict[str, str]:
    """Return the class attributes of an object, except its methods."""
    return {
        f"{of.__qualname__}.{name}": repr(value)
        for of in type(made).__mro__
        if of.__module__ not in ("builtins", Order.__module__)
        for name, value in vars(of).items()
        if not (name.startswith("__") or callable(value) or isinstance(value, property))
    }


@law(
    "class-unchanged",
    "A run changes only its own object, not attributes of the class.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=39,
)
def _class_unchanged(case: Case) -> Faults:
    made = case.subject.object()
    before = _class_attributes(made)
    case.simulate(**{case.role: made})
    for name, value in _class_attributes(made).items():
        if value != before.get(name, value):
            yield f"{name} was {before[name]} and is {value}"


@law("repeats", "The same run with fresh objects has the same digest.", rank=40)
def _repeats(case: Case) -> Faults:
    if case.simulate().digest != case.result.digest:
        yield "the digest of the repeated run differs"


@law(
    "reusable",
    "An object that was used in a run gives the same run again.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=41,
)
def _reusable(case: Case) -> Faults:
    used = case.subject.object()
    for number in ("first", "second", "third"):
        if case.simulate(**{case.role: used}).digest != case.result.digest:
            yield f"the digest of the {number} run of an object differs from that of a fresh one"


@law(
    "seedless",
    "The seed has no effect, unless the flag or the claim random is set.",
    when=lambda case: not case.is_random,
    rank=42,
)
def _seedless(case: Case) -> Faults:
    for seed in (1, 2**64 - 1):
        if case.simulate(seed=case.seed ^ seed).digest != case.result.digest:
            yield f"the digests of seeds {case.seed ^ seed} and {case.seed} differ"


@law("pickles", "A pickled result equals the original.", rank=43)
def _pickles(case: Case) -> Faults:
    read = pickle.loads(pickle.dumps(case.result))
    if read.digest != case.result.digest:
        yield "the digest differs"
    if read.schedule.finish_us.tolist() != case.result.schedule.finish_us.tolist():
        yield "the finish times differ"


@law(
    "pickled-object",
    "A pickled object makes the same decisions, if its class can be imported.",
    of=("policy", "placement"),
    when=_is_of_python,
    rank=44,
)
def _pickled_object(case: Case) -> Faults:
    made = case.subject.object()
    if "<locals>" in type(made).__qualname__:
        return
    try:
        read = pickle.loads(pickle.dumps(made))
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
        return
    if case.simulate(**{case.role: read}).digest != case.result.digest:
        yield "the digest of the pickled object's run differs"


_TIMES = (
    "submit_s", "service_s", "estimate_s", "predicted_s", "deadline_s", "checkpoint_s", "restart_s",
    "time_limit_s", "checkpoint_every_s", "checkpoint_write_s", "eligible_s", "cancel_at_s",
)  # fmt: skip
_CLOCK = ("submit_s", "deadline_s", "eligible_s", "cancel_at_s")


@law("row-order", "The order of rows with different submit times has no effect.", rank=70)
def _row_order(case: Case) -> Faults:
    submits = case.trace.submit_us.tolist()
    rows = sorted(range(len(submits)), key=lambda row: -submits[row])  # ties stay in order
    if submits and _run(case, with_rows(case.columns, rows)).digest != case.result.digest:
        yield "the digest differs with the latest rows first"


@law("ids", "Ids have no effect, nor the names of users, queues and groups.", rank=71)
def _ids(case: Case) -> Faults:
    names = [f"job {len(case.trace) - row}" for row in range(len(case.trace))]
    labels = {}
    for key in {"user", "queue", "group"} & {*case.columns}:
        backwards = sorted({*case.columns[key]}, reverse=True)
        other = {text: text and f"other {at:09}" for at, text in enumerate(backwards)}
        labels[key] = [other[text] for text in case.columns[key]]
    if "dependency" in case.columns:
        new = dict(zip(map(str, case.columns["id"]), names, strict=True))
        labels["dependency"] = [_renamed(text, new) for text in case.columns["dependency"]]
    named = with_columns(case.columns, id=names, **labels)
    if _run(case, named).digest != case.result.digest:
        yield "the digest differs with other ids and names"


def _renamed(text: str, new: dict[str, str]) -> str:
    """Return a dependency with other ids."""
    if not text:
        return text
    said = parsed(text)
    conditions = [one._replace(target=new.get(one.target, one.target)) for one in said.conditions]
    return str(said._replace(conditions=tuple(conditions)))


@law(
    "type-names",
    "The names of GPU types have no effect.",
    when=lambda case: case.trace.profile is None and case.trace.graph is None,
    rank=72,
)
def _type_names(case: Case) -> Faults:
    def renamed(name: str) -> str:
        return f"other-{name}"

    groups = tuple(
        msgspec.structs.replace(group, gpu_type=renamed(group.gpu_type))
        for group in case.cluster.servers
    )
    columns = case.columns
    if "gpu_types" in columns:
        types = [
            "|".join(map(renamed, text.split("|"))) if text else "" for text in columns["gpu_types"]
        ]
        columns = {**columns, "gpu_types": types}
    other = replace(case, cluster=msgspec.structs.replace(case.cluster, servers=groups))
    if _run(other, with_columns(columns)).digest != case.result.digest:
        yield "the digest differs with other names of GPU types"


@law(
    "another-server",
    "With one more server, like an existing one, no further job is rejected.",
    rank=73,
)
def _another_server(case: Case) -> Faults:
    wider = case.on(case.trace, one_more_server(case.cluster)).result
    was_fine = case.result.schedule.status != REJECTED
    for job in np.flatnonzero(was_fine & (wider.schedule.status == REJECTED)).tolist():
        yield f"job {job} is rejected only on the larger cluster"


@law(
    "rejected-unseen",
    "A job that can never run, submitted last, does not affect the others.",
    when=lambda case: not case.speed.has("elastic") and case.trace.graph is None,
    rank=74,
)
def _rejected_unseen(case: Case) -> Faults:
    if not len(case.trace):
        return
    rows = [*range(len(case.trace)), len(case.trace) - 1]
    columns: Columns = {
        name: values if name in ("profiles", "graphs") else [values[row] for row in rows]
        for name, values in case.columns.items()
    }
    columns["gpus"][-1] = case.cluster.num_gpus + 1
    for limit in ("min_gpus", "max_gpus"):
        if limit in columns:
            columns[limit][-1] = columns["gpus"][-1]
    # It neither waits for others nor do they wait for it.
    alone = {"id": "alone", "array": "", "array_limit": float("nan"), "dependency": ""}
    if "id" in columns:
        columns["id"] = [*map(str, columns["id"][:-1]), alone["id"]]
    for name, value in alone.items():
        if name in columns:
            columns[name][-1] = value
    result = _run(case, with_columns(columns))
    if result.schedule.status[-1] != REJECTED:
        yield "the job that is too large is not rejected"
    for name, values in case.result.intervals.items():
        if not np.array_equal(values, result.intervals[name]):
            yield f"with a rejected job the column {name} of the intervals differs"


@law(
    "lone-job",
    "A job that finishes among others also finishes alone on the cluster, without outages, limits "
    "and holds.",
    when=lambda case: not case.has_limits,
    rank=75,
)
def _lone_job(case: Case) -> Faults:
    for job in range(min(3, len(case.trace))):
        alone = _run(case, with_rows(case.columns, [job])).schedule
        if (alone.status[0] == FINISHED) != (case.result.schedule.status[job] == FINISHED):
            yield f"job {job} ends differently without the others"


@law(
    "scale-free",
    "Under a policy that claims it, scaling all times scales the schedule.",
    of=("policy",),
    when=lambda case: "scale-free" in case.claims and case.is_fixed and not case.may_wait,
    rank=76,
)
def _scale_free(case: Case) -> Faults:
    longer = case.simulate(
        trace=_changed(case, _TIMES, lambda second: 3 * second),
        outages=moved(case.outages, times=3),
    )
    yield from _differences(case, longer, lambda us: 3 * us, "three times as long")


@law(
    "shift-free",
    "Under a policy that claims it, shifting all submissions shifts the schedule.",
    of=("policy",),
    when=lambda case: "shift-free" in case.claims,
    rank=77,
)
def _shift_free(case: Case) -> Faults:
    later = case.simulate(
        trace=_changed(case, _CLOCK, lambda second: second + 3600),
        outages=moved(case.outages, later_s=3600),
    )
    yield from _differences(case, later, lambda us: us + 3_600_000_000, "an hour later")


def _run(case: Case, trace: Trace) -> Result:
    return case.simulate(trace=trace, cluster=case.cluster)


def _changed(case: Case, names: tuple[str, ...], change: Callable[[Any], Any]) -> Trace:
    given = {name: values for name, values in case.columns.items() if name in names}
    changed = {name: list(map(change, values)) for name, values in given.items()}
    return with_columns(case.columns, **changed)


def _differences(case: Case, other: Result, expected: Callable[[int], int], what: str) -> Faults:
    for name in ("start_us", "finish_us"):
        was, now = getattr(case.result.schedule, name), getattr(other.schedule, name)
        for job, us in enumerate(was.tolist()):
            if us >= 0 and now[job] != expected(us):
                yield f"times are {what}: {name} of job {job} is {now[job]}, was {us}"
