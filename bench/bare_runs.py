"""Run a study without a sweep, in bare processes that share nothing: the baseline loop."""

from __future__ import annotations

import multiprocessing
import time
import warnings
from collections.abc import Sequence
from multiprocessing.synchronize import Barrier
from typing import Any

import gpusched as gs

_TIMEOUT_S = 3_600.0


def seconds(study: dict[str, Any], seeds: Sequence[int], num_processes: int) -> float:
    """Return the wall time of processes that do the runs of ``seeds``, dealt out among them.

    Each makes its jobs, simulates and summarises; nothing is named, kept or sent. They start
    together, when all of them have loaded what they need.
    """
    context = multiprocessing.get_context("spawn")
    together = context.Barrier(num_processes + 1)
    shares = [list(seeds[first::num_processes]) for first in range(num_processes)]
    processes = [
        context.Process(target=_work, args=(study, share, together), daemon=True)
        for share in shares
    ]
    for process in processes:
        process.start()
    together.wait(_TIMEOUT_S)
    begin = time.perf_counter()
    together.wait(_TIMEOUT_S)
    wall_s = time.perf_counter() - begin
    for process in processes:
        process.join()
    return wall_s


def _work(study: dict[str, Any], seeds: Sequence[int], together: Barrier) -> None:
    warnings.simplefilter("ignore", gs.RunWarning)
    _runs(study | {"traces": [study["traces"][0] | {"jobs": 100}]}, seeds[:1])
    together.wait(_TIMEOUT_S)
    _runs(study, seeds)
    together.wait(_TIMEOUT_S)


def _runs(study: dict[str, Any], seeds: Sequence[int]) -> None:
    cluster = gs.Cluster.uniform(**study["clusters"][0])
    of = study["traces"][0]
    for seed in seeds:
        for load in of["loads"]:
            trace = gs.generate(
                of["generate"], of["jobs"], load=load, cluster=cluster, seed=seed,
                model=of["model"],
            )  # fmt: skip
            for policy in study["policies"]:
                for placement in study.get("placements", ["consolidated"]):
                    run = gs.simulate(trace, cluster, policy=policy, placement=placement, seed=seed)
                    run.summary()
