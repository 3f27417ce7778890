"""How far from the true optimum each policy is, on instances small enough to solve exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table, table
from gpusched_papers import exact
from gpusched_papers.sjf_bco.published import ITERATION_S, POLICIES, SERVICE_S
from gpusched_papers.sjf_bco.runs import run_policies
from gpusched_papers.sjf_bco.settings import Reading
from gpusched_papers.sjf_bco.workload import Calibration, Instance, build
from gpusched_papers.study import Progress, mean, run_stage

STAGE: Final = "small instances, exactly"
NUM_JOBS: Final = 5
NUM_SERVERS: Final = 3
SERVER_GPUS: Final = (2, 4)
WIDTHS: Final = (1, 2, 3, 4)
# So few rings meet here that they must be longer for contention to count.
CALIBRATION: Final = Calibration(ring_share=0.2, overhead_s=2e-4)
READING: Final = Reading("small instances", CALIBRATION)
TIME_LIMIT_S: Final = 60.0


@dataclass(frozen=True)
class GapRun:
    """One small instance.

    Attributes
    ----------
    jobs, servers
        Widths, and GPUs of each server.
    optimum_s, proven_s
        The best makespan that was found and a proven bound on all; equal up to 1e-6 if
        ``is_optimal``.
    replayed_s
        The optimal plan in the core.
    makespan_s
        Of each policy.
    """

    seed: int
    jobs: tuple[int, ...]
    servers: tuple[int, ...]
    optimum_s: float
    proven_s: float
    is_optimal: bool
    replayed_s: float
    makespan_s: dict[str, float]


def draw(seed: int) -> Instance:
    """Draw an instance of five jobs on three servers."""
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = random.choice(SERVER_GPUS, size=NUM_SERVERS)
    gpus = random.choice(WIDTHS, size=NUM_JOBS)
    service_s = random.uniform(*SERVICE_S, size=NUM_JOBS)
    iteration_s = random.uniform(*ITERATION_S, size=NUM_JOBS)
    return build(seed, gpus, service_s / iteration_s, iteration_s, sizes, CALIBRATION)


def run_one(seed: int, time_limit_s: float = TIME_LIMIT_S) -> GapRun:
    """Solve an instance exactly, replay the optimum in the core, and run all policies."""
    drawn = draw(seed)
    plans, _, _ = run_policies(drawn, READING)
    makespan_s = {name: made.makespan_s for name, made in plans.items()}
    problem = exact.instance(
        drawn.trace,
        drawn.cluster,
        overhead_s=CALIBRATION.overhead_s,
        reduction_bytes_per_s=CALIBRATION.reduction_bytes_per_s,
        degradation=CALIBRATION.degradation,
        scaling=CALIBRATION.scaling,
    )
    best_s = min(makespan_s.values())
    solution = exact.solve(problem, time_limit_s=time_limit_s, upper_bound_s=best_s * (1 + 1e-6))
    replayed = exact.replay(
        solution,
        drawn.trace,
        drawn.cluster,
        speed=CALIBRATION.speed,
        contention=CALIBRATION.contention,
    )
    return GapRun(
        seed=seed,
        jobs=tuple(drawn.trace.gpus.tolist()),
        servers=tuple(drawn.cluster.server_gpus.tolist()),
        optimum_s=solution.makespan_s,
        proven_s=solution.lower_bound_s,
        is_optimal=solution.is_optimal,
        replayed_s=float(replayed.summary()["makespan_s"]),
        makespan_s=makespan_s,
    )


def gap_runs(
    seeds: int,
    progress: Progress,
    runs: list[GapRun] | None = None,
    failures: Failures | None = None,
) -> list[GapRun]:
    """Run as many instances; ``runs`` is filled on the way, for who is interrupted.

    Errors go to ``failures``, or are raised at the end.
    """
    runs = [] if runs is None else runs
    kept = Failures() if failures is None else failures
    tasks = [(seed,) for seed in range(seeds)]
    done = run_stage(
        STAGE, run_one, tasks, progress, kept, name=lambda task: f"small instance {task[0]}"
    )
    for _, made in done:
        runs.append(made)
        runs.sort(key=lambda run: run.seed)
    if failures is None:
        kept.raise_if_any()
    return runs


def gap_table(runs: list[GapRun]) -> Table:
    """Excess of each policy over the optimum, on the instances that were solved to the end."""
    solved = [run for run in runs if run.is_optimal]
    rows = []
    for name in POLICIES:
        gaps = [run.makespan_s[name] / run.optimum_s - 1 for run in solved]
        if not gaps:
            continue
        optimal = sum(gap < 1e-5 for gap in gaps)
        spread = mean(gaps)
        rows.append(
            (
                name,
                f"{100 * spread.value:.1f} ± {100 * spread.half_width:.1f} %",
                f"{100 * float(np.median(gaps)):.1f} %",
                f"{100 * max(gaps):.1f} %",
                f"{optimal} of {len(solved)}",
            )
        )
    off = max((abs(run.replayed_s - run.optimum_s) for run in solved), default=0.0)
    return table(
        "True gap: makespan above the optimum of a mixed-integer program",
        ("policy", "mean", "median", "largest", "optimal"),
        rows,
        (
            f"{NUM_JOBS} jobs of {WIDTHS[0]} to {WIDTHS[-1]} GPUs on {NUM_SERVERS} servers of "
            f"{' or '.join(map(str, SERVER_GPUS))}; the ring takes {CALIBRATION.ring_share:.0%} of "
            f"an iteration over idle network cards. {len(solved)} of {len(runs)} instances were "
            f"solved to the end within {TIME_LIMIT_S:g} s each; the others do not count.",
            f"Replayed in the core, the optimal plans take as long, to {1e6 * off:.0f} us.",
        ),
    )
