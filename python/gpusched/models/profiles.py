"""What an iteration of a job costs: gradients and compute time, or measured throughputs."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final, TypeAlias

import msgspec

from gpusched.base.field_checks import (
    check_distinct,
    check_name,
    check_positive,
    not_negative,
)
from gpusched.base.files import decode_toml, naming
from gpusched.base.source import Source
from gpusched.models.per_type import PerType, per_type
from gpusched.models.throughput_tables import (
    LEAST_PER_S,
    checked_table,
    gain_per_gpu,
    rises,
    runs_anywhere,
)

_MAX_BYTES: Final = 1e15
_MAX_BATCH: Final = 1e9
_MAX_SECONDS: Final = 1e6
_MAX_SAMPLES_PER_S: Final = 1e12
COMPUTE: Final = ("batch", "forward_s", "backward_s")
"""What a profile for ``ring`` has beside its gradients."""


class JobProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One training iteration of a data-parallel model.

    It is described in one or more of three ways, each for the speeds that read it:

    - for ``ring``: a worker computes for ``forward_s * batch + backward_s`` seconds, which must be
      positive, and then exchanges ``gradient_bytes`` with the others;
    - for ``table``: iterations per second as measured, by GPU type and number of GPUs;
    - for ``proportional``: samples per second of a worker, and the samples of an iteration.

    Attributes
    ----------
    name
        Of the model.
    gradient_bytes
        Bytes that each worker contributes to the all-reduce, 0 to 1e15.
    batch
        Samples per worker and iteration, more than 0.
    forward_s
        Seconds per sample: all compute that grows with the batch. One figure for every GPU type,
        or one per type by its name.
    backward_s
        Seconds per iteration: all compute that does not. In the same way; where both are given
        by type, for the same types. These four are given together or not at all, except that
        ``gradient_bytes`` may stand alone; what is not given is None.
    source
        Where the figures come from.
    throughput
        By GPU type, by number of GPUs: iterations per second of so many GPUs close together; 0
        where the model does not fit. Types and numbers that are left out were not measured, see
        :mod:`gpusched.models.throughput_tables`.
    spread_throughput
        The same of GPUs on more servers than they need. Where it is left out, as close together.
    samples_per_s
        By GPU type: samples per second of a worker; 0 where the model does not fit.
    global_batch
        Samples per iteration of all workers together, 1 or more; needed with ``samples_per_s``.
    max_samples
        By GPU type: samples per iteration that the memory of a worker holds, 1 or more; what is
        left out is no limit.

    Raises
    ------
    TypeError, ValueError
        If a value is of a wrong type or out of range, or nothing describes the iteration, or the
        model fits no GPU type; the message names profile and field.
    """

    name: str
    # The types of the four are those of a profile for ring, which most readers deal with.
    gradient_bytes: float = None  # type: ignore[assignment]
    batch: float = None  # type: ignore[assignment]
    forward_s: PerType = None  # type: ignore[assignment]
    backward_s: PerType = None  # type: ignore[assignment]
    source: str = ""
    throughput: dict[str, dict[int, float]] = {}
    spread_throughput: dict[str, dict[int, float]] = {}
    samples_per_s: dict[str, float] = {}
    global_batch: int = 0
    max_samples: dict[str, int] = {}

    def __post_init__(self) -> None:
        check_name("name", self.name)
        where = f"profile {self.name!r}: "
        if self.gradient_bytes is not None:
            gradient = not_negative(f"{where}gradient_bytes", self.gradient_bytes, _MAX_BYTES)
            msgspec.structs.force_setattr(self, "gradient_bytes", gradient)
        self._check_tables(where)
        self._check_samples(where)
        missing = [field for field in COMPUTE if getattr(self, field) is None]
        if not missing:
            self._check_compute(where)
        elif len(missing) < len(COMPUTE) or not (self.throughput or self.samples_per_s):
            raise ValueError(
                f"{where}{missing[0]}: is missing; a profile has gradient_bytes, "
                f"{', '.join(COMPUTE)}, or throughput, or samples_per_s"
            )

    def _check_compute(self, where: str) -> None:
        set_field = msgspec.structs.force_setattr
        if self.gradient_bytes is None:
            raise ValueError(f"{where}gradient_bytes: is missing")
        set_field(self, "batch", check_positive(f"{where}batch", self.batch, high=_MAX_BATCH))
        for field in ("forward_s", "backward_s"):
            set_field(self, field, per_type(f"{where}{field}", getattr(self, field), _MAX_SECONDS))
        if isinstance(self.forward_s, dict) and isinstance(self.backward_s, dict):
            for given, other in (("forward_s", "backward_s"), ("backward_s", "forward_s")):
                missing = sorted(set(getattr(self, given)) - set(getattr(self, other)))
                if missing:
                    raise ValueError(f"{where}{other}: has no figure for GPU type {missing[0]!r}")
        for gpu_type in self.gpu_types or ("",):
            seconds = self.compute_s(gpu_type)
            if not seconds > 0:
                raise ValueError(
                    f"{where}forward_s * batch + backward_s: {seconds} must be positive"
                )

    def _check_tables(self, where: str) -> None:
        for field in ("throughput", "spread_throughput"):
            table = checked_table(f"{where}{field}", getattr(self, field))
            msgspec.structs.force_setattr(self, field, table)
        if self.throughput and not runs_anywhere(self.throughput):
            raise ValueError(f"{where}throughput: is 0 everywhere, the model fits no GPU type")
        for gpu_type in self.spread_throughput:
            if gpu_type not in self.throughput:
                raise ValueError(
                    f"{where}spread_throughput: GPU type {gpu_type!r} has no throughput"
                )

    def _check_samples(self, where: str) -> None:
        if isinstance(self.global_batch, bool) or not isinstance(self.global_batch, int):
            raise TypeError(f"{where}global_batch: {self.global_batch!r} must be an integer")
        if not 0 <= self.global_batch <= _MAX_BATCH:
            raise ValueError(
                f"{where}global_batch: {self.global_batch} must lie in 1..{_MAX_BATCH:g}"
            )
        for field in ("samples_per_s", "max_samples"):
            if not isinstance(getattr(self, field), dict):
                raise TypeError(f"{where}{field}: must be a table by GPU type")
        if self.samples_per_s:
            numbers = per_type(
                f"{where}samples_per_s", self.samples_per_s, _MAX_SAMPLES_PER_S, LEAST_PER_S
            )
            assert isinstance(numbers, dict)
            msgspec.structs.force_setattr(self, "samples_per_s", numbers)
            if not any(numbers.values()):
                raise ValueError(f"{where}samples_per_s: is 0 everywhere, it fits no GPU type")
            if not self.global_batch:
                raise ValueError(f"{where}global_batch: is missing, samples_per_s needs it")
        for gpu_type, samples in self.max_samples.items():
            check_name(f"{where}max_samples: GPU type", gpu_type)
            if isinstance(samples, bool) or not isinstance(samples, int):
                raise TypeError(f"{where}max_samples[{gpu_type!r}]: {samples!r} must be an integer")
            if not 1 <= samples <= _MAX_BATCH:
                raise ValueError(
                    f"{where}max_samples[{gpu_type!r}]: {samples} must lie in 1..{_MAX_BATCH:g}"
                )

    @property
    def has_compute(self) -> bool:
        """Whether the speed ``ring`` can read the profile."""
        return self.batch is not None

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that ``compute_s`` has figures for; empty: one figure for every type."""
        for numbers in (self.forward_s, self.backward_s):
            if isinstance(numbers, dict):
                return tuple(numbers)
        return ()

    def compute_s(self, gpu_type: str) -> float:
        """Return the compute seconds of an iteration on ``gpu_type``.

        Returns
        -------
        float
            NaN without a figure for that type.

        Examples
        --------
        >>> profile = gs.models.JobProfile(
        ...     "m", gradient_bytes=1e8, batch=8, forward_s={"V100": 0.01}, backward_s=0.02
        ... )
        >>> profile.compute_s("V100")
        0.1
        """
        if not self.has_compute:
            return math.nan
        seconds = [
            numbers.get(gpu_type, math.nan) if isinstance(numbers, dict) else numbers
            for numbers in (self.forward_s, self.backward_s)
        ]
        return seconds[0] * self.batch + seconds[1]

    def check_concave(self) -> list[str]:
        """Tell where a further GPU gains more than the one before: a line for each GPU type.

        Policies that give GPUs away one by one count on falling gains.

        Returns
        -------
        list of str
            Empty if there is no such table, or none that rises so.

        Examples
        --------
        >>> profile = gs.models.JobProfile("m", throughput={"V100": {1: 10, 2: 18, 4: 40}})
        >>> profile.check_concave()[0].partition(":")[0]
        "profile 'm'"
        """
        lines = []
        for field in ("throughput", "spread_throughput"):
            for gpu_type, curve in getattr(self, field).items():
                for low, middle, high in islice(rises(curve), 1):
                    lines.append(
                        f"profile {self.name!r}: {field}[{gpu_type!r}] gains "
                        f"{gain_per_gpu(curve, middle, high):.4g} iterations/s per GPU from "
                        f"{middle} to {high} GPUs, and {gain_per_gpu(curve, low, middle):.4g} "
                        f"from {low} to {middle}"
                    )
        return lines


AnyProfiles: TypeAlias = JobProfile | Sequence[JobProfile] | Mapping[str, JobProfile]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    profiles: tuple[JobProfile, ...]


def read_profiles(path: str | os.PathLike[str]) -> tuple[JobProfile, ...]:
    r"""Read a file of profiles: ``[[profiles]]`` tables in TOML, or the same in JSON (``.json``).

    Returns
    -------
    tuple
        A :class:`JobProfile` for each table, in the order of the file.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is malformed, or a field is unknown, missing, of a wrong type or out of range; the
        message names the file and the path of the field.

    Examples
    --------
    >>> with open("models.toml", "w") as file:
    ...     _ = file.write('[[profiles]]\nname = "m"\nthroughput = { V100 = { 1 = 2.5 } }\n')
    >>> gs.models.read_profiles("models.toml")[0].name
    'm'
    """
    return profiles_of(Source(path))


def profiles_of(source: Source) -> tuple[JobProfile, ...]:
    """Decode a file of profiles; see :func:`read_profiles`."""
    with naming(source):
        if source.suffix == ".json":
            read = msgspec.json.decode(source.text, type=_File, strict=True)
        else:
            read = decode_toml(source.text, _File)
        return known_profiles(read.profiles, where=f"{source}: ")


def known_profiles(profiles: AnyProfiles, *, where: str = "") -> tuple[JobProfile, ...]:
    """Return the profiles as a tuple; raise if there are none, or two of one name."""
    if isinstance(profiles, JobProfile):
        profiles = (profiles,)
    known = tuple(profiles.values() if isinstance(profiles, Mapping) else profiles)
    for profile in known:
        if not isinstance(profile, JobProfile):
            raise TypeError(f"{where}profiles: expected a JobProfile, not {profile!r}")
    check_distinct("profiles", [profile.name for profile in known], where)
    return known
