"""Match columns of an input: by the user's map, then gpusched's names, then aliases."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from gpusched.base.suggest import HintedError, nearest
from gpusched.base.units import UNITS
from gpusched.traces import checked_columns as check

INTERARRIVAL: Final = "interarrival_s"
"""Used instead of submit times: the time since the previous row."""
START: Final = "start_s"
END: Final = "end_s"
"""When a job began and ended in the source; run time and wait are derived from these."""
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
"""Names that are recognised without a column map, after gpusched's own."""
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
    "checkpoint_every_s": ("checkpoint_every", "checkpoint_interval"),
    "eligible_s": ("eligible", "eligible_time"),
    "cancel_at_s": ("cancel_at",),
    "deadline_s": ("deadline",),
    "estimate_s": ("estimate",),
}
"""Names that are recognised if none of the above exists; all names are also recognised in other
spellings (``Job ID`` and ``JobID`` are ``job_id``) and with a unit: ``duration_hours``."""
WITH_UNIT: Final = {"service_s": {"run"}}
"""Names that are recognised only with a unit: a plain ``run`` is a number."""
_OWN: Final = ("row",)  # written to files, but recomputed when reading
_NUM_SHOWN: Final = 10


class Choice(msgspec.Struct, frozen=True):
    """The input's column for each known name, the unused ones, and which were guessed."""

    columns: Mapping[str, str]
    unused: tuple[str, ...]
    alike: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the choice."""
        told = ", ".join(f"{ours} from {self.columns[ours]!r}" for ours in self.alike)
        return (*((f"understood: {told}",) if told else ()), *unused_note(self.unused))


def unused_note(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note that lists unused columns, if there are any."""
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
    """Find the input's column for each known name: by the map, equal names, then aliases.

    Known names are those of every trace, :data:`INTERARRIVAL`, and ``extra``.

    ``of_file``: whether names may end in a unit, and :data:`START` and :data:`END` are known, too:
        they can replace submit times and run times.
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
        taken.add(START)  # start of a simulation result: its wait is not the recorded one
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
    """Return the words of a name in lower case: ``["job", "id"]`` for ``Job-ID``."""
    return [word for word in re.split(r"[^a-z0-9]+", name.lower()) if word]


def _keys_of(name: str, has_units: bool) -> tuple[str, str]:
    """Return the letters of a name, and those before a time unit at its end, if any."""
    words = words_of(name)
    is_timed = has_units and len(words) > 1 and words[-1] in UNITS
    return "".join(words), "".join(words[:-1]) if is_timed else ""


def _alike(ours: str, keys: Mapping[str, tuple[str, str]]) -> list[str]:
    """Return the columns whose names match up to spelling and units."""
    names = (ours, *ALIASES.get(ours, ()), *MORE_ALIASES.get(ours, ()))
    known = {"".join(words_of(name)) for name in names}
    timed = {"".join(words_of(name.removesuffix("_s"))) for name in names}
    timed = timed | WITH_UNIT.get(ours, set()) if ours.endswith("_s") else set()
    return [
        name for name, (whole, base) in keys.items()
        if (whole and whole in known) or (base and base in timed)
    ]  # fmt: skip


def _derive(source: str, chosen: dict[str, str]) -> set[str]:
    """Use starts or ends as submit times if needed; return the names that are not needed."""
    has_service = "service_s" in chosen
    if not {"submit_s", INTERARRIVAL} & chosen.keys():
        if START in chosen:
            chosen["submit_s"] = chosen[START]
        elif has_service and END in chosen:
            chosen["submit_s"] = chosen[END]
    elif not has_service and END in chosen and START not in chosen and "submit_s" in chosen:
        submit = chosen["submit_s"]
        raise HintedError(
            f"{source}: column 'service_s' is missing; {submit!r} to {chosen[END]!r} includes "
            "the wait: name the column of run times or of starts",
            f" (columns={{'start_s': {submit!r}}} if jobs start when they are submitted)",
            f" (--column start_s={submit} if jobs start when they are submitted)",
        )  # fmt: skip
    unused = {END} if has_service else set()
    return unused | ({START} if has_service and "source_wait_s" in chosen else set())


def _choose_arrivals(source: str, chosen: dict[str, str], mapped: set[str]) -> None:
    """Keep either submit times or gaps, if the map says which."""
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
