"""Dependencies, arrays and holds of jobs: texts in the grammar of Slurm, and the core's columns."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32, Int64
from gpusched.base.labels import Labels
from gpusched.base.memo import Memo
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S
from gpusched.base.wording import plural
from gpusched.traces.job_columns import NOT_GIVEN, is_blank

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

KINDS: Final = ("after", "afterany", "afterok", "afternotok", "aftercorr", "singleton")
"""Kinds of conditions; the first four by their number in the core."""
MOST_PAIRS: Final = 2**24
_AFTER, _ANY, _OK, _CORR, _SINGLETON = 0, 1, 2, 4, 5
_MINUTE_US: Final = 60 * US_PER_S
_MOST_MINUTES: Final = MAX_SUBMIT_US // _MINUTE_US
_STATE: Final = re.compile(r"\((?:fulfilled|unfulfilled|failed)\)$")  # as squeue writes it
_ONE: Final = re.compile(r"(after(?:any|ok|notok|corr)?):([^:,?+()\s]+)")
_PLAIN: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_EACH_TASK: Final = "_*"
_ON_PATH, _DONE = 1, 2


class Condition(NamedTuple):
    """One condition of a job: a kind by its number, the name of its target, and a delay."""

    kind: int
    target: str = ""
    delay_us: int = 0

    def __str__(self) -> str:
        if self.kind == _SINGLETON:
            return KINDS[_SINGLETON]
        delay = f"+{self.delay_us / _MINUTE_US!r}" if self.delay_us else ""
        return f"{KINDS[self.kind]}:{self.target}{delay}"


class Dependency(NamedTuple):
    """The conditions of a job: all of them must be met, or any one."""

    conditions: tuple[Condition, ...]
    is_any: bool = False

    def __str__(self) -> str:
        return ("?" if self.is_any else ",").join(map(str, self.conditions))


def parsed(text: str) -> Dependency:
    """Read a dependency, such as ``"afterok:7:8,after:9+5"`` or ``"afterany:7?afterok:8"``.

    Conditions that ``squeue`` calls fulfilled are left out.
    """
    if one := _ONE.fullmatch(text):  # by far the most frequent case
        return Dependency((Condition(KINDS.index(one[1]), one[2]),))
    is_any = "?" in text
    if is_any and "," in text:
        raise ValueError("must join conditions by ',' (all) or by '?' (any), not by both")
    conditions = []
    for term in text.split("?" if is_any else ","):
        name, *targets = map(str.strip, term.split(":"))
        kind = _STATE.sub("", name.lower())
        if kind not in KINDS:
            raise ValueError(f"unknown kind {name!r}{nearest(kind, KINDS)}")
        if (kind == "singleton") == bool(targets):
            raise ValueError(f"{kind} must {'not have' if targets else 'have'} a target")
        if kind == "singleton" and is_any:
            raise ValueError("singleton must not be joined by '?'")
        for target in targets or [name[len(kind) :]]:
            if not target.endswith("(fulfilled)"):
                conditions.append(_condition(KINDS.index(kind), target))
            elif is_any:
                return Dependency((), is_any)
    return Dependency(tuple(conditions), is_any)


def _condition(kind: int, text: str) -> Condition:
    """Read the target of a condition, with its minutes."""
    if text.endswith(")"):
        text = _STATE.sub("", text)
    target, plus, minutes = text.partition("+")
    if not target.strip() and kind != _SINGLETON:
        raise ValueError(f"{KINDS[kind]} must have a target")
    if not plus:
        return Condition(kind, target)
    if kind != _AFTER:
        raise ValueError(f"+{minutes}: only after has minutes, not {KINDS[kind]}")
    try:
        delay_us = float(minutes) * _MINUTE_US
    except ValueError:
        delay_us = math.nan
    if not 0 <= delay_us <= MAX_SUBMIT_US:
        raise ValueError(f"+{minutes}: minutes must be a number from 0 to {_MOST_MINUTES}")
    return Condition(kind, target.rstrip(), round(delay_us))


def of_copies(trace: Trace, copy: Int64) -> dict[str, Any]:
    """Return the names of jobs and arrays, and what refers to them, where jobs occur repeatedly.

    ``copy``: per job a number. Jobs of one number depend on each other as before, and not on
        others.
    """
    fields: dict[str, Any] = {}
    if trace.array is not None:
        fields["array"] = _renamed(trace.array, copy, lambda name, number: f"{number}.{name}")
    if trace.dependency is not None:
        ids = trace.id.astype(np.str_)
        fields["id"] = np.char.add(np.char.add(copy.astype(np.str_), "."), ids)
        fields["dependency"] = _renamed(trace.dependency, copy, _of_copy)
    return fields


def _renamed(labels: Labels, copy: Int64, rename: Callable[[str, int], str]) -> Labels:
    key, index = np.unique(copy * len(labels.names) + labels.codes, return_inverse=True)
    pairs = [(labels.names[code % len(labels.names)], code // len(labels.names)) for code in key]
    named = Labels.of(rename(name, number) if name.strip() else "" for name, number in pairs)
    return Labels(named.codes[index], named.names)


def _of_copy(text: str, number: int) -> str:
    conditions, is_any = parsed(text)
    moved = [each._replace(target=f"{number}.{each.target}") for each in conditions]
    return str(Dependency(tuple(moved), is_any))


class Holds(NamedTuple):
    """What keeps jobs out of the queue: columns of the core by name, and remarks."""

    columns: dict[str, AnyArray]
    remarks: tuple[str, ...] = ()


def holds_of(trace: Trace) -> Holds:
    """Return what holds jobs of a run back: dependencies, arrays, eligible and cancel times."""
    return _holds.of(trace, None, lambda: _Resolver(trace).holds())


_holds: Memo[Trace, Holds] = Memo(1)


class _Resolver:
    """Turns the names in the columns of a trace into numbers."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.num_jobs = trace, len(trace)
        array = trace.array
        self.array = np.full(self.num_jobs, -1, np.int32)
        self.names: tuple[str, ...] = ()
        if array is not None:
            used = np.flatnonzero(_is_used(array))
            number = np.full(len(array.names), -1, np.int32)
            number[used] = np.arange(len(used))
            self.array = number[array.codes]
            self.names = tuple(array.names[each] for each in used.tolist())
        self.unknown: dict[str, int] = {}
        """Targets that are not in the trace, with the first job that names each."""

    def holds(self) -> Holds:
        trace = self.trace
        columns: dict[str, AnyArray] = {}
        if trace.eligible_us is not None and (trace.eligible_us > trace.submit_us).any():
            columns["eligible_us"] = trace.eligible_us
        if trace.cancel_at_us is not None and not is_blank("cancel_at_us", trace.cancel_at_us):
            columns["cancel_at_us"] = trace.cancel_at_us
        if trace.array_limit is not None and not is_blank("array_limit", trace.array_limit):
            columns |= self._limited(trace.array_limit)
        if trace.dependency is not None and _is_used(trace.dependency).any():
            columns |= self._dependencies(trace.dependency)
        if not self.unknown:
            return Holds(columns)
        first, job = next(iter(self.unknown.items()))
        remark = (
            f"dependency: {plural(len(self.unknown), 'target')} not found in the trace, counted as "
            f"met (first: {first!r} of {self._named(job)})"
        )
        return Holds(columns, (remark,))

    def _named(self, job: int) -> str:
        return f"job {self.trace.id[job]} (row {self.trace.row[job]})"

    def _limited(self, limit: Int32) -> dict[str, AnyArray]:
        """Return the arrays and their limits, which are equal for all tasks of each."""
        array = self.array
        for job in np.flatnonzero((array < 0) & (limit != NOT_GIVEN)).tolist():
            raise ValueError(f"array_limit: {self._named(job)}: {limit[job]} needs an array")
        first = np.zeros(len(self.names), np.int64)
        tasks = np.flatnonzero(array >= 0)[::-1]
        first[array[tasks]] = tasks  # written last: the first task
        for job in np.flatnonzero((array >= 0) & (limit != limit[first][array])).tolist():
            each = (limit[job], limit[first[array[job]]])
            own, other = ("none" if value == NOT_GIVEN else f"{value}" for value in each)
            raise ValueError(
                f"array_limit: {self._named(job)}: {own} must be equal for all tasks of array "
                f"{self.names[array[job]]!r}; the first has {other}"
            )
        return {"array": array, "array_limit": limit[first]}

    def _dependencies(self, given: Labels) -> dict[str, AnyArray]:
        """Return the columns of conditions."""
        texts: dict[int, Dependency] = {}
        for number in np.flatnonzero(_is_used(given)).tolist():
            try:
                texts[number] = parsed(given.names[number])
            except ValueError as error:
                raise self._error(given, number, str(error)) from None
        job, target, kind, delay_us = self._pairs(given, texts)
        if not len(job):
            return {}
        begin = np.searchsorted(job, np.arange(self.num_jobs + 1))
        self._refuse_circles(job, target, begin)
        columns: dict[str, AnyArray] = {
            "dependency_begin": begin, "dependency_target": target, "dependency_kind": kind,
        }  # fmt: skip
        if delay_us.any():
            columns["dependency_delay_us"] = delay_us
        is_any = np.zeros(len(given.names), np.bool_)
        is_any[[number for number, text in texts.items() if text.is_any]] = True
        if is_any.any():
            columns["dependency_any"] = is_any[given.codes] & (np.diff(begin) > 0)
        if (status := self.trace.status) is not None:
            is_bad = np.isin(status.names, ("failed", "killed"))[status.codes]
            columns |= {"exit_failed": is_bad} if is_bad.any() else {}
        return columns

    def _error(self, given: Labels, number: int, rule: str) -> ValueError:
        job = int(np.argmax(given.codes == number))
        return ValueError(f"dependency: {self._named(job)}: {given.names[number]!r}: {rule}")

    def _pairs(self, given: Labels, texts: dict[int, Dependency]) -> Int64:
        """Return job, target, kind and delay of each condition, by job."""
        tasks = _Groups(self.array, len(self.names))
        jobs_of, num_jobs = _Groups(given.codes, len(given.names)), given.counts().tolist()
        number_of = {name: number for number, name in enumerate(self.names)}
        wanted = {one.target for text in texts.values() for one in text.conditions}
        position = _positions(self.trace.id, wanted)
        same: list[tuple[int, int, int, int]] = []  # by text: for all of its jobs
        own: list[tuple[Int64, Int64, int]] = []  # by job
        is_met = np.zeros(self.num_jobs, np.bool_)
        num_pairs = 0

        def count(more: int) -> None:
            nonlocal num_pairs
            num_pairs += more
            if num_pairs > MOST_PAIRS:
                raise ValueError(f"dependency: more than {MOST_PAIRS:,} pairs of jobs")

        for number, (conditions, is_any) in texts.items():
            for kind, target, delay_us in conditions:
                if kind == _SINGLETON:
                    count(int(self._earlier.place[jobs_of[number]].sum()))
                    own.append((*self._earlier.before(jobs_of[number]), _ANY))
                    continue
                if (job := position.get(target)) is not None:
                    count(num_jobs[number])
                    same.append((number, job, _OK if kind == _CORR else kind, delay_us))
                    continue
                jobs = jobs_of[number]
                array = number_of.get(target, number_of.get(target.removesuffix(_EACH_TASK)))
                if array is None:
                    self.unknown.setdefault(target, int(jobs[0]))
                    is_met[jobs] |= is_any
                elif kind == _CORR:
                    count(len(jobs))
                    has_one = tasks.place[jobs] < len(tasks[array])
                    same_place = tasks[array][tasks.place[jobs[has_one]]]
                    own.append((jobs[has_one], same_place, _OK))
                    is_met[jobs[~has_one]] |= is_any
                elif is_any and len(tasks[array]) > 1:
                    rule = f"{target} is an array of several tasks, which '?' does not define"
                    raise self._error(given, number, rule)
                else:
                    count(num_jobs[number] * len(tasks[array]))
                    same += [(number, job, kind, delay_us) for job in tasks[array].tolist()]
        text, *columns = np.array(same, np.int64).reshape(-1, 4).T
        size = np.bincount(text, minlength=len(given.names))
        every, place = _spread((np.cumsum(size) - size)[given.codes], size[given.codes])
        parts = [[every, *(column[place] for column in columns)]]
        parts += [[*pair, np.full(len(pair[0]), kind), 0 * pair[0]] for *pair, kind in own]
        pairs = np.concatenate([np.array(part, np.int64) for part in parts], axis=1)
        if is_met.any():
            pairs = pairs[:, ~is_met[pairs[0]]]
        if own:
            pairs = pairs[:, np.argsort(pairs[0], kind="stable")]
        return pairs

    @cached_property
    def _earlier(self) -> _Groups:
        """The jobs by user and group."""
        key = np.zeros(self.num_jobs, np.int64)
        for labels in (self.trace.user, self.trace.group):
            if labels is not None:
                key = key * len(labels.names) + labels.codes
        names, key = np.unique(key, return_inverse=True)
        return _Groups(key, len(names))

    def _refuse_circles(self, job: Int64, target: Int64, begin: Int64) -> None:
        """Search for circles in depth; each has a job that waits for itself or a later one."""
        state = bytearray(self.num_jobs)
        for root in np.unique(target[target >= job]).tolist():
            path: list[int] = []
            left = [iter([root])]
            while left:
                for each in left[-1]:
                    if state[each] == _ON_PATH:
                        raise self._circle(path[path.index(each) :])
                    if not state[each]:
                        state[each] = _ON_PATH
                        path.append(each)
                        left.append(iter(target[begin[each] : begin[each + 1]].tolist()))
                        break
                else:
                    left.pop()
                    if path:
                        state[path.pop()] = _DONE

    def _circle(self, jobs: list[int]) -> ValueError:
        first = jobs.index(min(jobs))
        jobs = [*jobs[first:], *jobs[:first]]
        if len(jobs) == 1:
            return ValueError(f"dependency: {self._named(jobs[0])} waits for itself")
        names = " -> ".join(str(self.trace.id[job]) for job in (*jobs, jobs[0]))
        row = self.trace.row[jobs[0]]
        return ValueError(f"dependency: jobs {names} wait for each other (first: row {row})")


class _Groups:
    """Jobs by the number of their group; those below 0 are in none."""

    def __init__(self, number: AnyArray, num_groups: int) -> None:
        self._number = number
        self._order = np.argsort(number, kind="stable")
        self._begin = np.searchsorted(number[self._order], np.arange(num_groups + 1))
        self.place = np.zeros(len(number), np.int64)
        """Number of earlier jobs of the same group; 0 in none."""
        first = np.append(self._begin, 0)[number]
        self.place[self._order] = np.arange(len(number)) - first[self._order]
        self.place[number < 0] = 0

    def __getitem__(self, group: int) -> Int64:
        return self._order[self._begin[group] : self._begin[group + 1]]

    def before(self, jobs: Int64) -> tuple[Int64, Int64]:
        """Return these jobs, each with every earlier job of its group."""
        which, place = _spread(self._begin[self._number[jobs]], self.place[jobs])
        return jobs[which], self._order[place]


def _spread(begin: Int64, size: Int64) -> tuple[Int64, Int64]:
    """Return the places in ranges, one range after the other, after the number of the range."""
    which = np.repeat(np.arange(len(size)), size)
    return which, np.arange(len(which)) + (begin - np.cumsum(size) + size)[which]


def _is_used(labels: Labels) -> Bool:
    """Whether a name is not empty and a job has it."""
    is_named: Bool = np.array([name.strip() != "" for name in labels.names], np.bool_)
    return is_named & (labels.counts() > 0)


def _positions(ids: AnyArray, wanted: set[str]) -> dict[str, int]:
    """Return the jobs with these ids."""
    if ids.dtype.kind == "U":
        return {name: job for job, name in enumerate(ids.tolist()) if name in wanted}
    numbers = {int(name) for name in wanted if _PLAIN.fullmatch(name)}
    return {str(name): job for job, name in enumerate(ids.tolist()) if name in numbers}
