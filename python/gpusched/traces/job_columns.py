"""The columns of a job, :data:`JOB_COLUMNS`: checks, files, frames and docs use this table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Final, Literal

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int32, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.ticks import MAX_HORIZON_US, MAX_SERVICE_US, MAX_SUBMIT_US, US_PER_S
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU

Kind = Literal["duration", "moment", "whole", "amount", "number", "label", "id", "types", "model"]
"""Seconds, seconds on the clock of the trace, whole numbers, parts of a unit, any numbers, shared
names, unique names, sets of GPU types, and indices of the trace's profiles or graphs."""

NOT_GIVEN: Final = -1
"""Marks a missing duration or time in a column in which other jobs have one."""
NOT_A_TIME: Final = np.iinfo(np.int64).min
"""Marks a missing time before times are shifted, when some may be negative."""
HELD: Final = MAX_HORIZON_US
"""In the column ``eligible_us``: held for good; infinite in public units."""
MAX_GPUS: Final = 2**31 - 1
NO_LIMIT: Final = MAX_GPUS
"""In the column ``max_gpus``: limited only by the performance model."""
MAX_DEMAND: Final = 2**40
"""Maximum of thousandths of a core, and of MiB, per worker."""


class Beside(msgspec.Struct, frozen=True):
    """A rule between two values of one job.

    Attributes
    ----------
    other
        The trace column of the other value.
    holds
        Whether it holds, given the values as stored in a trace.
    rule
        The text of a message if it does not.
    """

    other: str
    holds: Callable[[AnyArray, AnyArray], Bool]
    rule: str


class JobColumn(msgspec.Struct, frozen=True):
    """A column of jobs.

    Attributes
    ----------
    name
        Name in :meth:`gpusched.Trace.from_columns`, frames and files; it includes the unit.
    stored, dtype
        The attribute of a trace that holds it, and its type; ``""``: integers or text.
    kind
        How it is read and checked.
    text
        A sentence for the docs.
    units
        Stored units per public unit.
    least, above, most
        Bounds in the public unit: at least, more than, at most.
    default
        Value, in stored units, if the trace lacks the column; None: every trace has it.
    may_miss
        Whether single jobs may have no value; the default is stored for them.
    infinite
        What is stored for an infinite value; None: values must be finite.
    is_null
        Whether a frame shows the default as null.
    beside
        The rule between it and another column.
    is_used
        Whether runs read it; others are kept, and reported as unused.
    needs_a_value
        Whether a column without a value for any job counts as missing.
    """

    name: str
    stored: str
    dtype: str
    kind: Kind
    text: str
    units: int = 1
    least: float | None = None
    above: float | None = None
    most: float | None = None
    default: Any = None
    may_miss: bool = False
    infinite: int | None = None
    is_null: bool = False
    beside: Beside | None = None
    is_used: bool = True
    needs_a_value: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether its values are numbers."""
        return self.kind in ("duration", "moment", "whole", "amount", "number")

    @property
    def is_required(self) -> bool:
        """Whether every trace must have it."""
        return self.is_numeric and self.default is None


def _duration(name: str, text: str, **rules: Any) -> JobColumn:
    most = MAX_SERVICE_US / US_PER_S
    stored = f"{name.removesuffix('_s')}_us"
    return JobColumn(name, stored, "i8", "duration", text, US_PER_S, most=most, **rules)


def _moment(name: str, text: str, **rules: Any) -> JobColumn:
    most = MAX_SUBMIT_US / US_PER_S
    stored = f"{name.removesuffix('_s')}_us"
    return JobColumn(name, stored, "i8", "moment", text, US_PER_S, most=most, **rules)


def _label(name: str, text: str, default: str = "", **rules: Any) -> JobColumn:
    return JobColumn(name, name, "i4", "label", text, default=default, may_miss=True, **rules)


_UNKNOWN: Final[dict[str, Any]] = {"default": NOT_GIVEN, "may_miss": True, "is_null": True}
_MAY_LACK: Final[dict[str, Any]] = {"may_miss": True, "needs_a_value": True}

JOB_COLUMNS: Final = {
    column.name: column
    for column in (
        JobColumn("id", "id", "", "id", "Unique integers or texts; default: the position."),
        _moment("submit_s", "When the job is submitted.", least=0),
        _duration("service_s", "Run time on an idle cluster.", above=0),
        JobColumn("gpus", "gpus", "i4", "whole", "Number of GPUs.", above=0, most=MAX_GPUS),
        _duration(
            "estimate_s",
            "Predicted run time, for `easy`, `conservative` and `predictor=\"estimate\"`.",
            above=0, **_UNKNOWN,
        ),
        _duration(
            "predicted_s", "Another predicted run time, for `predictor=\"column\"`.",
            above=0, **_UNKNOWN,
        ),
        _duration(
            "checkpoint_s", "The job's own overhead to stop and resume.",
            least=0, default=0,
        ),
        _duration(
            "restart_s", "The job's own restart overhead.", least=0, default=0
        ),
        _duration(
            "checkpoint_every_s", "Work between two checkpoints; without it a failure loses all.",
            above=0, default=0, is_null=True, **_MAY_LACK,
        ),
        _duration(
            "checkpoint_write_s", "Time to write a checkpoint.", least=0, default=0, **_MAY_LACK,
            beside=Beside(
                "checkpoint_every_us", lambda write, every: (write == 0) | (every > 0),
                "needs a checkpoint_every_s",
            ),
        ),
        JobColumn(
            "max_requeues", "max_requeues", "i4", "whole",
            "Failures of servers after which it waits again; the next one ends it.",
            least=0, most=MAX_GPUS, default=NOT_GIVEN, is_null=True, **_MAY_LACK,
        ),
        JobColumn(
            "requeue_back", "requeue_back", "i4", "whole",
            "1: after an interruption it goes to the back of the queue; 0: it keeps its place.",
            least=0, most=1, default=0, **_MAY_LACK,
        ),
        _duration(
            "source_wait_s", "The recorded wait; kept for comparison only.",
            least=0, **_UNKNOWN,
        ),
        JobColumn(
            "weight", "weight", "f8", "number", "For `wspt` and the weighted JCT.",
            above=0, default=1.0,
        ),
        JobColumn(
            "gpu_share", "share_milli", "i4", "amount",
            "Share of a GPU that a 1-GPU job takes, at most 1, exact to 0.001.",
            WHOLE_GPU, above=0, most=1, default=WHOLE_GPU, may_miss=True,
            beside=Beside(
                "gpus", lambda share, gpus: (share == WHOLE_GPU) | (gpus <= 1),
                "must be 1 for a job of several GPUs",
            ),
        ),
        JobColumn(
            "cpu", "cpu_milli", "i8", "amount", "CPU cores of each worker.",
            MILLI_PER_CORE, least=0, most=MAX_DEMAND // MILLI_PER_CORE, default=0, may_miss=True,
        ),
        JobColumn(
            "memory_gib", "memory_mib", "i8", "amount", "GiB of memory of each worker.",
            MIB_PER_GIB, least=0, most=MAX_DEMAND // MIB_PER_GIB, default=0, may_miss=True,
        ),
        JobColumn(
            "value", "value", "f8", "number", "Value of meeting the deadline.",
            above=0, default=1.0, may_miss=True,
        ),
        JobColumn(
            "min_gpus", "min_gpus", "i4", "whole",
            "Minimum number of GPUs under an elastic performance model.",
            least=1, most=MAX_GPUS, default=1, may_miss=True,
            beside=Beside("gpus", np.less_equal, "must not exceed gpus"),
        ),
        _moment(
            "deadline_s", "On the clock of `submit_s`; a job without one is best effort.",
            beside=Beside("submit_us", np.greater, "must lie after the submission"), **_UNKNOWN,
        ),
        JobColumn(
            "max_gpus", "max_gpus", "i4", "whole",
            "Maximum number of GPUs under an elastic performance model.",
            least=1, most=MAX_GPUS, default=NO_LIMIT, may_miss=True, is_null=True,
            beside=Beside("gpus", np.greater_equal, "must be at least gpus"),
        ),
        JobColumn(
            "gpus_per_node", "gpus_per_node", "i4", "whole",
            "GPUs on each of its servers; 0: the placement decides.",
            least=0, most=MAX_GPUS, default=0, may_miss=True, is_null=True,
            beside=Beside(
                "gpus", lambda each, gpus: gpus % np.maximum(each, 1) == 0, "must divide gpus"
            ),
        ),
        _duration(
            "time_limit_s", "The time after which a run of the job is ended.",
            above=0, needs_a_value=True, **_UNKNOWN,
        ),
        _moment(
            "eligible_s", "Not in the queue before; `inf`: held for good.",
            infinite=HELD, **_UNKNOWN,
            beside=Beside("submit_us", np.greater_equal, "must not lie before the submission"),
        ),
        _moment(
            "cancel_at_s", "The user cancels the job then, if it is not over.",
            needs_a_value=True, **_UNKNOWN,
            beside=Beside("submit_us", np.greater, "must lie after the submission"),
        ),
        JobColumn(
            "array_limit", "array_limit", "i4", "whole",
            "Most tasks of its array that are queued or running at once.",
            least=1, most=MAX_GPUS, default=NOT_GIVEN, is_null=True, **_MAY_LACK,
        ),
        JobColumn(
            "priority", "priority", "f8", "number", "Higher goes first, under list-like policies.",
            default=0.0, may_miss=True,
        ),
        JobColumn(
            "nice", "nice", "f8", "number", "Subtracted from the priority.", default=0.0,
            may_miss=True,
        ),
        _label("user", "The user that submitted the job."),
        _label("queue", "The queue, or the virtual cluster."),
        _label("group", "The group of similar jobs, such as a model."),
        _label(
            "status", "`ok`, `failed`, `killed` or `unknown` (also if missing).",
            default="unknown",
        ),
        _label("ran_on", "The GPU type that the job ran on and its run time refers to."),
        _label("partition", "The partition of the cluster.", is_used=False),
        _label("account", "The account that is charged.", is_used=False),
        _label("qos", "The quality of service.", is_used=False),
        _label("dependency", "The jobs that it waits for: `afterok:7`."),
        _label("array", "The array of which it is a task.", needs_a_value=True),
        JobColumn(
            "gpu_types", "type_set", "i4", "types", "Allowed types, `\"V100|T4\"`; empty: any.",
            may_miss=True,
        ),
        JobColumn("profile", "profile", "i4", "model", "Its entry of `profiles`."),
        JobColumn("graph", "graph", "i4", "model", "Its entry of `graphs`."),
    )
}  # fmt: skip
"""The columns by name, in the order of frames and files."""

_MOMENTS: Final = {
    column.stored: column.name
    for column in JOB_COLUMNS.values()
    if column.kind == "moment" and not column.is_required
}
_NEEDS_A_VALUE: Final = {
    column.stored: column.default for column in JOB_COLUMNS.values() if column.needs_a_value
}


def moved(columns: Any, shift_us: Int64 | int, none: int = NOT_GIVEN) -> dict[str, Any]:
    """Return the times of jobs other than submissions, moved by ``shift_us``.

    Parameters
    ----------
    columns
        A trace, or a mapping by the attributes of one.
    none
        Marks missing times; they become ``NOT_GIVEN``.

    Raises
    ------
    ValueError
        If a time exceeds the time type.
    """
    get = columns.get if isinstance(columns, Mapping) else partial(getattr, columns)
    found = {stored: get(stored, None) for stored in _MOMENTS}
    changed = {}
    for stored, given in found.items():
        if given is None:
            continue
        is_held = given == HELD
        changed[stored] = np.where(given == none, NOT_GIVEN, given + shift_us)
        if len(given) and int(changed[stored].max(where=~is_held, initial=0)) >= MAX_HORIZON_US:
            what = "a deadline" if stored == "deadline_us" else "it"
            raise ValueError(f"column {_MOMENTS[stored]!r}: {what} must be below 2^62 us")
        changed[stored][is_held] = HELD
    return {stored: read_only(values) for stored, values in changed.items()}


HOLDS: Final = ("eligible_s", "cancel_at_s", "array_limit", "dependency")
"""Columns by which jobs are held or cancelled during a run."""


def precedence_of(trace: Any, age_s: float | None = None) -> Int32 | None:
    """Return the rank of each job by its priority, 0 first; None if all are equal.

    Parameters
    ----------
    age_s
        The wait that is worth one point of priority, seconds: the rank is that of the submission,
        this much earlier per point. None: priorities are strict.
    """
    if age_s is None and trace.priority is None and trace.nice is None:
        return None
    points = np.zeros(len(trace))
    points = points if trace.priority is None else points + trace.priority
    points = points if trace.nice is None else points - trace.nice
    values, index = np.unique(-points, return_inverse=True)
    if age_s is not None:
        each = Fraction(age_s) * US_PER_S  # exact, as products of floats may tie or swap jobs
        later_us = [round(Fraction(value) * each) for value in values.tolist()]
        is_small = max(map(abs, later_us)) < MAX_HORIZON_US
        kept = np.array(later_us, np.int64 if is_small else object)
        values, index = np.unique(trace.submit_us + kept[index], return_inverse=True)
    return None if len(values) == 1 else index.astype(np.int32)


def unused(trace: Any, *others: str) -> list[str]:
    """Return a note on the columns of a trace that are not used, among them ``others``, if any."""
    names = [
        column.name
        for column in JOB_COLUMNS.values()
        if (not column.is_used or column.name in others)
        and _tells(getattr(trace, column.stored), column.default)
    ]
    return [f"columns kept, but used by no policy: {', '.join(names)}"] if names else []


def is_blank(stored: str, values: Any) -> bool:
    """Whether this stored column counts as missing, since no job has a value."""
    return stored in _NEEDS_A_VALUE and not _tells(values, _NEEDS_A_VALUE[stored])


def _tells(values: Any, default: Any) -> bool:
    """Whether a job has a value other than the default."""
    if isinstance(values, Labels):
        values = np.array(values.names)[values.counts() > 0]
    return values is not None and bool((values != default).any())
