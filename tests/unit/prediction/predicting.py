"""Workloads of recurring jobs, and runs that tests of predictors can halt."""

from collections.abc import Callable
from typing import Any

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.prediction import PredictionReport, Predictor
from gpusched.prediction.online import OnlineRun
from gpusched.specs.case import job_columns

SECOND = 1_000_000
SERVERS = gs.Cluster.uniform(3, 4)


def recurring(num_jobs: int, seed: int = 0, **columns: Any) -> gs.Trace:
    """Jobs of a few users and groups; those of one group take about as long as each other."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 6, num_jobs)
    arguments: dict[str, Any] = {
        "submit_s": np.cumsum(rng.integers(0, 30, num_jobs)),
        "service_s": np.ceil(20.0 * (1 + group) * np.exp(0.3 * rng.normal(size=num_jobs))),
        "gpus": rng.choice([1, 2, 4], num_jobs),
        "user": [f"user{g % 3}" for g in group],
        "group": [f"group{g}" for g in group],
        "queue": rng.choice(["a", "b"], num_jobs).tolist(),
    }
    return gs.Trace.from_columns(**{**arguments, **columns})


def run_maker(trace: gs.Trace, policy: str = "fifo") -> Callable[[Any], Any]:
    """Make runs of ``trace`` on three servers under ``policy`` that read given predictions."""
    choice = gs.Policy.parse(policy)

    def make_run(predicted_us: Any) -> Any:
        columns = job_columns(trace, SERVERS, uses_estimates=False)
        jobs = _core.JobTable(**{**columns, "predicted_us": predicted_us})
        servers = _core.Cluster(SERVERS.server_gpus, SERVERS.server_type)
        described = _core.RunDescription(
            policy=choice.name,
            policy_values=choice.core_values(),
            policy_flags=list(choice.info.flags),
            placement="consolidated",
        )
        return _core.Run(jobs, servers, described, _core.RunControl())

    return make_run


def predicted(
    trace: gs.Trace, predictor: Predictor, policy: str = "fifo", **options: Any
) -> tuple[Any, Any, PredictionReport]:
    """Return the predictions, the schedule and the report of one run."""
    kept: list[Any] = []
    make_run = run_maker(trace, policy)

    def keeping(predicted_us: Any) -> Any:
        kept.append(predicted_us)
        return make_run(predicted_us)

    schedule, report = OnlineRun(keeping, trace, predictor, **options).finish()
    return kept[0], schedule, report
