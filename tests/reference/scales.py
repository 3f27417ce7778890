"""Scales of a random case: how long its times are, and how wide its gangs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tests.reference.drawing import Source, is_rare

SECOND = 1_000_000
DAY = 86_400 * SECOND
YEAR = 365 * DAY
TYPES = ("K80", "V100")
ALL_TYPES = (*TYPES, "T4", "A100")

SHAPES = ("small", "small", "tied", "lone", "wide", "costly")
"""``small``: a few units of time, gangs and clusters of a few GPUs. ``tied``: all jobs at one
instant, alike or almost. ``lone``: one server, at times one job. ``wide``: servers of up to 64
GPUs, gangs wider than a server or a type. ``costly``: restarts that cost more than a period, and
than all work."""

NARROW = tuple(name for name in SHAPES if name != "wide")
"""Clusters of at most 16 GPUs: times that are multiples of every width stay whole when divided."""

WIDE = ("wide", "fine")
"""``fine`` is what becomes of ``wide`` where limits of 2d-las lie one tick of GPU time apart."""

IN_TICKS = ("fine", "ages")
"""What :meth:`~tests.reference.cases.Case.at` leaves as it is."""

SCALES = (*SHAPES, "ages")
"""With ``ages``: times in ticks, from one tick up to the longest that are legal."""

MAX_SERVICE = 2**53
MAX_SUBMIT = 2**61
AGES = (1, 2, 3, 1000, SECOND, DAY, YEAR, 2**52 + 1, MAX_SERVICE - 1, MAX_SERVICE)
STARTS = (0, 1, YEAR, MAX_SERVICE, 2**60, MAX_SUBMIT - 3)


@dataclass(frozen=True)
class Times:
    """What the times of one case are drawn from."""

    services: Sequence[int]
    submits: Sequence[int]
    estimates: Sequence[int]
    costs: Sequence[int]
    grain: int = 1
    """Of deadlines: close to a late submit, seconds could not tell them from it."""

    def service(self, source: Source) -> int:
        """Return a service."""
        return source.one_of(self.services)

    def submit(self, source: Source) -> int:
        """Return a submit."""
        return source.one_of(self.submits)

    def estimate(self, source: Source) -> int:
        """Return an estimate, with nothing to do with the truth."""
        return source.one_of(self.estimates)

    def cost(self, source: Source) -> int:
        """Return a part of a restart cost."""
        return source.one_of(self.costs)

    def deadline(self, source: Source, submit: int, patience: int) -> int | None:
        """Return a deadline, or None where no trace could state it."""
        deadline = min(submit + source.between(1, patience) * self.grain, MAX_SUBMIT)
        return deadline if deadline - submit >= self.grain else None


def times_of(source: Source, scale: str) -> Times:
    """Draw what the times of a case are drawn from."""
    estimates = source.one_of([range(1, 13), range(1, 4), (1,), (1, 10_000)])
    if scale == "ages":
        base = source.one_of(STARTS)
        ages = source.one_of([AGES, AGES[:5], AGES[-3:]])
        return Times(
            services=ages,
            submits=source.one_of([(base,), (base, base + 1, base + 3), (0, base, base + 2)]),
            estimates=AGES,
            costs=(0, 1, SECOND, YEAR),
            grain=source.one_of([1000, YEAR]),
        )
    last = 0 if scale == "tied" else source.one_of([20, 8, 3])
    longest = 30 if scale == "fine" else 10
    return Times(
        services=source.one_of([(5,), (1, 2)]) if scale == "tied" else range(1, longest + 1),
        submits=range(last + 1),
        estimates=estimates,
        costs=range(31) if scale == "costly" else range(3),
    )


def widths_of(source: Source, num_gpus: int, scale: str) -> Sequence[int]:
    """Draw what the widths of a case are drawn from; some may be wider than the cluster."""
    half = max(1, num_gpus // 2)
    if scale == "tied":
        return (source.between(1, half), source.between(1, num_gpus + 1))
    if scale in WIDE and not is_rare(source, 3):
        return (1, 2, 8, 31, 33, 63, 64, 65, half, half + 1, num_gpus - 1 or 1, num_gpus)
    return range(1, (num_gpus + 1 if source.one_of((False, True)) else half) + 1)
