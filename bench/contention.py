"""Measure the cost of placement-dependent speeds and contention on a whole trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import gpusched as gs
from bench import bare
from bench.measure import Timing, interleave, processor_s
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
    """A run of the table; ``contention`` None means the speed ``fixed``."""

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
    "the same placement at fixed speed over all rates. Processor time of the whole `gs.simulate`, "
    "which no other program stretches; medians of interleaved repetitions."
)
COLUMNS = (
    "policy, placement",
    "speed",
    "network",
    "call ns/job",
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
    call: Timing
    floor: Timing
    computed: int
    changed: int


def measure(jobs: int, repeats: int) -> Iterator[Measured]:
    """Time every case."""
    plain = philly(jobs, SERVERS).trace
    trace = plain.with_profiles(gs.model.zoo(), seed=SEED)
    clusters = {network: network.cluster(SERVERS) for network in (FLAT, RACKS)}
    num_gpus = SERVERS * GPUS_PER_SERVER

    def floor() -> float:
        columns = (trace.submit_us, trace.service_us, trace.gpus)
        return processor_s(lambda: bare.run("fifo", *columns, num_gpus))

    for case in CASES:
        cluster = clusters[case.network]
        counters = case.run(trace, cluster).schedule.counters

        def call(case: Case = case, cluster: gs.Cluster = cluster) -> float:
            return processor_s(lambda: case.run(trace, cluster))

        floors, calls = interleave([floor, call], repeats)
        yield Measured(
            case,
            jobs,
            calls,
            floors,
            counters["rates_computed"],
            counters["rates_changed"],
        )


def section(found: list[Measured]) -> Section:
    """Report the table, and the bars on rate, ratio and cost per rate."""
    out = Section("Speeds that depend on placement", METHOD, COLUMNS)
    fixed = {row.case.label: row for row in found if row.case.contention is None}
    for row in found:
        case, median = row.case, row.call.median
        ratio = median / row.floor.median
        per_rate = None
        if row.computed and case.label in fixed:
            beyond = median - fixed[case.label].call.median
            per_rate = beyond / row.computed * 1e6
        out.rows.append(
            (
                case.label,
                case.speed,
                case.network.label,
                f"{median / row.jobs * 1e9:.0f} ({row.call.least / row.jobs * 1e9:.0f})",
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
            out.bars.append(Bar(f"{what}: call / floor", ratio, RATIO))
        if per_rate is not None and case.contention == "shared":
            out.bars.append(Bar(f"{what}: per rate", max(0.0, per_rate), MICROSECONDS, "us"))
    return out
