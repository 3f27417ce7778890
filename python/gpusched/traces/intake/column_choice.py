"""Whose column is which: the user's own map, then our names, then others that are usual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gpusched.base.suggest import HintedError, nearest
from gpusched.traces import checked_columns as check

INTERARRIVAL: Final = "interarrival_s"
"""Stands in the place of submit times: the time since the row before."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "submit_s": ("submit", "submit_time", "submission_time", "arrival_s", "arrival_time"),
    INTERARRIVAL: ("interarrival", "inter_arrival_s", "inter_arrival_time"),
    "service_s": ("duration_s", "duration", "run_time_s", "run_time", "runtime", "service"),
    "gpus": ("num_gpus", "num_gpu", "gpu_num", "n_gpus"),
    "id": ("job_id", "jobid"),
    "queue": ("vc",),
    "group": ("model",),
    "gpu_types": ("gpu_type",),
}
"""Names that are understood without a column map, after our own names."""
_OWN: Final = ("row",)  # what we write beside the columns, and make again in reading
_NUM_SHOWN: Final = 10


class Choice(msgspec.Struct, frozen=True):
    """The input's column for each of ours, and those that are none of ours."""

    columns: Mapping[str, str]
    unused: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the choice."""
        return unused_note(self.unused)


def unused_note(names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence that names columns which are not used, if there are any."""
    if not names:
        return ()
    others = f" and {len(names) - _NUM_SHOWN:,} more" if len(names) > _NUM_SHOWN else ""
    return (f"columns not used: {', '.join(names[:_NUM_SHOWN])}{others}",)


def choose_columns(
    present: Sequence[str],
    mapped: Mapping[str, str] | None,
    *,
    source: str = "columns",
    extra: Sequence[str] = (),
) -> Choice:
    """Find the input's column for each of ours: the given map, then equal names, then aliases.

    Ours are those of every trace, :data:`INTERARRIVAL`, and ``extra`` ones.

    Raises
    ------
    ValueError
        If the map names a column that does not exist, on either side, two columns could be the
        same one of ours, or a required one is missing.
    """
    chosen = dict(mapped or {})
    every = (*check.ALL, INTERARRIVAL, *extra)
    for ours, theirs in chosen.items():
        if ours not in every:
            raise HintedError(
                "", f"columns: unknown name {ours!r}{nearest(ours, every)}",
                f"--column: unknown name {ours!r}{nearest(ours, every)}",
            )  # fmt: skip
        if theirs not in present:
            raise ValueError(f"{source}: no column {theirs!r} for {ours}{nearest(theirs, present)}")
    taken = set(chosen.values())
    for ours in every:
        names = (ours, *ALIASES.get(ours, ()))
        found = [name for name in names if name in present and name not in taken]
        if ours in chosen or not found:
            continue
        if len(found) > 1:
            raise _ambiguous(source, f"either of the columns {_quoted(found)}", ours, found[-1])
        chosen[ours] = found[0]
    _choose_arrivals(source, chosen, set(mapped or ()))
    for ours in check.REQUIRED:
        if ours not in chosen and not (ours == "submit_s" and INTERARRIVAL in chosen):
            raise HintedError(
                f"{source}: column {ours!r} is missing; there are {', '.join(present)}",
                f" (name yours with columns={{{ours!r}: ...}})",
                f" (name yours: --column {ours}=...)",
            )  # fmt: skip
    used = {*chosen.values(), *_OWN}
    return Choice(chosen, tuple(name for name in present if name not in used))


def _choose_arrivals(source: str, chosen: dict[str, str], mapped: set[str]) -> None:
    """Leave one of submit times and gaps, if it is clear which one is meant."""
    if not {"submit_s", INTERARRIVAL} <= chosen.keys():
        return
    named = mapped & {"submit_s", INTERARRIVAL}
    if len(named) != 1:
        both = [chosen["submit_s"], chosen[INTERARRIVAL]]
        what = f"each of the columns {_quoted(both)}"
        raise _ambiguous(source, what, "submit_s", both[0], "when jobs arrive")
    del chosen[(INTERARRIVAL if "submit_s" in named else "submit_s")]


def _ambiguous(source: str, what: str, ours: str, example: str, meaning: str = "") -> HintedError:
    return HintedError(
        f"{source}: {what} could be {meaning or ours}; choose one",
        f" with columns={{{ours!r}: {example!r}}}", f" with --column {ours}={example}",
    )  # fmt: skip


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(map(repr, names))
