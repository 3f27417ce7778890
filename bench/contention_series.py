"""Measure the cost of an event by cluster size, share of rings, and their size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gpusched as gs
from bench.contention import INTRA_GBPS, MICROSECONDS, SERVERS, Case
from bench.measure import interleave, processor_s
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, SEED

GROWTH = 3.0
LEAST_WIDE = 2
SERIES_LOAD = 0.5
SERIES_NIC_GBPS = 100.0
MODEL = "resnet152"  # at 100 Gbit/s it loses little by sharing, so that no queue builds up
METHOD = (
    f"`fifo-skip` at load {SERIES_LOAD}, ResNet-152, NICs of {SERIES_NIC_GBPS:g} Gbit/s; jobs of "
    "1 GPU, and a share of wide ones from 2 GPUs to the width given, drawn evenly. More servers: "
    "the same jobs, arriving faster in proportion. `affected`: rates computed per event (an "
    "arrival or a finish). `us per event`: processor time of `ring` with `shared`, and of `fixed`, "
    "the minimum of the repetitions; `us per rate` is the difference over the rates."
)
COLUMNS = (
    "series",
    "placement",
    "servers",
    "wide",
    "up to",
    "running",
    "affected",
    "us per event",
    "fixed",
    "us per rate",
)


@dataclass(frozen=True)
class Setting:
    """Where a series is measured."""

    series: str
    placement: str
    servers: int = SERVERS
    share: float = 0.25
    widest: int = 16


PACKING = ("first-fit", "spread")
MORE_SERVERS, MORE_RINGS, WIDER_RINGS = "more servers", "more rings", "wider rings"
SETTINGS = (
    *(
        Setting(MORE_SERVERS, placement, servers=servers)
        for placement in PACKING
        for servers in (64, 256, 1024, 4096)
    ),
    *(Setting(MORE_RINGS, "spread", share=share) for share in (0.0, 0.05, 0.25, 0.5, 1.0)),
    *(Setting(WIDER_RINGS, "spread", widest=widest) for widest in (4, 16, 64, 256)),
)


@dataclass(frozen=True)
class Point:
    """One line of a series."""

    at: Setting
    running: int
    affected: float
    event_us: float
    fixed_us: float

    @property
    def rate_us(self) -> float:
        return max(0.0, self.event_us - self.fixed_us) / self.affected


def gangs(jobs: int, at: Setting) -> gs.Trace:
    """Poisson arrivals of jobs of an hour on average; a share of them are wide."""
    random = np.random.default_rng(SEED)
    is_wide = random.random(jobs) < at.share
    gpus = np.where(is_wide, random.integers(LEAST_WIDE, at.widest + 1, jobs), 1)
    service_s = random.exponential(3600.0, jobs) + 60.0
    work = float((gpus * service_s).mean())
    gap_s = work / (at.servers * GPUS_PER_SERVER * SERIES_LOAD)
    submit_s = np.cumsum(random.exponential(1.0, jobs)) * gap_s
    trace = gs.Trace.from_columns(submit_s=submit_s, service_s=service_s, gpus=gpus)
    return trace.with_profiles(gs.model.zoo()[MODEL])


def measure(jobs: int, repeats: int) -> Iterator[Point]:
    """Time every setting, and the same at fixed speed."""
    for at in SETTINGS:
        yield _point(at, jobs, repeats)


def _point(at: Setting, jobs: int, repeats: int) -> Point:
    cluster = gs.Cluster.uniform(
        at.servers, GPUS_PER_SERVER, nic_gbps=SERIES_NIC_GBPS, intra_gbps=INTRA_GBPS
    )
    trace = gangs(jobs, at)
    fixed, shared = (Case("fifo-skip", at.placement, contention) for contention in (None, "shared"))
    counters = shared.run(trace, cluster).schedule.counters
    fixed_s, shared_s = interleave(
        [
            lambda: processor_s(lambda: fixed.run(trace, cluster)),
            lambda: processor_s(lambda: shared.run(trace, cluster)),
        ],
        repeats,
    )
    events = counters["events"]
    return Point(
        at=at,
        running=counters["max_running"],
        affected=counters["rates_computed"] / events,
        event_us=shared_s.least / events * 1e6,
        fixed_us=fixed_s.least / events * 1e6,
    )


def section(points: list[Point]) -> Section:
    """Report the series: the cost per rate, and whether that of an event grows with the cluster."""
    out = Section("The cost of an event", METHOD, COLUMNS)
    for point in points:
        at = point.at
        out.rows.append(
            (
                at.series,
                at.placement,
                str(at.servers),
                f"{at.share:.0%}",
                str(at.widest),
                f"{point.running:,}",
                f"{point.affected:.2f}",
                f"{point.event_us:.2f}",
                f"{point.fixed_us:.2f}",
                f"{point.rate_us:.3f}",
            )
        )
    worst = max(points, key=lambda point: point.rate_us)
    what = (
        f"worst cost per rate: {worst.at.series}, {worst.at.placement}, {worst.at.servers} servers"
    )
    out.bars.append(Bar(what, worst.rate_us, MICROSECONDS, "us"))
    for placement in PACKING:
        grown = [p for p in points if (p.at.series, p.at.placement) == (MORE_SERVERS, placement)]
        small, large = grown[0], grown[-1]
        growth = large.rate_us / small.rate_us
        what = f"{placement}: us per rate, {large.at.servers} servers over {small.at.servers}"
        out.bars.append(Bar(what, growth, GROWTH, "x"))
    return out
