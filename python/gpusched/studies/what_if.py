"""Estimate what changes would do to the jobs of a trace: :func:`whatif`."""

from __future__ import annotations

import dataclasses
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from gpusched._core import Placement
from gpusched.base.arrays import Int64
from gpusched.base.defaults import GPUS_PER_SERVER, POLICY, REPAIR_S
from gpusched.base.field_checks import check_positive, not_negative
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress
from gpusched.base.suggest import nearest
from gpusched.base.tables import Cell, Column, Table, Value, table
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S
from gpusched.base.units import requeue_back_of, seconds_of, share_of
from gpusched.base.wording import duration, plural, wrapped, written
from gpusched.engine.seams import check_shared
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.policy import (
    AnyPolicy,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
)
from gpusched.prediction.choose import for_trace
from gpusched.results.metric_registry import METRICS, Metric
from gpusched.results.result import Result
from gpusched.results.run_remarks import restart_costs, unserved
from gpusched.results.run_window import RunWindow
from gpusched.results.same_jobs import MOST_LEFT, SameJobs
from gpusched.results.shown_metrics import GROWTH, column_of
from gpusched.studies.fidelity_grades import (
    ANYWHERE,
    RESOLUTION_S,
    CaseSearch,
    Grade,
    Likeness,
    Window,
    factor_between,
    has_starts,
    own_starts,
)
from gpusched.studies.fidelity_grades import Scenario as Scenario
from gpusched.studies.threaded_runs import in_threads
from gpusched.studies.verdicts import pile_ups
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.cluster_sizing import assumed_cluster
from gpusched.traces.workload import Trace

MEASURES: Final = (
    "mean_wait_s", "p95_wait_s", "mean_jct_s", "p95_jct_s", "utilisation", "makespan_s",
)  # fmt: skip
LOST: Final = ("lost_to_failures_gpu_s", "lost_to_limits_gpu_s")
"""Further measures where a run has outages, time limits or checkpoints."""


@dataclass(frozen=True)
class Outcome:
    """The outcome of the baseline or of a change.

    Attributes
    ----------
    label
        ``"base"``, the change, or ``"all together"``.
    policy, placement, predictor, speed, contention
        As strings.
    clairvoyant
        Whether the policy used true run times.
    cluster
        The cluster.
    measures
        ``mean_wait_s``, ``p95_wait_s``, ``mean_jct_s`` and ``p95_jct_s`` of the jobs that every
        case finishes; ``utilisation`` and ``makespan_s`` of the run, and if a case has outages,
        time limits or checkpoints, ``lost_to_failures_gpu_s`` and ``lost_to_limits_gpu_s``; or all
        within a window, NaN if it has none.
    num_finished
        Number of jobs in the window that finished.
    num_gain, num_lose
        Numbers of jobs with a shorter and a longer completion time than in the baseline, by more
        than the resolution; jobs that only one of the two finishes count.
    gain_s, loss_s
        Mean improvement and deterioration over jobs that both finish, seconds.
    """

    label: str
    policy: str
    placement: str
    predictor: str
    speed: str
    contention: str
    clairvoyant: bool
    cluster: Cluster
    measures: Mapping[str, float]
    num_finished: int
    num_gain: int = 0
    num_lose: int = 0
    gain_s: float = 0.0
    loss_s: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values; undefined measures are None."""
        measures = {key: value if math.isfinite(value) else None for key, value in
                   self.measures.items()}  # fmt: skip
        return {
            "label": self.label,
            "policy": self.policy,
            "placement": self.placement,
            "predictor": self.predictor,
            "speed": self.speed,
            "contention": self.contention,
            "clairvoyant": self.clairvoyant,
            "cluster": str(self.cluster),
            "num_gpus": self.cluster.num_gpus,
            **measures,
            "num_finished": self.num_finished,
            "num_gain": self.num_gain,
            "num_lose": self.num_lose,
            "gain_s": self.gain_s,
            "loss_s": self.loss_s,
        }


def outcome_of(
    label: str,
    result: Result,
    reference: Result,
    resolution_s: float,
    window: RunWindow | None,
    same: SameJobs,
    measures: Sequence[str] = MEASURES,
) -> Outcome:
    """Compare a run with the baseline.

    ``reference``: the run of the baseline.
    ``resolution_s``: smallest change of a completion time that counts as a gain or loss.
    ``window``: the part of each run that is measured, on its own clock. Gains and losses are
        counted over the jobs in it in the baseline.
    ``same``: the jobs that job measures cover.
    ``measures``: what is measured.
    """
    jobs, spec, measured = result.jobs, result.spec, same.measured(label, result)
    counted = np.ones(len(jobs), np.bool_) if window is None else window.counted(reference.trace)
    finished = jobs.is_finished & counted
    before = reference.jobs.is_finished & counted
    change_s = (jobs.jct_s - reference.jobs.jct_s)[finished & before]
    gained, lost = change_s < -resolution_s, change_s > resolution_s
    return Outcome(
        label,
        spec.policy,
        spec.placement,
        spec.predictor,
        spec.speed,
        spec.contention,
        result.clairvoyant,
        result.cluster,
        {
            key: measured[key] if key in measured else _measure(result, key, window)
            for key in measures
        },
        int(np.count_nonzero(finished)),
        int(np.count_nonzero(gained) + np.count_nonzero(finished & ~before)),
        int(np.count_nonzero(lost) + np.count_nonzero(before & ~finished)),
        float(-change_s[gained].mean()) if gained.any() else 0.0,
        float(change_s[lost].mean()) if lost.any() else 0.0,
    )


def _measure(result: Result, key: str, window: RunWindow | None) -> float:
    if key in LOST and not len(result.schedule.lost_us):
        return 0.0
    if window is None:
        return float(result.metric(key))
    if not METRICS.find(key).is_of_parts:
        return math.nan
    return float(result.metric(key, **window.cuts))


@dataclass(frozen=True)
class Change:
    """One change to the baseline: ``servers=+4``.

    Attributes
    ----------
    key, value
        The setting to change, and its new value.
    group
        For ``servers`` and ``gpus_per_server``: the GPU type of the servers, empty for all.
    """

    key: str
    value: Any
    group: str = ""

    def __str__(self) -> str:
        return f"{self.key}{f'[{self.group}]' if self.group else ''}={self.value}"

    def check(self, trace: Trace) -> Any:
        """Parse the value; raise ValueError if it is malformed, or does not apply to this trace."""
        with self._named():
            return _KEYS[self.key][0](trace, self.value)

    def applied(self, scenario: Scenario, base: Scenario) -> Scenario:
        """Return the scenario with the change.

        ``base``: the baseline: a load refers to its cluster.
        """
        value = self.check(scenario.trace)
        with self._named():
            return _KEYS[self.key][1](scenario, base, self, value)

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise ValueError(f"change {self}: {error}") from None


def parse_changes(changes: Mapping[str, Any] | Sequence[str]) -> tuple[Change, ...]:
    """Parse changes: strings such as ``"policy=srtf"``, or a mapping by setting."""
    if isinstance(changes, Mapping):
        pairs = [(key, value) for key, value in changes.items()]
    elif isinstance(changes, str) or not isinstance(changes, Sequence):
        raise TypeError(f"changes: expected a list of texts or a mapping, not {changes!r}")
    else:
        pairs = [_pair(text) for text in changes]
    read = tuple(_change(key, value) for key, value in pairs)
    if not read:
        raise ValueError("changes: at least one is needed")
    texts = [str(change) for change in read]
    for text in texts:
        if texts.count(text) > 1:
            raise ValueError(f"changes: {text} is listed twice")
    return read


def can_join(changes: Sequence[Change]) -> bool:
    """Whether all changes can be combined: no setting changes twice."""
    return len({(change.key, change.group) for change in changes}) == len(changes)


def _pair(text: Any) -> tuple[str, str]:
    if not isinstance(text, str):
        raise TypeError(f"changes: expected texts such as 'servers=+4', not {text!r}")
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise ValueError(f"change {text!r}: must be of the form KEY=VALUE, such as servers=+4")
    return key, value


def _change(key: Any, value: Any) -> Change:
    match = re.fullmatch(r"([\w-]+)(?:\[(.+)\])?", key) if isinstance(key, str) else None
    name = "" if match is None else match[1].replace("-", "_")
    if match is None or name not in _KEYS:
        raise ValueError(f"change {key!r}: unknown{nearest(str(key), list(_KEYS))}")
    if match[2] is not None and name not in _NUMBERS:
        raise ValueError(f"change {key!r}: only servers and gpus_per_server have types")
    return Change(name, value, match[2] or "")


def _replaced(scenario: Scenario, base: Scenario, change: Change, value: Any) -> Scenario:
    return dataclasses.replace(scenario, **{change.key: value})


def _resized(scenario: Scenario, base: Scenario, change: Change, moved: _Moved) -> Scenario:
    """Change the number of servers of a type, or their numbers of GPUs."""
    cluster = scenario.cluster
    if cluster.domains:
        raise ValueError("the cluster has domains; describe the changed cluster separately")
    fits = [
        place
        for place, group in enumerate(cluster.servers)
        if not change.group or group.gpu_type == change.group
    ]
    types = ", ".join(dict.fromkeys(group.gpu_type for group in cluster.servers))
    if not fits:
        raise ValueError(f"no servers of this type; known types: {types}")
    if len(fits) > 1:
        raise ValueError(f"the cluster has {len(fits)} groups of such servers (types: {types})")
    groups = list(cluster.servers)
    field = _NUMBERS[change.key]
    sizes: dict[str, Any] = {field: moved.of(getattr(groups[fits[0]], field))}
    groups[fits[0]] = msgspec.structs.replace(groups[fits[0]], **sizes)
    return dataclasses.replace(
        scenario, cluster=msgspec.structs.replace(cluster, servers=tuple(groups))
    )


class _Moved(NamedTuple):
    """A new number: absolute, or a difference, also in percent."""

    sign: str
    number: int
    is_percent: bool

    def of(self, present: int) -> int:
        """Return the number that replaces the present one."""
        if not self.sign:
            return self.number
        step = self.number
        if self.is_percent:
            step = max(1, round(present * self.number / 100))
        return present + step if self.sign == "+" else present - step


def _moved(trace: Trace, value: Any) -> _Moved:
    """Parse ``12``, ``+4`` or ``-4``, and ``+10%``."""
    match = re.fullmatch(r"(?:([+-]?)(\d{1,9})|([+-])(\d{1,4})%)", str(value).strip())
    if match is None or isinstance(value, bool):
        raise ValueError("must be a number or a difference: 12, +4, -4 or +10%")
    is_percent = match[4] is not None
    return _Moved(match[3] or match[1] or "", int(match[4] or match[2]), is_percent)


def _number(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else share_of(value)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError("must be a positive number, or a factor such as *1.2 or +20%")
    return number


def _relative(value: Any) -> float | None:
    """Parse a factor, ``*1.2``, ``+20%`` or ``-20%``; None for anything else."""
    text = value.strip() if isinstance(value, str) else ""
    if text.startswith("*"):
        return _number(text[1:])
    if text[:1] in ("+", "-") and text.endswith("%"):
        return _number(1 + share_of(text))
    return None


def _loaded(
    scenario: Scenario, base: Scenario, change: Change, load: tuple[bool, float]
) -> Scenario:
    """Rescale the gaps between arrivals to a load of the base cluster, or by a factor."""
    is_factor, number = load
    trace = scenario.trace
    scaled = (
        trace.scale_load(number) if is_factor else trace.with_load(number, base.cluster.num_gpus)
    )
    return dataclasses.replace(scenario, trace=scaled)


def _factor(trace: Trace, value: Any) -> tuple[bool, float]:
    """Parse ``*1.2`` or ``+20%``, or ``0.9``: whether it is a factor, and the number."""
    factor = _relative(value)
    return factor is not None, _number(value) if factor is None else factor


def _estimated(scenario: Scenario, base: Scenario, change: Change, estimate_us: Int64) -> Scenario:
    return dataclasses.replace(
        scenario, trace=dataclasses.replace(scenario.trace, estimate_us=estimate_us)
    )


def _estimates(trace: Trace, value: Any) -> Int64:
    """Make estimates exact, or scale them by a factor."""
    if value == "exact":
        return trace.service_us
    if (factor := _relative(value)) is not None:
        known = trace.estimate_us
        if known is None:
            raise ValueError("the trace has no estimates")
        scaled = np.clip(np.rint(known * factor), 1, MAX_SERVICE_US)
        return np.where(known == NOT_GIVEN, NOT_GIVEN, scaled.astype(np.int64))
    raise ValueError("must be exact, or a factor such as *2 or +20%")


def _restarted(scenario: Scenario, base: Scenario, change: Change, cost_s: float) -> Scenario:
    trace = scenario.trace.with_columns(restart_s=cost_s)
    return dataclasses.replace(scenario, trace=trace)


def _restart(trace: Trace, value: Any) -> float:
    """Parse a restart cost: ``60``, ``1m``."""
    cost_s = seconds_of(value)
    if not 0 <= cost_s <= MAX_SERVICE_US / US_PER_S:
        raise ValueError("must be a time of at least 0")
    return cost_s


def _given(scenario: Scenario, base: Scenario, change: Change, value: float | None) -> Scenario:
    """Give all jobs the same value in a column."""
    column = {"max_requeues": "max_requeues", "requeue": "requeue_back"}.get(change.key)
    columns = {column or f"{change.key}_s": value}
    if change.key == "checkpoint_every" and value is None:
        columns["checkpoint_write_s"] = None
    return dataclasses.replace(scenario, trace=scenario.trace.with_columns(**columns))


def _time(trace: Trace, value: Any) -> float:
    time_s = seconds_of(value)
    if not 0 < time_s <= MAX_SERVICE_US / US_PER_S:
        raise ValueError("must be a time above 0")
    return time_s


def _time_or_none(trace: Trace, value: Any) -> float | None:
    return None if value == "off" else _time(trace, value)


def _count(trace: Trace, value: Any) -> int:
    if not re.fullmatch(r"\d{1,9}", str(value)):
        raise ValueError("must be a number of at least 0")
    return int(value)


def _failing(scenario: Scenario, base: Scenario, change: Change, value: float | None) -> Scenario:
    """Draw failures instead of those of the baseline."""
    if change.key == "repair" and scenario.mtbf_s is None:
        raise ValueError("needs drawn failures (mtbf)")
    outages = None if change.key == "mtbf" else scenario.outages
    times: dict[str, Any] = {f"{change.key}_s": value}
    return dataclasses.replace(scenario, outages=outages, **times)


def _choice(kind: Any) -> Callable[[Trace, Any], Any]:
    return lambda trace, value: kind.parse(value) if isinstance(value, str) else value


_NUMBERS: Final = {"servers": "count", "gpus_per_server": "gpus"}
"""Settings of the servers of a group, and their fields."""
_KEYS: Final[dict[str, tuple[Callable[[Trace, Any], Any], Callable[..., Scenario]]]] = {
    "policy": (_choice(Policy), _replaced),
    "placement": (_choice(PlacementChoice), _replaced),
    "predictor": (lambda trace, value: value, _replaced),
    "speed": (_choice(SpeedChoice), _replaced),
    "contention": (_choice(ContentionChoice), _replaced),
    "servers": (_moved, _resized),
    "gpus_per_server": (_moved, _resized),
    "load": (_factor, _loaded),
    "estimates": (_estimates, _estimated),
    "restart": (_restart, _restarted),
    "time_limit": (_time_or_none, _given),
    "checkpoint_every": (_time_or_none, _given),
    "checkpoint_write": (_restart, _given),
    "max_requeues": (_count, _given),
    "requeue": (lambda trace, value: requeue_back_of(value), _given),
    "mtbf": (_time_or_none, _failing),
    "repair": (_time, _failing),
}
"""Settings that can be changed: how a value is parsed, and how it changes a scenario."""


_SHOWN: Final = ("mean_wait_s", "p95_wait_s", "mean_jct_s", "utilisation", "makespan_s")
_LONGEST: Final = 24


@dataclass(frozen=True, eq=False, repr=False)
class WhatIf:
    """The effects of changes, and how far they can be trusted, from :func:`gpusched.whatif`.

    Attributes
    ----------
    trace
        The workload of the baseline.
    base
        The outcome of the baseline.
    outcomes
        The outcomes of each change alone, and of all of them together if possible.
    likeness, grade
        How close the baseline comes to what happened, see :func:`gpusched.fidelity`; None if the
        trace does not record it.
    no_grade
        Why there is no grade; empty if there is one.
    resolution_s
        Smallest change of a completion time that counts as a gain or loss.
    remarks
        Caveats.
    share_of_others
        The share of the requested GPU time of jobs that some cases do not finish, and that job
        measures leave out.
    """

    trace: Trace
    base: Outcome
    outcomes: tuple[Outcome, ...]
    likeness: Likeness | None
    grade: Grade | None
    no_grade: str
    resolution_s: float
    remarks: tuple[str, ...]
    share_of_others: float = 0.0

    def __repr__(self) -> str:
        letter = "no grade" if self.grade is None else f"grade {self.grade.letter}"
        changes = ", ".join(outcome.label for outcome in self.outcomes)
        return f"WhatIf({self.trace.name!r}, {self.base.policy}: {changes}; {letter})"

    def __str__(self) -> str:
        notes = [line for text in self.shown.notes for line in wrapped(text)]
        return "\n".join([*self.head, "", str(self.shown), "", *notes])

    @property
    def head(self) -> list[str]:
        """Lines on the baseline, and how far it can be trusted."""
        base = self.base
        ran = (
            f"base: {base.policy}{' †' if base.clairvoyant else ''}, placement {base.placement}, "
            f"predictor {base.predictor}, {base.cluster}"
        )
        grade = f"no grade: {self.no_grade}" if self.grade is None else f"grade {self.grade}"
        jobs = f"{self.trace.name}: {plural(len(self.trace), 'job')}"
        return [jobs, *wrapped(ran), *wrapped(grade)]

    @property
    def shown(self) -> Table:
        """A row for the baseline and each change, with changes of measures below their values."""
        every = (self.base, *self.outcomes)
        known = [
            METRICS.find(key) for key in (*_SHOWN, *LOST)
            if any(math.isfinite(outcome.measures.get(key, math.nan)) for outcome in every)
            and not (key in LOST and all(outcome.measures[key] == 0 for outcome in every))
        ]  # fmt: skip
        columns = [Column("case", short=" ", is_text=True), *map(column_of, known)]
        columns += [Column(word, kind="count", key=f"num_{word}") for word in ("gain", "lose")]
        rows: list[list[Value | Cell]] = []
        for outcome in every:
            name, is_base = outcome.label, outcome is self.base
            row: list[Value | Cell] = [name if len(name) <= _LONGEST else f"{name[:22]}.."]
            for metric in known:
                change = "" if is_base else self._change_text(outcome, metric)
                row.append(Cell(outcome.measures[metric.key], detail=change))
            rows.append(row + (["", ""] if is_base else [outcome.num_gain, outcome.num_lose]))
        counted = (
            "gain, lose: jobs with a shorter or longer completion time than in the baseline, by "
            "over "
            f"{duration(self.resolution_s)}"
        )
        return table("", columns, rows, (counted, *self._within_error(), *self.remarks))

    def _change_text(self, outcome: Outcome, metric: Metric) -> str:
        """Return the change of a measure: in percent, for shares in percentage points.

        Empty if some case does not do nearly all of the work.
        """
        before, after = (each.measures[metric.key] for each in (self.base, outcome))
        if not math.isfinite(after - before) or self.share_of_others > MOST_LEFT:
            return ""
        if metric.kind == "percent":
            points = 100 * (after - before)
            return f"{points:+.1f} points" if abs(points) >= 0.05 else "no change"
        if abs(after - before) <= self.resolution_s:
            return "no change"
        if before <= 0:
            return "more"
        return written(after / before - 1, "percent", "+")

    def _within_error(self) -> list[str]:
        """Name the changes of the mean wait that are within the error of the baseline."""
        factor = 1.0 if self.likeness is None else self.likeness.mean_wait_factor
        before = self.base.measures["mean_wait_s"]
        small = [
            outcome.label
            for outcome in self.outcomes
            if factor > 1 and factor_between(before, outcome.measures["mean_wait_s"]) <= factor
        ]
        if not small:
            return []
        return [
            f"the baseline misses the recorded mean wait by a factor of {factor:.2f}; these "
            f"changes are not larger: {', '.join(small)}"
        ]

    def difference(self, label: str, measure: str) -> float:
        """Return a measure of a change minus that of the baseline.

        Returns
        -------
        float
            In the unit of the measure; negative if the change lowers it.

        Raises
        ------
        KeyError
            If there is no such change or measure.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.difference("servers=+1", "mean_wait_s") < 0
        True
        """
        by_label = {outcome.label: outcome for outcome in self.outcomes}
        return by_label[label].measures[measure] - self.base.measures[measure]

    def table(self) -> pl.DataFrame:
        """Return one row for the baseline and each change, with differences.

        Returns
        -------
        polars.DataFrame
            ``d_mean_wait_s`` is ``mean_wait_s`` minus that of the baseline, and so on; every row
            carries the ``grade``.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.table()["d_mean_wait_s"][0]
        0.0
        """
        letter = None if self.grade is None else self.grade.letter
        rows = []
        for outcome in (self.base, *self.outcomes):
            changed = {
                f"d_{key}": outcome.measures[key] - before
                for key, before in self.base.measures.items()
            }
            rows.append(outcome.to_dict() | changed | {"grade": letter})
        return pl.from_dicts(rows, infer_schema_length=None)

    to_polars = table

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for any JSON writer.

        Returns
        -------
        dict
            The grade, the baseline, every change, and caveats.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> answer = gs.whatif(jobs, gs.Cluster.uniform(1, 4), "fifo", ["servers=+1"])
        >>> answer.to_dict()["changes"][0]["label"]
        'servers=+1'
        """
        return {
            "trace": {
                "name": self.trace.name,
                "source": str(self.trace.source),
                "num_jobs": len(self.trace),
            },
            "grade": None if self.grade is None else self.grade.to_dict(),
            "no_grade": self.no_grade,
            "likeness": None if self.likeness is None else self.likeness.to_dict(),
            "base": self.base.to_dict(),
            "changes": [outcome.to_dict() for outcome in self.outcomes],
            "resolution_s": self.resolution_s,
            "share_of_others": self.share_of_others,
            "remarks": list(self.remarks),
        }


BASE: Final = "base"
TOGETHER: Final = "all together"


def whatif(
    trace: Trace,
    cluster: Cluster | None = None,
    base: AnyPolicy = POLICY,
    changes: Mapping[str, Any] | Sequence[str] = (),
    *,
    placement: str | PlacementChoice | Placement = "consolidated",
    predictor: str = "auto",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    gpus_per_server: int = GPUS_PER_SERVER,
    resolution_s: float = RESOLUTION_S,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    seed: int = 0,
    outages: Outages | None = None,
    mtbf_s: float | None = None,
    repair_s: float = REPAIR_S,
    kill_invalid_depend: bool = False,
    priority_age_s: float | None = None,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> WhatIf:
    """Simulate changes to a baseline, one at a time and combined.

    If the trace has recorded starts, the baseline is graded by how close it comes to them, as
    :func:`gpusched.fidelity` does; the answer carries that grade.

    Parameters
    ----------
    cluster
        Cluster of the baseline. None: equal servers. If the trace has recorded starts and names no
        GPU types, the number whose mean wait is closest to the recorded one; else the cluster of
        :func:`gpusched.traces.smallest_cluster`.
    base
        Policy of the baseline.
    changes
        Strings ``"KEY=VALUE"``, or a mapping. Keys: ``policy``, ``placement``, ``predictor``,
        ``speed``, ``contention``; ``servers`` and ``gpus_per_server`` (``12``, ``+4``, ``-4``,
        ``+10%``; ``servers[V100]`` if the cluster has several types); ``load`` (on the baseline's
        cluster, or a factor ``*1.2`` or ``+20%``); ``estimates`` (``exact``, or a factor);
        ``restart`` (cost of a restart of any job: ``60``, ``1m``); ``time_limit``,
        ``checkpoint_every`` (times, or ``off``), ``checkpoint_write``, ``max_requeues`` and
        ``requeue`` (``same`` or ``back``), for all jobs; ``mtbf`` (a time, or ``off``) and
        ``repair``.
    placement, predictor, speed, contention, seed, outages
        As for :func:`gpusched.simulate`, for the baseline.
    mtbf_s, repair_s
        Draw exponential failures of servers with these mean times to failure and to repair,
        seconds; see :func:`gpusched.generate_outages`. ``mtbf_s`` None: none in the baseline.
    kill_invalid_depend, priority_age_s
        As for :func:`gpusched.simulate`, for all cases.
    gpus_per_server
        Without a cluster: GPUs of each server.
    resolution_s
        Smallest change of a completion time that counts as a gain or loss, and smallest wait that
        counts for the grade, seconds.
    warm_up_s, tail_s
        Measure the part of each run from so many seconds after its first submission until so many
        before its last one, as :meth:`gpusched.Result.summary` does; gains and losses are counted
        over the jobs submitted then, and the same part is graded. None: measure the whole runs, and
        grade the same part as :func:`gpusched.fidelity`.
    threads, progress, stop
        As for :func:`gpusched.compare`; ``progress`` counts runs.

    Returns
    -------
    WhatIf
        The measures of the baseline and of the changes, with the grade.

    Raises
    ------
    ValueError
        If a change is malformed or not possible, or a name is unknown. An error in a run names its
        change.
    TypeError
        If an argument has the wrong type.
    Cancelled
        If ``stop`` was set.

    Examples
    --------
    >>> import gpusched as gs
    >>> cluster = gs.Cluster.uniform(4, 8)
    >>> jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    >>> answer = gs.whatif(jobs, cluster, "fifo", ["policy=fifo-skip", "servers=+1"])
    >>> answer.difference("servers=+1", "mean_wait_s") < 0
    True
    >>> answer.no_grade
    'the trace has no recorded starts'
    """
    asked = parse_changes(changes)
    for change in asked:
        change.check(trace)
    resolution_s = not_negative("resolution_s", resolution_s, 2.0**43)
    if outages is not None and mtbf_s is not None:
        raise ValueError("mtbf_s: cannot be combined with outages")
    for name, value in (("mtbf_s", mtbf_s), ("repair_s", repair_s)):
        if value is not None:
            check_positive(name, value)
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    policy = Policy.parse(base) if isinstance(base, str) else base
    known = for_trace(predictor, trace)
    _check_names(trace, asked, placement, known, speed, contention)
    said: list[str] = []
    measured, no_grade = _measured(trace, resolution_s, warm_up_s, tail_s)
    if cluster is None:
        start = Scenario(
            trace, ANYWHERE, policy, placement, known, speed, "none", seed,
            kill_invalid_depend=kill_invalid_depend, priority_age_s=priority_age_s,
        )  # fmt: skip
        cluster, how = _assumed(start, measured, gpus_per_server, threads, stop)
        said.append(how)
    start = Scenario(
        trace, cluster, policy, placement, known, speed, contention, seed, outages, mtbf_s,
        repair_s, kill_invalid_depend, priority_age_s,
    )  # fmt: skip
    scenarios = {BASE: start, **_changed(start, asked)}
    if len(asked) > 1 and TOGETHER not in scenarios:
        said.append("no row for all together: one setting changes in several ways")
    results = in_threads(
        {label: scenario.run for label, scenario in scenarios.items()},
        threads=threads, progress=progress, stop=stop,
    )  # fmt: skip
    reference, same = results[BASE], SameJobs(results, window)
    can_lose = any(len(result.schedule.lost_us) for result in results.values())
    measures = (*MEASURES, *LOST) if can_lose else MEASURES
    outcomes = tuple(
        outcome_of(label, result, reference, resolution_s, window, same, measures)
        for label, result in results.items()
    )
    if window is not None:
        said.append(f"measures cover each run {window}, on its own clock")
    like = None if measured is None else measured.likeness(reference)
    cuts: dict[str, Any] = {} if window is None else window.cuts
    growths = {label: float(of.metric(GROWTH, **cuts)) for label, of in results.items()}
    return WhatIf(
        trace,
        outcomes[0],
        outcomes[1:],
        like,
        None if like is None else like.grade,
        no_grade,
        resolution_s,
        (
            *said,
            *same.lines("every case"),
            *pile_ups(growths),
            *restart_costs(results),
            *_outages_told(results),
            *_remarks(results),
        ),
        same.share_of_others,
    )


def _check_names(
    trace: Trace,
    asked: Sequence[Change],
    placement: str | PlacementChoice | Placement,
    predictor: str,
    speed: str | SpeedChoice | None,
    contention: str | ContentionChoice,
) -> None:
    """Raise unless the names in the baseline and in each change are valid."""
    base: dict[str, Any] = {
        "placement": placement, "predictor": predictor, "speed": speed, "contention": contention,
    }  # fmt: skip
    check_shared(trace, **base)
    for change in asked:
        if change.key in base:
            try:
                check_shared(trace, **(base | {change.key: change.value}))
            except (ValueError, TypeError) as error:
                raise type(error)(f"change {change}: {error}") from None


def _changed(start: Scenario, asked: tuple[Change, ...]) -> dict[str, Scenario]:
    """Return the scenario of each change by its text, and that of all of them."""
    scenarios = {str(change): change.applied(start, start) for change in asked}
    if len(asked) > 1 and can_join(asked):
        joined = start
        for change in asked:
            joined = change.applied(joined, start)
        scenarios[TOGETHER] = joined
    return scenarios


def _measured(
    trace: Trace, resolution_s: float, warm_up_s: float | None, tail_s: float | None
) -> tuple[Window | None, str]:
    """Return the part of the trace that records what happened, or why there is none."""
    if not has_starts(trace):
        return None, "the trace has no recorded starts"
    try:
        return own_starts(trace, resolution_s).window(warm_up_s, tail_s), ""
    except ValueError as error:
        if warm_up_s is not None or tail_s is not None:
            raise
        return None, str(error)


def _assumed(
    start: Scenario,
    measured: Window | None,
    gpus_per_server: int,
    threads: int | None,
    stop: threading.Event | None,
) -> tuple[Cluster, str]:
    """Choose the cluster of the baseline, and give the reason."""
    trace = start.trace
    if start.speed is None and measured is not None and trace.type_set is None:
        search = CaseSearch(start, measured, (), gpus_per_server)
        found = in_threads({BASE: search.found}, threads=threads, stop=stop)[BASE]
        why = "whose mean wait is closest to the recorded one"
        return found[0].cluster, f"cluster assumed: {found[0].cluster}, {why}"
    return assumed_cluster(trace, gpus_per_server)


def _outages_told(results: Mapping[str, Result]) -> list[str]:
    """Describe the outages of the runs that have any."""
    said: dict[str, list[str]] = {}
    for label, result in results.items():
        if of := result.spec.outages:
            said.setdefault(f"{plural(of.num_rows, 'outage')} from {of.source}", []).append(label)
    return [f"{', '.join(labels)}: {text}" for text, labels in said.items()]


def _remarks(results: Mapping[str, Result]) -> list[str]:
    """Report the jobs that runs did not finish, and other warnings of the runs."""
    said: dict[str, list[str]] = {}
    for label, result in results.items():
        texts = [*unserved(result), *result.warnings]
        if result.clairvoyant:
            texts.append("clairvoyant (†): uses true run times")
        for text in texts:
            said.setdefault(text, []).append(label)
    return [f"{', '.join(labels)}: {text}" for text, labels in said.items()]
