"""Throughputs by GPU type and number of GPUs: checked, filled where a number was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from gpusched.base.field_checks import check_name, not_negative

Curve: TypeAlias = dict[int, float]
"""Iterations per second by number of GPUs, of one GPU type; 0: it cannot run so."""
Table: TypeAlias = dict[str, Curve]
"""Curves by GPU type."""

MAX_COUNT: Final = 1_000_000
LEAST_PER_S: Final = 1e-9
"""An iteration of 31 years; what is slower does not run."""
MAX_PER_S: Final = 1e9
_NOISE: Final = 1e-9


def checked_table(field: str, table: Any) -> Table:
    """Return a table as floats, its numbers of GPUs ascending.

    Raises
    ------
    TypeError, ValueError
        If a type has no number of GPUs, a number is not whole or not positive, or a throughput is
        neither 0 nor in 1e-9..1e9; the message names ``field``, type and number.
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
    """Return the greatest number of GPUs that the table names."""
    return max(max(curve) for curve in table.values())


def filled_table(table: Table, counts: Sequence[int], last: int | None = None) -> Table:
    """Return a table with a figure for each of the ascending ``counts``.

    Between two numbers of GPUs that are known a throughput is linear, and 0 if it is 0 at one of
    them. Below the least known number it is 0: the memory may not suffice. Beyond the greatest
    known number of a type, it goes on to the greatest of any type: by the same factor for every
    further factor in GPUs as between the last two known numbers; where only one number is known,
    by the least factor that another type shows. It never gains more per GPU than it did before,
    and never falls. Beyond the greatest number of any type, or ``last``, it is 0.
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
    """Return a curve with a figure for each of the ascending ``counts``; see filled_table."""
    end = max(known)
    inside = {count: _between(known, count) for count in counts if count <= end}
    beyond = [count for count in counts if count > end]
    if not beyond:
        return inside
    if known[end] == 0:
        return inside | dict.fromkeys(beyond, 0.0)
    return inside | _continued(known, beyond, others)


def _between(known: Curve, count: int) -> float:
    """Read a curve up to its greatest number of GPUs."""
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
    # Per GPU; of a curve with one point, from the origin.
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
    """Go on by equal factors, straight between them; no powers, which machines round in two ways.

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
    """Return the least factor from ``end`` to ``count`` GPUs that another type shows."""
    factors = []
    for other in others:
        if count <= max(other):
            low, high = _between(other, end), _between(other, count)
            if low > 0 and high > 0:
                factors.append(high / low)
    return min([*factors, count / end])


def rises(curve: Curve) -> Iterator[tuple[int, int, int]]:
    """Find where a curve is not concave: it gains more per GPU from b to c than from a to b GPUs.

    A fall counts as no gain.

    Yields
    ------
    tuple
        (a, b, c), ascending numbers of GPUs; a is 0 where b is the least.
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
    """Lower a curve, front to back, to where its gains per GPU never rise; a fall is no gain."""
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
    """Return iterations per second and GPU that are won from ``low`` to ``high`` GPUs."""
    return (curve[high] - (curve[low] if low else 0.0)) / (high - low)
