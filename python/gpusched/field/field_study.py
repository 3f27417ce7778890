"""The runs that rank the policies, as a study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from gpusched.field.entrants import Entrant
from gpusched.field.workloads import GPUS, RESTART_S, Workload
from gpusched.sweeping.study import Study

ORACLE: Final = "oracle"
FIRST_SEED: Final = 2_000
NUM_SEEDS: Final = 20
METRICS: Final = (
    "mean_wait_s", "p95_wait_s", "p95_bounded_slowdown", "mean_jct_s", "tenant_fairness",
    "thorough_gap",
)  # fmt: skip
NUM_FITTED: Final = 1
"""Seeds where a forest is fitted in each run, which takes longer than all else."""


def field_study(
    workloads: Sequence[Workload], who: Sequence[Entrant], num_seeds: int = NUM_SEEDS
) -> Study:
    """Return the study of all policies on all workloads.

    Each policy runs on the same jobs, from their first submission to the last finish, on whole GPUs
    under the placement `consolidated`.
    """
    return Study.of(
        {
            "name": "field",
            "title": "The state of the field",
            "seeds": list(range(FIRST_SEED, FIRST_SEED + num_seeds)),
            "traces": [
                {**one.jobs, "label": one.name, "restart_s": RESTART_S} for one in workloads
            ],
            "clusters": [
                {"servers": one.servers, "gpus": GPUS, "label": f"{one.servers} x {GPUS} {at}"}
                for at, one in enumerate(workloads)
            ],
            "zip": [["traces", "clusters"]],
            "policies": [one.policy for one in who],
            "metrics": list(METRICS),
            "predictors": sorted({ORACLE, *(one.predictor for one in workloads)}),
            "runs": _wanted(workloads, who, num_seeds),
        }
    )


def _wanted(
    workloads: Sequence[Workload], who: Sequence[Entrant], num_seeds: int
) -> list[dict[str, Any]]:
    """Return the tables of runs, without those that differ from another one by their seed alone."""
    seeds = list(range(FIRST_SEED, FIRST_SEED + num_seeds))
    drawn = [work.name for work in workloads if work.is_drawn]
    read = [work.name for work in workloads if not work.is_drawn]
    tables: list[tuple[list[str], list[Entrant], str, list[int]]] = [
        (drawn, list(who), ORACLE, seeds),
        (read, [one for one in who if one.is_random], ORACLE, seeds),
        (read, [one for one in who if not one.is_random], ORACLE, seeds[:1]),
    ]
    asked = [one for one in who if one.knows_services]
    for work in workloads:
        fitted = seeds if work.is_drawn else seeds[:NUM_FITTED]
        tables.append(([work.name], asked, work.predictor, fitted))
    return [
        {"trace": traces, "policy": [one.policy for one in some], "predictor": by, "seed": of}
        for traces, some, by, of in tables
        if traces and some
    ]
