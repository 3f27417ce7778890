"""The runs of the study of Dancer: all policies on the jobs of a seed."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched.bounds.deadline_bounds import dsr_bound
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.results.result import Result
from gpusched_papers.dancer.settings import PLACEMENT, SPEED, Arm, Setting
from gpusched_papers.dancer.workload import workload


@dataclass(frozen=True)
class Run:
    """A policy on the jobs of one seed.

    Attributes
    ----------
    dsr
        Part of the jobs that met their deadlines.
    bound, bound_name
        No schedule has a greater one; see :func:`gpusched.bounds.deadline_bound`.
    admitted, broken
        Parts of the jobs that were admitted, and that were and missed; None where all are.
    changes
        Preemptions and resizes per job.
    utilisation
        GPU time held over that of the cluster, until the last job ends.
    decision_s
        Processor time of the run over its instants (arrivals and finishes).
    """

    place: str
    workload: str
    load: float
    recipe: str
    tightness: float
    slot_s: float
    restart_s: float
    error: float
    arm: str
    policy: str
    seed: int
    jobs: int
    dsr: float
    bound: float
    bound_name: str
    admitted: float | None
    broken: float | None
    mean_jct_s: float
    changes: float
    utilisation: float
    decision_s: float
    run_s: float

    @property
    def gap(self) -> float:
        """What the bound leaves: bound / DSR - 1."""
        return self.bound / self.dsr - 1 if self.dsr else float("inf")


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Run]:
    """Run all policies on the same jobs."""
    trace, cluster = workload(setting, seed), setting.place.cluster()
    bound, name = dsr_bound(trace, cluster, speed=SPEED)  # which the summaries take as well
    made = []
    for arm in arms:
        policy = arm.text(setting)
        before_s = time.process_time()
        result = simulate(
            trace,
            cluster,
            policy=policy,
            placement=PLACEMENT,
            speed=SPEED,
            predictor="estimate" if setting.error else "oracle",
            seed=seed,
        )
        spent_s = time.process_time() - before_s
        made.append(_measures(setting, arm.name, policy, seed, result, bound, name, spent_s))
    return made


def _measures(
    setting: Setting, arm: str, policy: str, seed: int, result: Result, bound: float, name: str,
    processor_s: float,
) -> Run:  # fmt: skip
    summary: dict[str, Any] = dict(result.summary())
    jobs = len(result.trace)
    if summary["dsr"] > bound:
        raise RuntimeError(f"{arm} on {setting}, seed {seed}: a DSR above its bound {bound}")
    admitted, broken = summary.get("num_admitted"), summary.get("broken_promises")
    instants = np.union1d(result.trace.submit_us, result.schedule.finish_us)
    return Run(
        place=setting.place.name,
        workload=setting.workload.name,
        load=setting.load,
        recipe=setting.recipe,
        tightness=setting.tightness,
        slot_s=setting.slot_s,
        restart_s=setting.restart_s,
        error=setting.error,
        arm=arm,
        policy=policy,
        seed=seed,
        jobs=jobs,
        dsr=float(summary["dsr"]),
        bound=bound,
        bound_name=name,
        admitted=None if admitted is None else admitted / jobs,
        broken=None if broken is None else broken / jobs,
        mean_jct_s=float(summary["mean_jct_s"]),
        changes=float((summary["preemptions"] + summary["resizes"]) / jobs),
        utilisation=float(summary["allocation"]),
        decision_s=processor_s / len(instants),
        run_s=processor_s,
    )
