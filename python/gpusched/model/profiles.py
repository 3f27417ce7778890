"""Profiles of jobs: gradients and compute time of an iteration, or measured throughputs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from gpusched.base.field_checks import (
    check_distinct,
    check_name,
    check_positive,
    not_negative,
)
from gpusched.base.files import decode_toml, naming
from gpusched.base.source import Source

PerType: TypeAlias = float | dict[str, float]
"""One value for all GPU types, or one per type."""


def per_type(field: str, value: Any, high: float, low: float = 0.0) -> PerType:
    """Return values, each 0 or in low..high, as floats."""
    if not isinstance(value, dict):
        return not_negative(field, value, high, low)
    if not value:
        raise ValueError(f"{field}: must have a figure for at least one GPU type")
    for gpu_type in value:
        check_name(f"{field}: GPU type", gpu_type)
    return {
        gpu_type: not_negative(f"{field}[{gpu_type!r}]", number, high, low)
        for gpu_type, number in value.items()
    }


Curve: TypeAlias = dict[int, float]
"""Iterations per second by number of GPUs of one type; 0: cannot run."""
Table: TypeAlias = dict[str, Curve]
"""Curves by GPU type."""

MAX_COUNT: Final = 1_000_000
LEAST_PER_S: Final = 1e-9
"""An iteration of 31 years; slower jobs cannot run."""
MAX_PER_S: Final = 1e9
_NOISE: Final = 1e-9


def checked_table(field: str, table: Any) -> Table:
    """Return a table as floats with ascending numbers of GPUs.

    Raises TypeError, ValueError if a type has no entry, a number of GPUs is not a positive integer,
    or a throughput is neither 0 nor in 1e-9..1e9; the message names ``field``, type and number.
    """
    if not isinstance(table, Mapping):
        raise TypeError(f"{field}: {table!r} must be a table by GPU type")
    checked: Table = {}
    for gpu_type, curve in table.items():
        check_name(f"{field}: GPU type", gpu_type)
        where = f"{field}[{gpu_type!r}]"
        if not isinstance(curve, Mapping):
            raise TypeError(f"{where}: {curve!r} must be a table by number of GPUs")
        if not curve:
            raise ValueError(f"{where}: must have at least one number of GPUs")
        for count in curve:
            if isinstance(count, bool) or not isinstance(count, int):
                raise TypeError(f"{where}: {count!r} GPUs must be an integer")
            if not 1 <= count <= MAX_COUNT:
                raise ValueError(f"{where}: {count} GPUs must lie in 1..{MAX_COUNT:,}")
        checked[gpu_type] = {
            count: not_negative(f"{where}[{count}]", curve[count], MAX_PER_S, LEAST_PER_S)
            for count in sorted(curve)
        }
    return checked


def runs_anywhere(table: Table) -> bool:
    """Return whether some throughput is positive."""
    return any(number > 0 for curve in table.values() for number in curve.values())


def greatest_count(table: Table) -> int:
    """Return the highest number of GPUs in the table."""
    return max(max(curve) for curve in table.values())


def filled_table(table: Table, counts: Sequence[int], last: int | None = None) -> Table:
    """Return a table with a value for each of the ascending ``counts``.

    Between two known numbers of GPUs throughput is linear, and 0 if it is 0 at one of them. Below
    the lowest known number it is 0, as memory may not suffice. Beyond the highest known number of
    a type, it is extrapolated to the highest of any type, by the same factor per factor in GPUs as
    between the last two known numbers; with one known number, by the lowest factor of another
    type. It never gains more per GPU than before, and never falls. Beyond the highest number of
    any type, or ``last``, it is 0.
    """
    last = greatest_count(table) if last is None else last
    return {
        gpu_type: filled_curve(
            curve,
            [count for count in counts if count <= last],
            [other for name, other in table.items() if name != gpu_type],
        )
        | {count: 0.0 for count in counts if count > last}
        for gpu_type, curve in table.items()
    }


def filled_curve(known: Curve, counts: Sequence[int], others: Sequence[Curve] = ()) -> Curve:
    """Return a curve with a value for each of the ascending ``counts``; see filled_table."""
    end = max(known)
    inside = {count: _between(known, count) for count in counts if count <= end}
    beyond = [count for count in counts if count > end]
    if not beyond:
        return inside
    if known[end] == 0:
        return inside | dict.fromkeys(beyond, 0.0)
    return inside | _continued(known, beyond, others)


def _between(known: Curve, count: int) -> float:
    """Evaluate a curve up to its highest number of GPUs."""
    if count in known:
        return known[count]
    below = max((n for n in known if n < count), default=0)
    above = min(n for n in known if n > count)
    if not below or known[below] == 0 or known[above] == 0:
        return 0.0
    part = (count - below) / (above - below)
    return known[below] + (known[above] - known[below]) * part


def _continued(known: Curve, counts: Sequence[int], others: Sequence[Curve]) -> Curve:
    end = max(known)
    at = known[end]
    before = max((n for n in known if n < end), default=0)
    first = known.get(before, 0.0)
    # Per GPU; from the origin for a curve with one point.
    gain = (at - first) / (end - before) if first > 0 else at / end
    if gain <= 0:
        return dict.fromkeys(counts, at)
    if first > 0:
        wanted = _powers(before, first, end, at, gain, counts)
    else:
        wanted = [at * _growth(others, end, count) for count in counts]
    curve: Curve = {}
    for count, number in zip(counts, wanted, strict=True):
        number = max(at, min(number, at + gain * (count - end)))
        gain = min(gain, (number - at) / (count - end))
        curve[count] = at = number
        end = count
    return curve


def _powers(
    before: float, first: float, end: float, at: float, gain: float, counts: Sequence[int]
) -> list[float]:
    """Extrapolate by equal factors, linear between; powers would round differently by machine.

    A factor below that of the GPUs gains less per GPU at every step.
    """
    factor, ratio = end / before, at / first
    numbers = []
    for count in counts:
        while end * factor < count:
            following = min(at * ratio, at + gain * (end * factor - end))
            gain = (following - at) / (end * factor - end)
            end, at = end * factor, following
        target = min(at * ratio, at + gain * (end * factor - end))
        numbers.append(at + (target - at) * ((count - end) / (end * factor - end)))
    return numbers


def _growth(others: Sequence[Curve], end: int, count: int) -> float:
    """Return the lowest factor from ``end`` to ``count`` GPUs of another type."""
    factors = []
    for other in others:
        if count <= max(other):
            low, high = _between(other, end), _between(other, count)
            if low > 0 and high > 0:
                factors.append(high / low)
    return min([*factors, count / end])


def rises(curve: Curve) -> Iterator[tuple[int, int, int]]:
    """Find where a curve is not concave: a higher gain per GPU from b to c than from a to b GPUs.

    A fall counts as no gain.

    (a, b, c), ascending numbers of GPUs; a is 0 if b is the lowest.
    """
    points = [(count, number) for count, number in curve.items() if number > 0]
    before, at, gain = 0, 0.0, float("inf")
    start = 0
    for count, number in points:
        following = max(0.0, (number - at) / (count - before))
        if following > gain + _NOISE * abs(gain):
            yield start, before, count
        start, before, at, gain = before, count, number, following


def lowered(curve: Curve) -> Curve:
    """Lower a curve, in order, until its gains per GPU never rise; a fall is no gain."""
    concave: Curve = {}
    before, at, gain = 0, 0.0, float("inf")
    for count, number in curve.items():
        if number > 0:
            number = min(number, at + gain * (count - before))
            gain = max(0.0, (number - at) / (count - before))
            before, at = count, number
        concave[count] = number
    return concave


def gain_per_gpu(curve: Curve, low: int, high: int) -> float:
    """Return the gain from ``low`` to ``high`` GPUs, iterations per second and GPU."""
    return (curve[high] - (curve[low] if low else 0.0)) / (high - low)


_MAX_BYTES: Final = 1e15
_MAX_BATCH: Final = 1e9
_MAX_SECONDS: Final = 1e6
_MAX_SAMPLES_PER_S: Final = 1e12
COMPUTE: Final = ("batch", "forward_s", "backward_s")
"""The fields of a profile for ``ring`` besides its gradients."""


class JobProfile(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One training iteration of a data-parallel model.

    One or more of three descriptions, each for the speeds that read it:

    - for ``ring``: a worker computes for ``forward_s * batch + backward_s`` seconds, which must be
      positive, and then exchanges ``gradient_bytes`` with the others;
    - for ``table``: iterations per second as measured, by GPU type and number of GPUs;
    - for ``proportional``: samples per second of a worker, and the samples of an iteration.

    Attributes
    ----------
    name
        Name of the model.
    gradient_bytes
        Bytes that each worker contributes to the all-reduce, 0 to 1e15.
    batch
        Samples per worker and iteration, more than 0.
    forward_s
        Compute seconds per sample, which grow with the batch. One value for all GPU types, or one
        per type.
    backward_s
        Compute seconds per iteration, independent of the batch. As ``forward_s``; if both are
        given by type, for the same types. These four are given together or not at all, except
        that ``gradient_bytes`` may be given alone; missing ones are None.
    source
        Origin of the values.
    throughput
        By GPU type and number of GPUs: iterations per second on consolidated GPUs; 0 if the model
        does not fit. Missing types and numbers were not measured, see
        :mod:`gpusched.model.profiles`.
    spread_throughput
        The same for GPUs on more servers than needed. Default: as consolidated.
    samples_per_s
        By GPU type: samples per second of a worker; 0 if the model does not fit.
    global_batch
        Samples per iteration of all workers together, 1 or more; needed with ``samples_per_s``.
    max_samples
        By GPU type: samples per iteration that fit a worker's memory, 1 or more; missing: no
        limit.

    Raises
    ------
    TypeError, ValueError
        If a value has a wrong type or is out of range, nothing describes the iteration, or the
        model fits no GPU type; the message names profile and field.
    """

    name: str
    # Typed as in a profile for ring, the common case.
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
            raise ValueError(f"{where}throughput: is 0 everywhere, so the model fits no GPU type")
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
        """Whether speed ``ring`` can read the profile."""
        return self.batch is not None

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types of ``compute_s``; empty: one value for all types."""
        for numbers in (self.forward_s, self.backward_s):
            if isinstance(numbers, dict):
                return tuple(numbers)
        return ()

    def compute_s(self, gpu_type: str) -> float:
        """Return the compute seconds of an iteration on ``gpu_type``.

        Returns
        -------
        float
            NaN without a value for that type.

        Examples
        --------
        >>> profile = gs.model.JobProfile(
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
        """Report where another GPU gains more than the previous one, one line per GPU type.

        Policies that hand out GPUs one by one assume falling gains.

        Returns
        -------
        list of str
            Empty if all tables are concave.

        Examples
        --------
        >>> profile = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18, 4: 40}})
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
                        f"{middle} to {high} GPUs, but {gain_per_gpu(curve, low, middle):.4g} "
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
        If the file is malformed, or a field is unknown, missing, of a wrong type or out of range;
        the message names the file and the path of the field.

    Examples
    --------
    >>> with open("models.toml", "w") as file:
    ...     _ = file.write('[[profiles]]\nname = "m"\nthroughput = { V100 = { 1 = 2.5 } }\n')
    >>> gs.model.read_profiles("models.toml")[0].name
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
