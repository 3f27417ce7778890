"""A-SRPT on job graphs, and predictors that learn during a run: whole traces."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import gpusched as gs
from bench.contention import INTRA_GBPS, NIC_GBPS, SERVERS
from bench.measure import Timing, interleave, processor_s
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, LOAD, SEED

RESERVED_JOBS_PER_S = 4e5
SHARED_JOBS_PER_S = 1e5
PREDICT_S = 300.0
FITS = 50
FOREST = "forest"


@dataclass(frozen=True)
class Case:
    """A run of the table, with the rate that it is to reach."""

    policy: str
    placement: str
    contention: str
    jobs_per_s: float | None = None

    def run(self, trace: gs.Trace, cluster: gs.Cluster) -> gs.Result:
        """Simulate it."""
        return gs.simulate(
            trace, cluster, policy=self.policy, placement=self.placement,
            speed="stages", contention=self.contention,
        )  # fmt: skip


CASES = (
    Case("fifo", "heavy-edge", "reserved"),
    Case("a-srpt", "heavy-edge", "none"),
    Case("a-srpt", "heavy-edge", "reserved", RESERVED_JOBS_PER_S),
    Case("a-srpt", "heavy-edge", "shared", SHARED_JOBS_PER_S),
    Case("a-srpt-by-work", "heavy-edge", "reserved"),
    Case("a-srpt-p", "heavy-edge", "reserved"),
    Case("wcs-subtime", "heavy-edge", "reserved"),
)

METHOD = (
    f"Philly-like jobs, load {LOAD}, on {SERVERS} servers of {GPUS_PER_SERVER} with NICs of "
    f"{NIC_GBPS:g} Gbit/s; every job is a graph drawn by `gs.traces.generating.assign_graphs`, "
    "and the truth is predicted. Processor time of the whole `gs.simulate`, medians of interleaved "
    "repetitions."
)


def workload(jobs: int) -> tuple[gs.Trace, gs.Cluster]:
    """Make the jobs and the servers."""
    cluster = gs.Cluster.uniform(SERVERS, GPUS_PER_SERVER, nic_gbps=NIC_GBPS, intra_gbps=INTRA_GBPS)
    trace = gs.generate("philly", jobs=jobs, load=LOAD, cluster=cluster, seed=SEED, model=1)
    return gs.traces.generating.assign_graphs(trace, cluster, seed=SEED), cluster


def measure(jobs: int, repeats: int) -> Iterator[tuple[Case, Timing]]:
    """Time every case."""
    trace, cluster = workload(jobs)
    for case in CASES:

        def call(case: Case = case) -> float:
            return processor_s(lambda: case.run(trace, cluster))

        (timing,) = interleave([call], repeats)
        yield case, timing


def section(jobs: int, repeats: int) -> Section:
    """Report the rates of A-SRPT and of what it is compared with."""
    columns = ("policy", "placement", "contention", "call ns/job", "M jobs/s")
    out = Section("Job graphs", METHOD, columns)
    for case, timing in measure(jobs, repeats):
        rate = jobs / timing.median
        out.rows.append(
            (
                case.policy,
                case.placement,
                case.contention,
                f"{timing.median / jobs * 1e9:.0f} ({timing.least / jobs * 1e9:.0f})",
                f"{rate / 1e6:.2f}",
            )
        )
        if case.jobs_per_s is not None:
            what = f"{case.policy}, {case.contention}"
            out.bars.append(Bar(what, rate, case.jobs_per_s, "jobs/s", at_least=True))
    return out


def prediction_section(jobs: int) -> Section:
    """Report one run that a forest predicts, with its accuracy and what prediction took."""
    columns = ("predictor", "fits", "wall s", "predicting", "R2 (log)", "rank correlation")
    method = (
        f"{jobs:,} Helios-like jobs under `sjf`, load {LOAD}, {SERVERS} servers of "
        f"{GPUS_PER_SERVER}; each job is predicted from what had finished before it. Wall time."
    )
    out = Section("Prediction in the course of a run", method, columns)
    cluster = gs.Cluster.uniform(SERVERS, GPUS_PER_SERVER)
    trace = gs.generate("helios", jobs=jobs, load=LOAD, cluster=cluster, seed=SEED, model=1)
    for predictor in ("group-mean", FOREST):
        begin = time.perf_counter()
        report = gs.simulate(trace, cluster, policy="sjf", predictor=predictor).prediction
        wall_s = time.perf_counter() - begin
        assert report is not None
        accuracy = report.accuracy
        out.rows.append(
            (
                predictor,
                str(report.num_fits),
                f"{wall_s:.1f}",
                f"{report.share:.0%}",
                "-" if accuracy.r2_log is None else f"{accuracy.r2_log:.2f}",
                "-" if accuracy.rank_correlation is None else f"{accuracy.rank_correlation:.2f}",
            )
        )
        if report.num_fits:
            out.bars.append(Bar(f"{predictor}: the run", wall_s, PREDICT_S, "s"))
            what = f"{predictor}: fits"
            out.bars.append(Bar(what, report.num_fits, FITS, at_least=True))
    return out
