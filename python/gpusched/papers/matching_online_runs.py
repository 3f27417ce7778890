"""One run online, in figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpusched.arrays import Float64
from gpusched.papers.matching_online_settings import PLACEMENT, Arm, Setting
from gpusched.papers.matching_online_workload import capacity, workload
from gpusched.result import Result
from gpusched.simulation import simulate
from gpusched.ticks import US_PER_S


@dataclass(frozen=True)
class OnlineRun:
    """A policy on the jobs of one seed.

    Attributes
    ----------
    fairness
        Jain's index of the finish-time fairness, :func:`finish_time_fairness`.
    changes
        Preemptions and resizes per job.
    decision_s
        Time of the run over its instants (arrivals and finishes).
    """

    place: str
    workload: str
    load: float
    speed: str
    arm: str
    seed: int
    jobs: int
    mean_jct_s: float
    p95_jct_s: float
    fairness: float
    utilisation: float
    changes: float
    decision_s: float
    run_s: float


def run(setting: Setting, arm: Arm, seed: int) -> OnlineRun:
    """Run a policy."""
    trace = workload(setting.place, setting.workload, setting.load, seed)
    result = simulate(
        trace,
        setting.place.cluster(),
        policy=arm.policy,
        placement=PLACEMENT,
        speed=setting.speed,
        seed=seed,
    )
    summary = result.summary()
    if summary["num_finished"] != len(trace):
        raise RuntimeError(f"{arm.name} on {setting}: not all jobs have finished")
    fairness = finish_time_fairness(result)
    changes = float(np.sum(result.schedule.preemptions) + np.sum(result.schedule.resizes))
    instants = np.union1d(trace.submit_us, result.schedule.finish_us)
    return OnlineRun(
        place=setting.place.name,
        workload=setting.workload.name,
        load=setting.load,
        speed=setting.speed,
        arm=arm.name,
        seed=seed,
        jobs=len(trace),
        mean_jct_s=float(summary["mean_jct_s"]),
        p95_jct_s=float(summary["p95_jct_s"]),
        fairness=float(fairness.sum() ** 2 / (len(fairness) * np.sum(fairness**2))),
        utilisation=float(summary["allocation"]),
        changes=changes / len(trace),
        decision_s=result.wall_s / len(instants),
        run_s=result.wall_s,
    )


def finish_time_fairness(result: Result) -> Float64:
    """Return JCT over the run time in an equal share of the cluster (Themis, NSDI 2020).

    The share is that among as many jobs as there were, on average, while the job was there; a job
    that is wider runs slower in proportion. GPUs count by their speed, see :func:`capacity`.
    """
    trace, schedule = result.trace, result.schedule
    submit, finish = trace.submit_us, schedule.finish_us
    times = np.sort(np.concatenate([submit, finish]))
    # Jobs there after each of these times, and their integral up to it.
    num_jobs = np.searchsorted(submit, times, side="right") - np.searchsorted(
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
