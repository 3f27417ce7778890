"""The export formats of schedules. To add one, add a file to ``formats/``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Int64
from gpusched.base.registry import Registry, told
from gpusched.base.replacing import replacing
from gpusched.base.suggest import nearest
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.schedules.schedule import FINISHED, REJECTED, Schedule, over_us
from gpusched.traces.workload import Trace


class Exported(msgspec.Struct, frozen=True):
    """A schedule to export: attributes of :class:`gpusched.Result`."""

    trace: Trace
    cluster: Cluster
    schedule: Schedule
    intervals: Mapping[str, AnyArray]
    outages: Outages | None = None

    @property
    def is_finished(self) -> Bool:
        """Per job, whether it finished."""
        finished: Bool = np.asarray(self.schedule.status) == FINISHED
        return finished

    @property
    def is_rejected(self) -> Bool:
        """Per job, whether it was rejected."""
        rejected: Bool = np.asarray(self.schedule.status) == REJECTED
        return rejected

    @property
    def over_us(self) -> Int64:
        """Per job, when it finished, was killed or failed; -1 for others."""
        return over_us(self.schedule, self.intervals)


class ScheduleFormat(msgspec.Struct, frozen=True):
    """An export format of schedules.

    ``name``, ``summary``, ``source``: the format's name, description and origin.
    ``endings``: file name extensions without the dot, which select the format if none is named.
    ``write``: ``write(exported, path, **options)`` writes the file and returns what the format
        could not hold, a sentence each. The path is that of a temporary file, without the
        extension.
    ``options``: the allowed values of each option, the default first.
    """

    name: str
    summary: str
    source: str
    endings: tuple[str, ...]
    write: Callable[..., list[str]]
    options: Mapping[str, tuple[str, ...]]


SCHEDULE_FORMATS: Final[Registry[ScheduleFormat]] = Registry("format", "gpusched.results.formats")


def register_schedule_format(added: ScheduleFormat) -> None:
    """Register an export format for :meth:`gpusched.Result.export` and the command."""
    told("format", added.name, summary=added.summary, source=added.source)
    SCHEDULE_FORMATS.add(added.name, added)


def schedule_format(path: str | os.PathLike[str], name: str | None = None) -> ScheduleFormat:
    """Return the format called ``name``; None: by the extension of ``path``."""
    if name is not None:
        return SCHEDULE_FORMATS.find(name)
    known = SCHEDULE_FORMATS.all()
    for asked in known.values():
        if any(Path(path).name.lower().endswith(f".{ending}") for ending in asked.endings):
            return asked
    endings = ", ".join(f".{ending}" for asked in known.values() for ending in asked.endings)
    raise ValueError(
        f"{os.fspath(path)}: no export format has this extension ({endings}); name a format: "
        f"{', '.join(known)}"
    )


def checked_options(known: ScheduleFormat, options: Mapping[str, Any]) -> dict[str, str]:
    """Return all options of a format, with defaults for those not given.

    Raises ValueError if an option or its value is unknown.
    """
    for key, value in options.items():
        if key not in known.options:
            names = list(known.options)
            hint = nearest(key, names) if names else "; it has none"
            raise ValueError(f"format {known.name}: unknown option {key!r}{hint}")
        if value not in known.options[key]:
            allowed = ", ".join(known.options[key])
            raise ValueError(f"format {known.name}: {key} is {value!r}; allowed: {allowed}")
    return {key: options.get(key, values[0]) for key, values in known.options.items()}


def export(
    exported: Exported,
    path: str | os.PathLike[str],
    format: str | None = None,
    **options: Any,
) -> list[str]:
    """Write a schedule and return what the format could not hold, a sentence each."""
    known = schedule_format(path, format)
    checked = checked_options(known, options)
    with replacing(path) as partial:
        return known.write(exported, partial, **checked)
