"""The specification of a run: everything that determines its schedule, frozen and strict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from gpusched.base.field_checks import check_positive
from gpusched.base.files import decode_toml, naming, toml_value
from gpusched.base.memo import Memo
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.identity import PythonObject
from gpusched.specs.fingerprints import fingerprint as fingerprint

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace


class TraceSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The trace of a run.

    ``name``, ``source``: title and origin of the trace.
    ``num_jobs``: number of jobs, 1 or more.
    ``first_submit_us``: submit of the first job, microseconds.
    ``sha256``: the trace's fingerprint, see :func:`gpusched.specs.fingerprints.fingerprint`.
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


class OutageSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outages of a run.

    ``source``: where they come from, or how they were drawn.
    ``num_rows``: number of outages, 1 or more.
    ``sha256``: SHA-256 of the outages.
    """

    source: str
    num_rows: int
    sha256: str

    @classmethod
    def of(cls, outages: Outages | None) -> OutageSource | msgspec.UnsetType:
        """Describe outages; unset where there is none."""
        if not outages:
            return msgspec.UNSET
        return cls(outages.source, len(outages), outages.sha256)


class RunSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: equal specifications give equal digests.

    Attributes
    ----------
    policy, placement, predictor, speed, contention
        As text, with parameters: ``2d-las:preset=lucid``. A trained predictor is followed by a
        fingerprint of its model.
    seed
        Seed of random orders and placements, 0 or more.
    cluster, trace
        The cluster and the trace.
    version
        Version of gpusched.
    python
        Identities of a policy, placement or predictor that is written in Python outside gpusched,
        see :class:`~gpusched.plugins.identity.PythonObject`.
    outages
        The outages of servers; unset, and not written, without any.
    kill_invalid_depend
        Whether jobs whose dependencies can never be met are cancelled; unset, and not written, if
        not.
    priority_age_s
        The wait that is worth one point of priority, seconds; unset, and not written, if priorities
        are strict.
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
    outages: OutageSource | msgspec.UnsetType = msgspec.UNSET
    kill_invalid_depend: bool | msgspec.UnsetType = msgspec.UNSET
    priority_age_s: float | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        if not self.kill_invalid_depend:  # equal specifications, however written
            msgspec.structs.force_setattr(self, "kill_invalid_depend", msgspec.UNSET)
        if self.priority_age_s is not msgspec.UNSET:
            age_s = check_positive("priority_age_s", self.priority_age_s)
            msgspec.structs.force_setattr(self, "priority_age_s", age_s)
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
            The decoded specification.

        Raises
        ------
        ValueError
            If the text is not JSON, or a field is unknown, missing, of a wrong type or out of
            range; the message names ``source`` and the path of the field.

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
            The decoded specification.

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
        """Encode the specification as JSON text for :meth:`from_json`.

        Returns
        -------
        str
            Indented JSON without a final line break.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> '"policy": "fifo"' in spec.to_json()
        True
        """
        return msgspec.json.format(msgspec.json.encode(self), indent=2).decode()

    def to_toml(self) -> str:
        """Encode the specification as TOML text for :meth:`from_toml`.

        Returns
        -------
        str
            TOML with a final line break.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> spec = gs.simulate(jobs, gs.Cluster.uniform(1, 4), policy="fifo").spec
        >>> 'policy = "fifo"' in spec.to_toml()
        True
        """
        return "\n".join(_toml_lines(msgspec.to_builtins(self), ())) + "\n"


def _toml_lines(table: dict[str, Any], path: tuple[str, ...]) -> list[str]:
    """Write plain values first, then tables and arrays of tables, as TOML requires."""
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
