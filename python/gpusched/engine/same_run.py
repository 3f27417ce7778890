"""Whether a run that was made ready is the one that a specification is of."""

from __future__ import annotations

import msgspec

from gpusched.plugins.identity import PythonObject
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace


def check_trace(spec: RunSpec, trace: Trace) -> None:
    """Raise a ValueError unless these are the jobs of the specification."""
    found, wanted = fingerprint(trace), spec.trace
    if found != wanted.sha256:
        raise ValueError(
            f"trace: {trace.name} ({len(trace):,} jobs, SHA-256 {found[:12]}...) is not what the "
            f"specification ran on: {wanted.name} ({wanted.num_jobs:,} jobs, SHA-256 "
            f"{wanted.sha256[:12]}..., from {wanted.source})"
        )


def named(role: str, text: str) -> str:
    """Return the text of a policy or a placement; a ValueError if it only names a class."""
    if text.startswith("python:"):
        raise ValueError(
            f"{role}: {text} was an object written in Python; give one like it as {role}="
        )
    return text


def untrained(text: str) -> str:
    """Return the text of a predictor; a ValueError if that says too little to make it of it."""
    if "@" in text:
        raise ValueError(
            f"predictor: {text} had been trained; give it, from load_predictor, as predictor="
        )
    return text


def check_same(spec: RunSpec, ready: RunSpec, *, takes_unreadable: bool = False) -> None:
    """Compare all that decides the schedule, but for the trace and the version.

    Raises
    ------
    ValueError
        That names the field, or what of a Python object is another. An object that could not be
        read is another than any, unless ``takes_unreadable``.
    """
    for name in ("policy", "placement", "predictor", "speed", "contention"):
        wanted, found = getattr(spec, name), getattr(ready, name)
        if wanted != found:
            raise ValueError(f"{name}: {found} is not that of the specification: {wanted}")
    known = {thing.role: thing for thing in ready.python}
    for thing in spec.python:
        check_object(thing, known.pop(thing.role, None), takes_unreadable=takes_unreadable)
    for thing in known.values():
        raise ValueError(f"{thing.role}: {thing.name} is not in the specification")


def check_object(
    wanted: PythonObject, found: PythonObject | None, *, takes_unreadable: bool = False
) -> None:
    """Compare one object of Python; errors as of :func:`check_same`."""
    name = f"{wanted.module}.{wanted.name}"
    if found is None:
        raise ValueError(f"{wanted.role}: the specification has {name}, which is not given")
    if wanted.unreadable:
        if takes_unreadable:
            return
        raise ValueError(f"{wanted.role}: {name} cannot be told from others ({wanted.unreadable})")
    for field in msgspec.structs.fields(wanted):
        if getattr(wanted, field.name) != getattr(found, field.name):
            raise ValueError(
                f"{wanted.role}: {found.module}.{found.name} differs from the specification's "
                f"{name} in {field.name}"
            )
