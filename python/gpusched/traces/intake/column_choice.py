"""Whose column is which: the user's own map, then our names, then others that are usual."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gpusched.base.suggest import HintedError, nearest
from gpusched.base.units import UNITS
from gpusched.traces import checked_columns as check

INTERARRIVAL: Final = "interarrival_s"
"""Stands in the place of submit times: the time since the row before."""
START: Final = "start_s"
END: Final = "end_s"
"""When a job began and ended in the source, of which its run time and its wait follow."""
ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "submit_s": ("submit", "submit_time", "submission_time", "arrival_s", "arrival_time"),
    INTERARRIVAL: ("interarrival", "inter_arrival_s", "inter_arrival_time"),
    "service_s": ("duration_s", "duration", "run_time_s", "run_time", "runtime", "service"),
    START: ("start", "start_time"),
    END: ("end", "end_time"),
    "gpus": ("num_gpus", "num_gpu", "gpu_num", "n_gpus"),
    "id": ("job_id", "jobid"),
    "queue": ("vc",),
    "group": ("model",),
    "gpu_types": ("gpu_type",),
}
"""Names that are understood without a column map, after our own names."""
MORE_ALIASES: Final[Mapping[str, tuple[str, ...]]] = {
    "submit_s": ("submitted", "submitted_at", "submission", "arrival", "arrived_at"),
    "service_s": ("elapsed", "elapsed_raw", "elapsed_time", "execution_time"),
    START: ("started", "started_at", "begin", "begin_time"),
    END: ("ended", "ended_at", "finish", "finish_time", "finished_at", "completed_at"),
    "gpus": ("gpu", "gpu_count", "requested_gpus"),
    "user": ("user_name", "user_id", "owner"),
    "queue": ("queue_name",),
    "account": ("account_name",),
    "partition": ("partition_name",),
    "time_limit_s": ("time_limit",),
    "eligible_s": ("eligible", "eligible_time"),
    "deadline_s": ("deadline",),
    "estimate_s": ("estimate",),
}
"""Those that are understood where none of the above is there; as are all in other letters: ``Job
ID`` and ``JobID`` are ``job_id``, and with the unit at their end: ``duration_hours``."""
WITH_UNIT: Final = {"service_s": {"run"}}
"""Those that are understood with a unit at their end alone: a ``run`` without one is a number."""
_OWN: Final = ("row",)  # what we write beside the columns, and make again in reading
_NUM_SHOWN: Final = 10


class Choice(msgspec.Struct, frozen=True):
    """The input's column for each of ours, those that are none of ours, and which were guessed."""

    columns: Mapping[str, str]
    unused: tuple[str, ...]
    alike: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader should know of the choice."""
        told = ", ".join(f"{ours} from {self.columns[ours]!r}" for ours in self.alike)
        return (*((f"understood: {told}",) if told else ()), *unused_note(self.unused))


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
    of_file: bool = False,
) -> Choice:
    """Find the input's column for each of ours: the given map, then equal names, then aliases.

    Ours are those of every trace, :data:`INTERARRIVAL`, and ``extra`` ones.

    Parameters
    ----------
    of_file
        Whether names may end in a unit, and :data:`START` and :data:`END` are ours, too: submit
        times follow from starts, or from ends and run times, and run times from both.

    Raises
    ------
    ValueError
        If the map names a column that does not exist, on either side, two columns could be the
        same one of ours, or a required one is missing.
    """
    chosen = dict(mapped or {})
    every = (*check.ALL, INTERARRIVAL, *((START, END) if of_file else ()), *extra)
    for ours, theirs in chosen.items():
        if ours not in every:
            raise HintedError(
                "", f"columns: unknown name {ours!r}{nearest(ours, every)}",
                f"--column: unknown name {ours!r}{nearest(ours, every)}",
            )  # fmt: skip
        if theirs not in present:
            raise ValueError(f"{source}: no column {theirs!r} for {ours}{nearest(theirs, present)}")
    alike: list[str] = []
    taken = set(chosen.values())
    if {"service_s", "finish_s"} <= set(present):
        taken.add(START)  # that of a result: a wait under a policy is not the one of the source
    keys = {name: _keys_of(name, of_file) for name in present if name not in taken}
    for ours in every:
        if ours in chosen:
            continue
        names = (ours, *ALIASES.get(ours, ()))
        known = [name for name in names if name in keys]
        found = known or _alike(ours, keys)
        if len(found) > 1:
            raise _ambiguous(source, f"either of the columns {_quoted(found)}", ours, found[-1])
        if found:
            chosen[ours] = found[0]
            del keys[found[0]]
            if not known:
                alike.append(ours)
    _choose_arrivals(source, chosen, set(mapped or ()))
    unused = _derive(source, chosen)
    for ours in check.REQUIRED:
        if ours not in chosen and not (ours == "submit_s" and INTERARRIVAL in chosen):
            if ours == "service_s" and {START, END} <= chosen.keys():
                continue
            raise HintedError(
                f"{source}: column {ours!r} is missing; there are {', '.join(present)}",
                f" (name yours with columns={{{ours!r}: ...}})",
                f" (name yours: --column {ours}=...)",
            )  # fmt: skip
    used = {*(theirs for ours, theirs in chosen.items() if ours not in unused), *_OWN}
    unused_names = tuple(name for name in present if name not in used)
    chosen = {ours: theirs for ours, theirs in chosen.items() if theirs not in unused_names}
    return Choice(chosen, unused_names, tuple(ours for ours in alike if ours in chosen))


def words_of(name: str) -> list[str]:
    """Return the words of a name in small letters: ``["job", "id"]`` of ``Job-ID``."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def _keys_of(name: str, has_units: bool) -> tuple[str, str]:
    """Return the letters of a name, and those before a unit of time at its end, if one is."""
    words = words_of(name)
    is_timed = has_units and len(words) > 1 and words[-1] in UNITS
    return "".join(words), "".join(words[:-1]) if is_timed else ""


def _alike(ours: str, keys: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the columns whose names are among those of ours but for letters and units."""
    names = (ours, *ALIASES.get(ours, ()), *MORE_ALIASES.get(ours, ()))
    known = {"".join(words_of(name)) for name in names}
    timed = {"".join(words_of(name.removesuffix("_s"))) for name in names}
    timed = timed | WITH_UNIT.get(ours, set()) if ours.endswith("_s") else set()
    return [
        name for name, (whole, base) in keys.items()
        if (whole and whole in known) or (base and base in timed)
    ]  # fmt: skip


def _derive(source: str, chosen: dict[str, str]) -> set[str]:
    """Put starts or ends in the place of submit times if need be; return what is not needed."""
    has_service = "service_s" in chosen
    if not {"submit_s", INTERARRIVAL} & chosen.keys():
        if START in chosen:
            chosen["submit_s"] = chosen[START]
        elif has_service and END in chosen:
            chosen["submit_s"] = chosen[END]
    elif not has_service and END in chosen and START not in chosen and "submit_s" in chosen:
        submit = chosen["submit_s"]
        raise HintedError(
            f"{source}: column 'service_s' is missing; from {submit!r} to {chosen[END]!r} "
            "jobs also wait: name the column of run times or of starts",
            f" (columns={{'start_s': {submit!r}}} if jobs start when they are submitted)",
            f" (--column start_s={submit} if jobs start when they are submitted)",
        )  # fmt: skip
    unused = {END} if has_service else set()
    return unused | ({START} if has_service and "source_wait_s" in chosen else set())


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
