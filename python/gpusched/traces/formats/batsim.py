"""Workloads of the simulator Batsim (Dutot et al., JSSPP 2016): JSON with jobs and profiles.

Jobs whose profile is a delay, or a sequence of delays, have a run time; run times of other profiles
depend on a platform, so these jobs are rejected. Jobs refer to profiles by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gpusched.base.labels import Labels
from gpusched.base.rejects import OnBad
from gpusched.base.source import Source
from gpusched.traces import text_columns as parse
from gpusched.traces.format_registry import TraceFormat, excerpt_files, register_trace_format
from gpusched.traces.intake.text_schema import ReadColumns, trace_of
from gpusched.traces.json_records import floats, has_member, read_records, text_of
from gpusched.traces.workload import Trace

DELAYS: Final = ("delay", "DelayProfile")
SEQUENCE: Final = "composed"
_MAX_DEPTH: Final = 50


def read(source: Source, *, on_bad: OnBad) -> Trace:
    """Read a workload; resources are GPUs, and the wall time is the estimate.

    A job with a delay longer than its wall time counts as killed at the wall time.
    """
    found = read_records(source, "jobs")
    profiles = found.others.get("profiles")
    if not isinstance(profiles, dict):
        raise ValueError(f"{source}: 'profiles' must be an object")
    screen, jobs = found.screen(), found.records
    ids = [text_of(job.get("id")) for job in jobs]
    screen.show("id", "id", [job.get("id") for job in jobs])
    screen.require(np.array([name != "" for name in ids]), "id", "must be a text or a number")
    names = [text_of(job.get("profile")) for job in jobs]
    screen.show("profile", "profile", [job.get("profile") for job in jobs])
    known = np.array([isinstance(profiles.get(name), dict) for name in names])
    screen.require(known, "profile", "must be one of the file's profiles")
    chosen: list[Mapping[str, Any]] = [
        profiles[name] if fine else {} for name, fine in zip(names, known.tolist(), strict=True)
    ]
    delays: dict[str, Any] = {}
    for name in names:
        _delay_of(name, profiles, delays)
    is_delay = np.array([delays[name] is not _NO_DELAY for name in names])
    screen.require(is_delay, "profile", "must consist of delays (other profiles need a platform)")
    delay_s = floats(
        screen, "service_s", "delay",
        [None if delays[name] is _NO_DELAY else delays[name] for name in names],
    )  # fmt: skip
    screen.require(~np.isnan(delay_s) | ~is_delay, "service_s", "must not be missing")
    wall_s = floats(screen, "estimate_s", "walltime", [job.get("walltime") for job in jobs])
    wall_s = np.where(wall_s > 0, wall_s, math.nan)
    is_killed = wall_s < delay_s
    screen.show("service_s", "delay", delay_s)
    read = ReadColumns(screen)
    read.numeric = {
        "submit_s": floats(screen, "submit_s", "subtime", [job.get("subtime") for job in jobs]),
        "gpus": floats(screen, "gpus", "res", [job.get("res") for job in jobs]),
        "service_s": np.where(is_killed, wall_s, delay_s),
    }
    if not np.isnan(wall_s).all():
        read.numeric["estimate_s"] = wall_s
    has_failed = [profile.get("ret", 0) != 0 for profile in chosen]
    read.ids = parse.identifiers(screen, "id", ids)
    read.labels = {
        "group": Labels.of(names),
        "status": Labels.of(np.select([is_killed, has_failed], ["killed", "failed"], "ok")),
    }
    return trace_of(source.name, read, on_bad)


_NO_DELAY: Final = object()


def _delay_of(name: str, profiles: Mapping[str, Any], known: dict[str, Any], depth: int = 0) -> Any:
    """Return the delay, the sum of a sequence of delays, or ``_NO_DELAY``."""
    if name not in known:
        known[name] = _NO_DELAY  # ends the recursion if a sequence contains itself
        profile = profiles.get(name)
        given = profile if isinstance(profile, dict) else {}
        parts, times = given.get("seq"), given.get("repeat", 1)
        if given.get("type") in DELAYS:
            known[name] = given.get("delay")
        elif given.get("type") == SEQUENCE and isinstance(parts, list) and depth < _MAX_DEPTH:
            inner = [_delay_of(text_of(part), profiles, known, depth + 1) for part in parts]
            if all(isinstance(one, int | float) for one in (*inner, times)):
                known[name] = math.fsum(inner) * times
    return known[name]


def _recognises(source: Source) -> bool:
    return has_member(source, "jobs", "subtime")


register_trace_format(
    TraceFormat(
        name="batsim",
        summary="Batsim workloads (JSON) of jobs with delays, resources as GPUs.",
        source="Dutot et al., JSSPP 2016.",
        detection="a JSON object with `jobs` that have a `subtime`",
        recognises=_recognises,
        read=read,
        excerpt=excerpt_files(__file__, "workload.json"),
    )
)
