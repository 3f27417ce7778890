"""One instance under every policy, by a reading of the paper: the runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.deciding import Plan, plan
from gpusched_papers.sjf_bco.published import BASELINES, SERVERS
from gpusched_papers.sjf_bco.settings import ESTIMATE_ERROR, MAIN, SJF_BCO, Reading
from gpusched_papers.sjf_bco.workload import Instance, instance

# Caps to run, in units of the tightest one of each kappa.
_LADDER: Final = tuple(1 + 0.02 * rung for rung in range(16))
_LOOSE: Final = 1.5


@dataclass(frozen=True)
class Run:
    """One policy on one instance.

    Attributes
    ----------
    kappa, theta_s
        Threshold and cap of the plan.
    lower_bound_s
        On the makespan, whatever the policy.
    lost_to_contention, lost_to_overhead
        Parts of the execution time, summed over jobs.
    most_lost
        The largest part that both took of a single job's execution time.
    """

    reading: str
    seed: int
    servers: int
    policy: str
    kappa: int | None
    theta_s: float
    makespan_s: float
    mean_jct_s: float
    lower_bound_s: float
    lost_to_contention: float
    lost_to_overhead: float
    most_lost: float


@dataclass(frozen=True)
class KappaRun:
    """Makespans of SJF-BCO with one threshold, in seconds.

    Attributes
    ----------
    reading
        Its name.
    best_s
        Under the best of the caps that are run; SJF-BCO itself takes the best of these.
    tightest_s
        Under the tightest cap with this threshold.
    common_s, loose_s
        Under one cap for all thresholds: the common one of all policies, and half as much again.
    """

    reading: str
    seed: int
    kappa: int
    best_s: float
    tightest_s: float
    common_s: float
    loose_s: float


def run_instance(seed: int, servers: int, reading: Reading) -> tuple[list[Run], list[KappaRun]]:
    """Run all policies on the same jobs and servers; by kappa as well where that is asked."""
    drawn = instance(seed, servers, reading.calibration)
    plans, by_kappa, common_s = run_policies(drawn, reading)
    runs = [_run(drawn, reading, name, made) for name, made in plans.items()]
    if reading not in MAIN or servers != max(SERVERS):
        return runs, []
    return runs, [
        KappaRun(
            reading=reading.name,
            seed=seed,
            kappa=kappa,
            best_s=min(tried, key=_makespan).makespan_s,
            tightest_s=tried[0].makespan_s,
            common_s=_sjf_bco(drawn, reading, kappa, common_s).makespan_s,
            loose_s=_sjf_bco(drawn, reading, kappa, _LOOSE * common_s).makespan_s,
        )
        for kappa, tried in by_kappa.items()
    ]


def least_makespan_s(drawn: Instance, reading: Reading, kappa: int) -> float:
    """Return SJF-BCO's makespan in seconds with one threshold, under the best of its caps."""
    return min(made.makespan_s for made in _tried(drawn, reading, kappa))


def run_policies(
    drawn: Instance, reading: Reading
) -> tuple[dict[str, Plan], dict[int, list[Plan]], float]:
    """Return each policy's plan, all plans of SJF-BCO by kappa, and the common cap in seconds."""
    widths: list[int] = np.unique(drawn.trace.gpus).tolist()
    by_kappa = {kappa: list(_tried(drawn, reading, kappa)) for kappa in widths}
    chosen = min((made for tried in by_kappa.values() for made in tried), key=_makespan)
    baselines = {name: _baseline(drawn, reading, name, None) for name in BASELINES}
    common_s = max(made.theta_s for made in (chosen, *baselines.values()))
    if reading.cap == "published":
        whole_s = float(drawn.trace.service_s.sum()) / ESTIMATE_ERROR
        baselines["rand"] = _baseline(drawn, reading, "rand", whole_s)
    elif reading.cap == "best":
        baselines = {
            name: min(
                (_baseline(drawn, reading, name, factor * made.theta_s) for factor in _LADDER),
                key=_makespan,
            )
            for name, made in baselines.items()
        }
    elif reading.cap != "own":
        theta_s = common_s if reading.cap == "common" else chosen.theta_s
        baselines = {name: _baseline(drawn, reading, name, theta_s) for name in BASELINES}
    return {SJF_BCO: chosen} | baselines, by_kappa, common_s


def _makespan(made: Plan) -> float:
    return made.makespan_s


def _tried(drawn: Instance, reading: Reading, kappa: int) -> Iterator[Plan]:
    """Plans with one threshold: first the one with the tightest cap."""
    tightest = _sjf_bco(drawn, reading, kappa, None)
    yield tightest
    if reading.caps_run == "ladder":
        for factor in _LADDER[1:]:
            yield _sjf_bco(drawn, reading, kappa, factor * tightest.theta_s)


def _sjf_bco(drawn: Instance, reading: Reading, kappa: int, theta_s: float | None) -> Plan:
    return plan(
        drawn.trace,
        drawn.cluster,
        policy=SJF_BCO,
        kappas=(kappa,),
        theta_s=theta_s,
        lambda_=reading.inflation,
        u=ESTIMATE_ERROR,
        tie=reading.tie,
        start=reading.start,
        speed=reading.calibration.speed,
        contention=reading.calibration.contention,
    )


def _baseline(drawn: Instance, reading: Reading, name: str, theta_s: float | None) -> Plan:
    return plan(
        drawn.trace,
        drawn.cluster,
        policy=name,
        theta_s=theta_s,
        u=ESTIMATE_ERROR,
        order=reading.baseline_order,
        start=reading.start,
        speed=reading.calibration.speed,
        contention=reading.calibration.contention,
        seed=drawn.seed,
    )


def _run(drawn: Instance, reading: Reading, policy: str, made: Plan) -> Run:
    schedule = made.result.schedule
    held_s = schedule.held_us / US_PER_S
    contention_s = held_s - np.asarray(schedule.uncontended_us) / US_PER_S
    iterations = drawn.trace.service_s / drawn.iteration_s
    overhead_s = iterations * reading.calibration.overhead_s * schedule.num_servers
    return Run(
        reading=reading.name,
        seed=drawn.seed,
        servers=drawn.num_servers,
        policy=policy,
        kappa=made.kappa,
        theta_s=made.theta_s,
        makespan_s=made.makespan_s,
        mean_jct_s=made.mean_jct_s,
        lower_bound_s=made.lower_bound_s,
        lost_to_contention=float(contention_s.sum() / held_s.sum()),
        lost_to_overhead=float(overhead_s.sum() / held_s.sum()),
        most_lost=float(((contention_s + overhead_s) / held_s).max()),
    )
