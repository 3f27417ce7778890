"""The runs of the policy matching and others, online: all policies on the jobs of a seed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.ticks import US_PER_S
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.results.result import Result
from gpusched_papers.matching.online.settings import Arm, Setting
from gpusched_papers.matching.online.workload import capacity, workload


@dataclass(frozen=True)
class OnlineRun:
    """A policy on the jobs of one seed.

    Attributes
    ----------
    mean_service_s
        Run time at the job's own width on its best type; at own widths no mean JCT is less.
    mean_wait_s
        All time without GPUs.
    mean_slower_s
        Time with GPUs beyond the service: slower types, spread gangs and restarts; negative where
        jobs were wider.
    fairness
        Jain's index of the finish-time fairness, see :func:`finish_time_fairness`.
    preemptions, resizes
        Per job.
    decision_s
        Processor time of the run over its instants (arrivals and finishes).
    """

    place: str
    workload: str
    load: float
    speed: str
    placement: str
    arm: str
    policy: str
    seed: int
    jobs: int
    mean_jct_s: float
    p99_jct_s: float
    mean_service_s: float
    mean_wait_s: float
    mean_slower_s: float
    fairness: float
    allocation: float
    preemptions: float
    resizes: float
    decision_s: float
    run_s: float


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[OnlineRun]:
    """Run all policies on the same jobs."""
    trace, cluster = workload(setting, seed), setting.place.cluster()
    made = []
    for arm in arms:
        before_s = time.process_time()
        result = simulate(
            trace,
            cluster,
            policy=arm.policy,
            placement=setting.placement,
            speed=setting.speed,
            seed=seed,
        )
        made.append(_measures(setting, arm, seed, result, time.process_time() - before_s))
    return made


def _measures(
    setting: Setting, arm: Arm, seed: int, result: Result, processor_s: float
) -> OnlineRun:
    summary: dict[str, Any] = dict(result.summary())
    trace, schedule = result.trace, result.schedule
    if summary["num_finished"] != len(trace):
        raise RuntimeError(f"{arm.name} on {setting}, seed {seed}: not all jobs have finished")
    rho = finish_time_fairness(result)
    instants = np.union1d(trace.submit_us, schedule.finish_us)
    service_s = float(trace.service_s.mean())
    return OnlineRun(
        place=setting.place.name,
        workload=setting.workload.name,
        load=setting.load,
        speed=setting.speed,
        placement=setting.placement,
        arm=arm.name,
        policy=arm.policy,
        seed=seed,
        jobs=len(trace),
        mean_jct_s=float(summary["mean_jct_s"]),
        p99_jct_s=float(summary["p99_jct_s"]),
        mean_service_s=service_s,
        mean_wait_s=float(summary["mean_wait_s"]),
        mean_slower_s=float(schedule.held_us.mean() / US_PER_S) - service_s,
        fairness=float(rho.sum() ** 2 / (len(rho) * np.sum(rho**2))),
        allocation=float(summary["allocation"]),
        preemptions=float(np.mean(schedule.preemptions)),
        resizes=float(np.mean(schedule.resizes)),
        decision_s=processor_s / len(instants),
        run_s=processor_s,
    )


def finish_time_fairness(result: Result) -> Float64:
    """Return JCT over the run time in an equal share of the cluster, by job (Themis, NSDI 2020).

    The share is that among as many jobs as there were, on average, while the job was there; a job
    that is wider than it runs slower in proportion. GPUs count by their speed, see
    :func:`gpusched_papers.matching.online.workload.capacity`.
    """
    trace, schedule = result.trace, result.schedule
    submit, finish = trace.submit_us, schedule.finish_us
    times = np.sort(np.concatenate([submit, finish]))
    # Jobs there after each of these times, and their integral up to it.
    num_jobs = np.searchsorted(np.sort(submit), times, side="right") - np.searchsorted(
        np.sort(finish), times, side="right"
    )
    area = np.concatenate([[0.0], np.cumsum(num_jobs[:-1] * np.diff(times).astype(float))])
    mean_jobs = (np.interp(finish, times, area) - np.interp(submit, times, area)) / (
        finish - submit
    )
    share = result.cluster.num_gpus * capacity(trace) / mean_jobs
    alone_s = trace.service_us / US_PER_S * np.maximum(1.0, trace.gpus / share)
    found: Float64 = (finish - submit) / US_PER_S / alone_s
    return found
