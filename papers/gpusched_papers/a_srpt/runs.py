"""One run of the study, in figures."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gpusched.base.arrays import Bool, Float64
from gpusched.base.ticks import US_PER_S
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.prediction import Predictor
from gpusched.results.result import Result
from gpusched_papers.a_srpt.settings import BY_WORK, Arm, Setting
from gpusched_papers.a_srpt.workload import Recorded, Recorder, workload


@dataclass(frozen=True)
class Run:
    """A policy on the jobs of one seed.

    Attributes
    ----------
    completion_ratio
        Sum of completion times over its lower bound.
    wait_single_s, wait_server_s, wait_wide_s
        Mean time without GPUs of jobs of one GPU, of more but one server, of several servers.
    lost_to_placement, lost_to_contention
        Parts of the cluster's GPU time.
    bias, r2_log, rank_correlation
        Of the predictions; None under the truth.
    """

    place: str
    load: float | None
    heavy_share: float | None
    contention: str
    predictor: str
    shares_predictions: bool
    arm: str
    policy: str
    placement: str
    seed: int
    jobs: int
    mean_jct_s: float
    p99_jct_s: float
    completion_ratio: float
    mean_servers: float
    wait_single_s: float
    wait_server_s: float
    wait_wide_s: float
    lost_to_placement: float | None
    lost_to_contention: float | None
    bias: float | None
    r2_log: float | None
    rank_correlation: float | None
    coverage: float | None


@dataclass
class Runner:
    """Runs the pairs of one seed; a-srpt-by-work's predictions are kept for the others."""

    seed: int
    predicted_s: dict[Setting, Float64] = field(default_factory=dict)

    def run(self, setting: Setting, arm: Arm) -> Run:
        """Run one pair."""
        made, predicted_s = run_pair(
            setting, arm, self.seed, recorded_s=self.predicted_s.get(setting)
        )
        if predicted_s is not None:
            self.predicted_s[setting] = predicted_s
        return made


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Run]:
    """Run all policies on the same jobs, first the one whose predictions the others need."""
    runner = Runner(seed)
    return [runner.run(setting, arm) for arm in arms]


def run_pair(
    setting: Setting, arm: Arm, seed: int, *, recorded_s: Float64 | None = None
) -> tuple[Run, Float64 | None]:
    """Run one pair; the predictions that a-srpt-by-work made are for the other policies to take.

    ``recorded_s``: what it made in the same setting.
    """
    trace = workload(setting.place, setting.load, setting.heavy_share, seed)
    chosen: str | Predictor = setting.predictor
    if setting.predictor.startswith("forest") and setting.shares_predictions:
        if arm == BY_WORK:
            chosen = Recorder(setting.predictor)
        elif recorded_s is None:
            raise ValueError(f"{arm.name}: there are no predictions of {BY_WORK.name} to take")
        else:
            chosen = Recorded(recorded_s)
    result = simulate(
        trace,
        setting.place.cluster(),
        policy=arm.policy,
        placement=arm.placement,
        predictor=chosen,
        speed="stages",
        contention=setting.contention,
        seed=seed,
    )
    predicted_s = chosen.predicted_s if isinstance(chosen, Recorder) else None
    return _measures(setting, arm, seed, result), predicted_s


def _measures(setting: Setting, arm: Arm, seed: int, result: Result) -> Run:
    summary = result.summary()
    trace, schedule = result.trace, result.schedule
    wait_s = (schedule.finish_us - trace.submit_us - schedule.held_us) / US_PER_S

    def number(key: str) -> float | None:
        value = summary.get(key)
        return None if not isinstance(value, float) or np.isnan(value) else value

    def mean_wait_s(jobs: Bool) -> float:
        return float(wait_s[jobs].mean()) if jobs.any() else 0.0

    return Run(
        place=setting.place.name,
        load=setting.load,
        heavy_share=setting.heavy_share,
        contention=setting.contention,
        predictor=setting.predictor,
        shares_predictions=setting.shares_predictions,
        arm=arm.name,
        policy=arm.policy,
        placement=arm.placement,
        seed=seed,
        jobs=len(trace),
        mean_jct_s=float(summary["mean_jct_s"]),
        p99_jct_s=float(summary["p99_jct_s"]),
        completion_ratio=float(summary["completion_ratio"]),
        mean_servers=float(summary["mean_servers"]),
        wait_single_s=mean_wait_s(trace.gpus == 1),
        wait_server_s=mean_wait_s((trace.gpus > 1) & (trace.gpus <= setting.place.gpus)),
        wait_wide_s=mean_wait_s(trace.gpus > setting.place.gpus),
        lost_to_placement=number("lost_to_placement"),
        lost_to_contention=number("lost_to_contention"),
        bias=number("prediction_bias"),
        r2_log=number("prediction_r2_log"),
        rank_correlation=number("prediction_rank_correlation"),
        coverage=number("prediction_coverage"),
    )
