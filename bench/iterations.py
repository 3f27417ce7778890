"""A forest of iterations against one of seconds, under a-srpt-by-work: where each recurs.

    python -m bench.iterations [--seeds 2000 2019]

Jobs of 8 servers of 4 GPUs at 10 Gbit/s, load 0.95. ``times recur``: as in the study of A-SRPT,
where all jobs of a group and a width train one model. ``iterations recur``: each job trains a model
of its own for as many iterations as its group's jobs do.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

import gpusched as gs
from gpusched.base.arrays import Float64
from gpusched.traces.generating.graph_zoo import assign_graphs
from gpusched_papers.a_srpt import BY_WORK, FOREST, TESTBED, workload

LOAD: Final = 0.95
PREDICTORS: Final = (FOREST, f"{FOREST},counts=iterations", "oracle")


def times_recur(seed: int) -> gs.Trace:
    """The study's own jobs."""
    return workload(TESTBED, LOAD, None, seed)


def iterations_recur(seed: int) -> gs.Trace:
    """The same jobs, each with a model of its own; a second of the group's is an iteration."""
    known, cluster = workload(TESTBED, LOAD, None, seed), TESTBED.cluster()
    drawn = assign_graphs(replace(known, graphs=(), graph=None, group=None), cluster, seed=seed)
    per_iteration_s = gs.bounds.iteration_limits(drawn, cluster, speed="stages")["low"]
    scale = known.service_s.sum() / (known.service_s * per_iteration_s).sum()
    service_us = np.rint(known.service_us * per_iteration_s * scale).astype(np.int64)
    made = replace(drawn, group=known.group, service_us=np.maximum(service_us, 1))
    return made.with_load(LOAD, cluster.num_gpus)


WORKLOADS: Final = {"times recur": times_recur, "iterations recur": iterations_recur}


def measured(trace: gs.Trace, text: str, seed: int) -> tuple[float, float, float]:
    """R2 of the logarithm, rank correlation and mean JCT under a-srpt-by-work."""
    result = gs.simulate(
        trace, TESTBED.cluster(), policy=BY_WORK.policy, placement=BY_WORK.placement,
        predictor=text, speed="stages", seed=seed,
    )  # fmt: skip
    jct_s = float(result.summary()["mean_jct_s"])
    if result.prediction is None:
        return 1.0, 1.0, jct_s
    found = result.prediction.accuracy
    return found.r2_log or 0.0, found.rank_correlation or 0.0, jct_s


def below(jct_s: Float64, base: Float64) -> str:
    """By how much a typical run is below that of the forest of seconds, with its interval."""
    ratio = gs.studies.ratio(jct_s, base)
    share = [100 * (1 - value) for value in (ratio.value, ratio.high, ratio.low)]
    return "{:.1f} [{:.1f}, {:.1f}] %".format(*share)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each workload and predictor."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(2000, 2019), metavar="SEED")
    given = parser.parse_args(arguments)
    seeds = range(given.seeds[0], given.seeds[1] + 1)
    print(
        "| jobs | predictor | R2 of log time | rank correlation | mean JCT, s | below the forest |"
    )
    print("|---|---|--:|--:|--:|--:|")
    for name, make in WORKLOADS.items():
        base = np.empty(0)
        for text in PREDICTORS:
            rows = [measured(make(seed), text, seed) for seed in seeds]
            r2, rank, jct_s = (np.array(column) for column in zip(*rows, strict=True))
            base = jct_s if text == FOREST else base
            gain = "" if text == FOREST else below(jct_s, base)
            print(
                f"| {name} | `{text}` | {r2.mean():.2f} | {rank.mean():.2f} | "
                f"{jct_s.mean():,.0f} | {gain} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
