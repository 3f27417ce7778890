"""The specification of a run: all that decides its schedule, as a frozen, strict record."""

from __future__ import annotations

import hashlib
import weakref
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched.cluster import Cluster

if TYPE_CHECKING:
    from gpusched.workload import Trace


class TraceSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which jobs were replayed.

    Attributes
    ----------
    name, source
        The trace's title, and where it came from.
    num_jobs
        Number of jobs, 1 or more.
    first_submit_us
        Submit of the first job, microseconds.
    sha256
        Fingerprint of the columns that a run may read, see :func:`fingerprint`.
    """

    name: str
    source: str
    num_jobs: int
    first_submit_us: int
    sha256: str

    def __post_init__(self) -> None:
        if self.num_jobs < 1:
            raise ValueError(f"num_jobs: {self.num_jobs} must be at least 1")
        if len(self.sha256) != 64 or set(self.sha256) - set("0123456789abcdef"):
            raise ValueError(f"sha256: {self.sha256!r} must be 64 hexadecimal digits")

    @classmethod
    def of(cls, trace: Trace) -> TraceSource:
        """Describe ``trace``."""
        return cls(
            trace.name, trace.source, len(trace), int(trace.submit_us[0]), fingerprint(trace)
        )


class RunSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: equal specifications of equal versions give equal digests.

    Attributes
    ----------
    policy, placement, predictor, speed, contention
        As text, with parameters: ``2d-las:preset=lucid``.
    seed
        Of the random orders and placements, 0 or more.
    cluster, trace
        Where, and what.
    version
        Of gpusched.
    """

    policy: str
    placement: str
    predictor: str
    seed: int
    cluster: Cluster
    trace: TraceSource
    version: str
    speed: str = "fixed"
    contention: str = "none"

    def __post_init__(self) -> None:
        for name in ("policy", "placement", "predictor", "speed", "contention"):
            if not getattr(self, name):
                raise ValueError(f"{name}: must not be empty")
        if self.seed < 0:
            raise ValueError(f"seed: {self.seed} must not be negative")

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "spec") -> RunSpec:
        """Decode JSON text.

        Raises
        ------
        ValueError
            If it is not JSON, or a field is unknown, missing, of a wrong type or out of range;
            the message names ``source`` and the path of the field.
        """
        try:
            return msgspec.json.decode(text, type=cls, strict=True)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError(f"{source}: {error}") from None

    @classmethod
    def from_toml(cls, text: str | bytes, source: str = "spec") -> RunSpec:
        """Decode TOML text; errors as in :meth:`from_json`."""
        try:
            return msgspec.toml.decode(text, type=cls, strict=True)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ValueError(f"{source}: {error}") from None

    def to_json(self) -> str:
        """Return JSON text that :meth:`from_json` turns back into an equal specification."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    def to_toml(self) -> str:
        """Return TOML text that :meth:`from_toml` turns back into an equal specification."""
        return "\n".join(_toml_lines(msgspec.to_builtins(self), ())) + "\n"


def fingerprint(trace: Trace) -> str:
    """SHA-256 over submit_us, service_us (int64) and gpus (int32), little-endian.

    Where the trace has profiles, their int32 index and their JSON text follow; then the same of
    graphs; then the name and the values of each column of demands, deadlines and widths that it
    has.
    """
    known = _fingerprints.get(trace)
    if known is None:
        sha = hashlib.sha256()
        for column, dtype in (("submit_us", "<i8"), ("service_us", "<i8"), ("gpus", "<i4")):
            sha.update(np.ascontiguousarray(getattr(trace, column), dtype=dtype).data)
        for index, models in ((trace.profile, trace.profiles), (trace.graph, trace.graphs)):
            if index is not None:
                sha.update(np.ascontiguousarray(index, dtype="<i4").data)
                sha.update(msgspec.json.encode(models))
        for column, dtype in _WISHES.items():
            values = getattr(trace, column)
            if values is not None:
                sha.update(column.encode())
                sha.update(np.ascontiguousarray(values, dtype=dtype).data)
        known = _fingerprints[trace] = sha.hexdigest()
    return known


_WISHES: Final = {
    "share_milli": "<i4",
    "cpu_milli": "<i8",
    "memory_mib": "<i8",
    "deadline_us": "<i8",
    "value": "<f8",
    "min_gpus": "<i4",
    "max_gpus": "<i4",
}

# A trace does not change, and a comparison asks once per policy.
_fingerprints: weakref.WeakKeyDictionary[Trace, str] = weakref.WeakKeyDictionary()


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """Write plain values first, then tables and arrays of tables, as TOML wants it."""
    lines = [
        f"{key} = {_toml(value)}"
        for key, value in table.items()
        if value is not None and not isinstance(value, dict | list | tuple)
    ]
    for key, value in table.items():
        name = ".".join((*path, key))
        if isinstance(value, dict):
            lines += ["", f"[{name}]", *_toml_lines(value, (*path, key))]
        elif isinstance(value, list | tuple):
            for entry in value:
                lines += ["", f"[[{name}]]", *_toml_lines(entry, (*path, key))]
    return lines


def _toml(value: str | float) -> str:
    # A JSON string is a TOML basic string, but for the one control character JSON lets pass.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
