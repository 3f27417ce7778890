"""What the generic readers share: whose column is which, and how a frame becomes a trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.arrays import AnyArray
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.rejects import OnBad, Screen
from gpusched.base.source import Source
from gpusched.traces import checked_columns as check
from gpusched.traces import deadlines
from gpusched.traces import text_columns as parse
from gpusched.traces.assembly import assemble
from gpusched.traces.intake.arrivals import cumulated
from gpusched.traces.intake.column_choice import INTERARRIVAL, choose_columns
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    import polars

_OPTIONAL_VALUES: Final = (
    "estimate_s", "predicted_s", "source_wait_s", "gpu_share", "cpu", "memory_gib", "deadline_s",
    "value", "min_gpus", "max_gpus",
)  # fmt: skip


def trace_of(
    source: Source,
    screen: Screen,
    data: Mapping[str, polars.Series],
    columns: Mapping[str, str] | None,
    on_bad: OnBad,
) -> Trace:
    """Turn named columns into a trace; submit times may be seconds, wall-clock times or gaps.

    Deadlines may be wall-clock times where the submissions are; seconds count from 1970 there.
    """
    choice = choose_columns(list(data), columns, source=str(source))
    chosen = choice.columns
    numeric: dict[str, AnyArray] = {}
    epoch = None
    if INTERARRIVAL in chosen:
        label, values = chosen[INTERARRIVAL], data[chosen[INTERARRIVAL]]
        gaps = parse.numbers(screen, INTERARRIVAL, label, values, may_miss=True)
        numeric["submit_us"] = cumulated(screen, INTERARRIVAL, gaps)
    for ours in check.NUMERIC:
        if ours not in chosen:
            continue
        label, values = chosen[ours], data[chosen[ours]]
        if ours == "submit_s" and parse.is_wall_clock(values):
            numeric["submit_us"] = parse.times(screen, ours, label, values)
            epoch = parse.UNIX_EPOCH
        elif ours == "deadline_s" and parse.is_wall_clock(values):
            if epoch is None:
                raise ValueError(
                    f"{source}: column {label!r} has wall-clock times, as the submissions have not"
                )
            numeric["deadline_us"] = parse.times(
                screen, ours, label, values, missing=deadlines.NOT_A_TIME
            )
        else:
            may_miss = ours in _OPTIONAL_VALUES
            numeric[ours] = parse.numbers(screen, ours, label, values, may_miss=may_miss)
    named: dict[str, Labels] = {
        ours: parse.labels(screen, chosen[ours], data[chosen[ours]])
        for ours in check.LABELS
        if ours in chosen
    }
    if "status" in named:
        named["status"] = named["status"].among(STATUSES, "unknown")
    ids = parse.identifiers(screen, chosen["id"], data[chosen["id"]]) if "id" in chosen else None
    attributes = assemble(
        screen,
        numeric,
        ids=ids,
        labels=named,
        gpu_types=_types(data[chosen["gpu_types"]]) if "gpu_types" in chosen else None,
        on_bad=on_bad,
        name=source.name,
        source=str(source),
        epoch=epoch,
        rebase=True,
        notes=choice.notes,
    )
    return Trace(**attributes)


def _types(values: polars.Series) -> Labels | list[Any]:
    """Number texts such as ``V100|T4``; a typed file may have lists instead."""
    return Labels.of(values) if str(values.dtype) == "String" else values.to_list()
