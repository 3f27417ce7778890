"""What placement-dependent speeds and contention cost: on a whole trace, and per affected job."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import gpusched as gs
from bench import bare
from bench.measure import Timing, interleave
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, LOAD, SEED, philly

SERVERS = 512
NIC_GBPS, INTRA_GBPS = 25.0, 1000.0
JOBS_PER_S = 1e5
RATIO = 10.0
MICROSECONDS = 2.0


@dataclass(frozen=True)
class Network:
    """What is between the servers."""

    label: str
    servers_per_rack: int = 0
    oversubscription: float = 1.0

    def cluster(self, servers: int) -> gs.Cluster:
        """Servers of 8 GPUs, on one switch or in racks."""
        cluster = gs.Cluster.uniform(
            servers, GPUS_PER_SERVER, nic_gbps=NIC_GBPS, intra_gbps=INTRA_GBPS
        )
        if self.servers_per_rack == 0:
            return cluster
        return cluster.with_racks(self.servers_per_rack, oversubscription=self.oversubscription)


FLAT = Network("one switch")
RACKS = Network("racks of 16, 4:1", 16, 4.0)


@dataclass(frozen=True)
class Case:
    """A run of the table; ``contention`` None stands for the speed ``fixed``."""

    policy: str
    placement: str
    contention: str | None
    network: Network = FLAT
    has_ratio: bool = False

    @property
    def label(self) -> str:
        return f"{self.policy}, {self.placement}"

    @property
    def speed(self) -> str:
        return "fixed" if self.contention is None else f"ring, {self.contention}"

    def run(self, trace: gs.Trace, cluster: gs.Cluster) -> gs.Result:
        """Simulate it."""
        return gs.simulate(
            trace,
            cluster,
            policy=self.policy,
            placement=self.placement,
            speed="fixed" if self.contention is None else "ring",
            contention=self.contention or "none",
        )


CASES = (
    Case("fifo", "consolidated", None),
    Case("fifo", "consolidated", "none", has_ratio=True),
    Case("fifo", "consolidated", "reserved", has_ratio=True),
    Case("fifo", "consolidated", "shared", has_ratio=True),
    Case("fifo", "consolidated", "shared", RACKS, has_ratio=True),
    Case("fifo", "first-fit", None),
    Case("fifo", "first-fit", "none"),
    Case("fifo", "first-fit", "reserved"),
    Case("fifo", "first-fit", "shared"),
    Case("fifo", "first-fit", "shared", RACKS),
    Case("fifo", "spread", None),
    Case("fifo", "spread", "none"),
    Case("fifo", "spread", "reserved"),
    Case("fifo", "spread", "shared"),
    Case("fifo", "spread", "shared", RACKS),
    Case("ada-srsf", "lwf", "shared"),
    Case("ada-srsf", "lwf", "shared", RACKS),
)

METHOD = (
    f"Philly-like jobs, load {LOAD}, on {SERVERS} servers of {GPUS_PER_SERVER} with NICs of "
    f"{NIC_GBPS:g} Gbit/s; every job is a model of the zoo, drawn evenly. Rings that share links "
    "are slower, so the runs of one placement are different schedules. `floor` is the bare loop "
    "`fifo` on one pool, as for `consolidated` at fixed speed: it knows neither servers nor links, "
    "so it is a yardstick and not the same work. Rates: computed at each start, and again for each "
    "job on a link whose load changed (an affected job). `us per rate`: the time beyond that of "
    "the same placement at fixed speed over all rates. Medians of interleaved repetitions."
)
COLUMNS = (
    "policy, placement",
    "speed",
    "network",
    "native ns/job",
    "ratio",
    "M jobs/s",
    "rates/job",
    "changed/job",
    "us per rate",
)


@dataclass(frozen=True)
class Measured:
    """One line of the table."""

    case: Case
    jobs: int
    native: Timing
    floor: Timing
    computed: int
    changed: int


def measure(jobs: int, repeats: int) -> Iterator[Measured]:
    """Time every case."""
    plain = philly(jobs, SERVERS).trace
    trace = plain.with_profiles(gs.zoo(), seed=SEED)
    clusters = {network: network.cluster(SERVERS) for network in (FLAT, RACKS)}
    num_gpus = SERVERS * GPUS_PER_SERVER

    def floor() -> float:
        return bare.run("fifo", trace.submit_us, trace.service_us, trace.gpus, num_gpus).wall_s

    for case in CASES:
        cluster = clusters[case.network]
        counters = case.run(trace, cluster).schedule.counters

        def native(case: Case = case, cluster: gs.Cluster = cluster) -> float:
            return case.run(trace, cluster).wall_s

        floors, natives = interleave([floor, native], repeats)
        yield Measured(
            case,
            jobs,
            natives,
            floors,
            counters["rates_computed"],
            counters["rates_changed"],
        )


def section(found: list[Measured]) -> Section:
    """Report the table, and the bars on rate, ratio and cost per rate."""
    out = Section("Speeds that depend on placement", METHOD, COLUMNS)
    fixed = {row.case.label: row for row in found if row.case.contention is None}
    for row in found:
        case, median = row.case, row.native.median
        ratio = median / row.floor.median
        per_rate = None
        if row.computed and case.label in fixed:
            beyond = median - fixed[case.label].native.median
            per_rate = beyond / row.computed * 1e6
        out.rows.append(
            (
                case.label,
                case.speed,
                case.network.label,
                f"{median / row.jobs * 1e9:.0f} ({row.native.least / row.jobs * 1e9:.0f})",
                f"{ratio:.2f}",
                f"{row.jobs / median / 1e6:.2f}",
                f"{row.computed / row.jobs:.2f}" if row.computed else "-",
                f"{row.changed / row.jobs:.3f}" if row.computed else "-",
                "-" if per_rate is None else f"{max(0.0, per_rate):.3f}",
            )
        )
        if case.contention is None:
            continue
        what = f"{case.label}, {case.speed}, {case.network.label}"
        out.bars.append(Bar(what, row.jobs / median, JOBS_PER_S, "jobs/s", at_least=True))
        if case.has_ratio:
            out.bars.append(Bar(f"{what}: native / floor", ratio, RATIO))
        if per_rate is not None and case.contention == "shared":
            out.bars.append(Bar(f"{what}: per rate", max(0.0, per_rate), MICROSECONDS, "us"))
    return out


# The cost of an event against the cluster, the share of rings, and their width.

GROWTH = 3.0
LEAST_WIDE = 2
SERIES_LOAD = 0.5
SERIES_NIC_GBPS = 100.0
MODEL = "resnet152"  # at 100 Gbit/s it loses little by sharing, so that no queue builds up
SERIES_METHOD = (
    f"`fifo-skip` at load {SERIES_LOAD}, ResNet-152, NICs of {SERIES_NIC_GBPS:g} Gbit/s; gangs of "
    "1 GPU, and a share of wide ones from 2 GPUs to the width given, drawn evenly. More servers: "
    "the same jobs, arriving faster in proportion. `affected`: rates computed per event (an "
    "arrival or a finish). `us per event`: of the speed `ring` with `shared`, and of `fixed`, the "
    "least of the repetitions; `us per rate` is the difference over the rates."
)
SERIES_COLUMNS = (
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
    return trace.with_profiles(gs.zoo()[MODEL])


def measure_series(jobs: int, repeats: int) -> Iterator[Point]:
    """Time every setting, beside the same at fixed speed."""
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
        [lambda: fixed.run(trace, cluster).wall_s, lambda: shared.run(trace, cluster).wall_s],
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


def series_section(points: list[Point]) -> Section:
    """Report the series: the cost per rate, and whether that of an event grows with the cluster."""
    out = Section("The cost of an event", SERIES_METHOD, SERIES_COLUMNS)
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
