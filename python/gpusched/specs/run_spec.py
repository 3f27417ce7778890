"""The specification of a run: all that decides its schedule, as a frozen, strict record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gpusched.base.files import decode_toml, naming, toml_value
from gpusched.base.memo import Memo
from gpusched.model.cluster import Cluster
from gpusched.plugins.identity import PythonObject
from gpusched.specs.fingerprints import fingerprint as fingerprint

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


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
        Of all that a run may read, see :func:`gpusched.specs.fingerprints.fingerprint`.
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
        return _sources.of(trace, cls, lambda: cls._described(trace))

    @classmethod
    def _described(cls, trace: Trace) -> TraceSource:
        first_us = int(trace.submit_us[0])
        return cls(trace.name, trace.source, len(trace), first_us, fingerprint(trace))


_sources: Memo[Trace, TraceSource] = Memo(1)


class RunSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: equal specifications give equal digests.

    Attributes
    ----------
    policy, placement, predictor, speed, contention
        As text, with parameters: ``2d-las:preset=lucid``. A predictor that was trained is
        followed by a fingerprint of what it has learned.
    seed
        Of the random orders and placements, 0 or more.
    cluster, trace
        Where, and what.
    version
        Of gpusched.
    python
        What the policy, the placement and the predictor are that are written in Python and are
        not gpusched's own, see :class:`~gpusched.plugins.identity.PythonObject`.
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
    python: tuple[PythonObject, ...] = ()

    def __post_init__(self) -> None:
        for name in ("policy", "placement", "predictor", "speed", "contention"):
            if not getattr(self, name):
                raise ValueError(f"{name}: must not be empty")
        if self.seed < 0:
            raise ValueError(f"seed: {self.seed} must not be negative")
        roles = [thing.role for thing in self.python]
        if len(set(roles)) != len(roles):
            raise ValueError(f"python: there are two entries of one role in {', '.join(roles)}")

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "spec") -> RunSpec:
        """Decode JSON text.

        Returns
        -------
        RunSpec
            What :meth:`to_json` wrote.

        Raises
        ------
        ValueError
            If it is not JSON, or a field is unknown, missing, of a wrong type or out of range;
            the message names ``source`` and the path of the field.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> gs.RunSpec.from_json(spec.to_json()) == spec
        True
        """
        with naming(source):
            return msgspec.json.decode(text, type=cls, strict=True)

    @classmethod
    def from_toml(cls, text: str | bytes, source: str = "spec") -> RunSpec:
        """Decode TOML text.

        Returns
        -------
        RunSpec
            What :meth:`to_toml` wrote.

        Raises
        ------
        ValueError
            As :meth:`from_json`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> gs.RunSpec.from_toml(spec.to_toml()) == spec
        True
        """
        with naming(source):
            return decode_toml(text, cls)

    def to_json(self) -> str:
        """Return JSON text that :meth:`from_json` turns back into an equal specification.

        Returns
        -------
        str
            Indented, without a line break at its end.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> '"policy": "fifo"' in spec.to_json()
        True
        """
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    def to_toml(self) -> str:
        """Return TOML text that :meth:`from_toml` turns back into an equal specification.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> 'policy = "fifo"' in spec.to_toml()
        True
        """
        return "\n".join(_toml_lines(msgspec.to_builtins(self), ())) + "\n"


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """Write plain values first, then tables and arrays of tables, as TOML wants it."""
    lines = [
        f"{key} = {toml_value(value)}"
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
