"""What profiles and graphs share: figures by GPU type, and columns that name one of several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpusched.base.arrays import Bool, Int32
from gpusched.base.intake import masked_rows, plain_array
from gpusched.base.suggest import nearest
from gpusched.clusters.network import check_name

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

PerType: TypeAlias = float | dict[str, float]
"""One figure for every GPU type, or one per type by its name."""


def per_type(field: str, value: Any, high: float) -> PerType:
    """Return figures in 0..high as floats.

    Raises
    ------
    TypeError, ValueError
        If one is no number or out of range, or there is none; the message names ``field``.
    """
    if not isinstance(value, dict):
        return not_negative(field, value, high)
    if not value:
        raise ValueError(f"{field}: must have a figure for at least one GPU type")
    for gpu_type in value:
        check_name(f"{field}: GPU type", gpu_type)
    return {
        gpu_type: not_negative(f"{field}[{gpu_type!r}]", figure, high)
        for gpu_type, figure in value.items()
    }


def not_negative(field: str, value: Any, high: float) -> float:
    """Return ``value`` as a float; raise unless it is a number in 0..high."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{field}: {value!r} must be a number")
    if not 0 <= value <= high:  # written so that NaN fails
        raise ValueError(f"{field}: {value!r} must lie in 0..{high:g}")
    return float(value)


def check_distinct(field: str, names: Sequence[str], where: str = "") -> None:
    """Raise ValueError if there are no names, or two equal ones: ``field`` is the list they name.

    ``where`` goes before the message.
    """
    first: dict[str, int] = {}
    for position, name in enumerate(names):
        if first.setdefault(name, position) != position:
            raise ValueError(
                f"{where}{field}[{position}].name: {name!r} is the name of "
                f"{field}[{first[name]}] too"
            )
    if not first:
        raise ValueError(f"{where}{field}: at least one is needed")


def numbered(column: str, values: Any, names: Sequence[str], num_rows: int) -> Int32:
    """Number one of ``names``, or one index of them, per row.

    Raises
    ------
    TypeError
        If the column holds neither text nor integers.
    ValueError
        If it has another length, or an entry is no name or index; the message names the row.
    """
    array = plain_array(f"column {column!r}", values)
    if array.shape != (num_rows,):
        raise ValueError(f"column {column!r} has shape {array.shape}, not ({num_rows},)")
    missing = masked_rows(values)
    if missing is not None and missing.any():
        raise ValueError(f"row {int(np.argmax(missing))}, column {column!r}: is missing")
    if array.dtype.kind in "iu":
        outside = np.flatnonzero((array < 0) | (array >= len(names)))
        if outside.size:
            row = int(outside[0])
            raise ValueError(
                f"row {row}, column {column!r}: {array[row]} must lie in 0..{len(names) - 1}"
            )
        return array.astype(np.int32)
    number = {name: position for position, name in enumerate(names)}
    entries = array.tolist()
    for row, name in enumerate(entries):
        if not isinstance(name, str):
            raise TypeError(
                f"row {row}, column {column!r}: {name!r} must be text, or all rows integers"
            )
        if name not in number:
            raise ValueError(
                f"row {row}, column {column!r}: unknown {name!r}{nearest(name, list(number))}"
            )
    return np.array([number[name] for name in entries], dtype=np.int32)


def allowed_but_lacking(
    trace: Trace, types: Sequence[str], index: Int32, lacking: Bool
) -> tuple[int, int, str] | None:
    """Find a job that may run on a GPU type for which its model has no figure.

    Parameters
    ----------
    types
        GPU types of the cluster.
    index
        int32[num_jobs]: the model of each job.
    lacking
        bool[num_models, num_types]: where there is no figure.

    Returns
    -------
    tuple or None
        The first such job, the index of the type, and text that counts the others; None if
        there is no such job.
    """
    if not lacking[np.unique(index)].any():
        return None
    allowed: Bool = np.ones((1, len(types)), dtype=np.bool_)
    sets = np.zeros(len(trace), dtype=np.int32)
    if trace.type_set is not None:
        allowed = np.array([[not s or name in s for name in types] for s in trace.type_sets])
        sets = trace.type_set
    missing: Bool = np.asarray((lacking[:, None, :] & allowed[None, :, :]).any(axis=2))
    jobs = np.flatnonzero(missing[index, sets])
    if not jobs.size:
        return None
    job = int(jobs[0])
    position = int(np.flatnonzero(lacking[index[job], :] & allowed[sets[job], :])[0])
    others = f", nor for {jobs.size - 1:,} other jobs" if jobs.size > 1 else ""
    return job, position, others
