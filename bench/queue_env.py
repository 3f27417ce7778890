"""Measure decisions per second of Gymnasium environments, and time to find planted bugs."""

from __future__ import annotations

import os
import random
import sys
import time
import types
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import gpusched as gs
from bench.measure import interleave
from bench.table import Bar, Section
from bench.workloads import philly
from tests.unit.testing import planted_bugs

DECISIONS_PER_S = 100_000
FOUND_S = 10.0
PEER = "GPUSCHED_DEEP_BATCH_SCHEDULER"
EPISODE, SLOTS = 256, 128
METHOD = (
    f"Episodes of {EPISODE} jobs, {SLOTS} slots shown, one core; each decision is the first job "
    "that is allowed, so that the environment is timed and no learner. Observations, masks and "
    "rewards are copied out in each step, and finished episodes restart. Medians. "
    "deep-batch-scheduler is the environment of RLScheduler (DIR-LAB/deep-batch-scheduler, "
    f"`HPCSimPickJobs.py`), from the folder that {PEER} names, on its `lublin_256.swf` with gym "
    "and TensorFlow, which it does not use there, left out; gpusched reads the same file. Its "
    "episodes have as many jobs and slots; there a job that does not fit may be chosen and is "
    "waited for, so that decisions are compared by what one costs, and not by the schedules."
)
COLUMNS = ("environment", "environments", "jobs", "decisions/s")


def section(decisions: int, repeats: int) -> Section:
    """Measure one environment, and vectors of them."""
    out = Section("Decisions of a queue", METHOD, COLUMNS)
    workload = philly(20_000, 8)
    for num_envs in (1, 16, 64, 256):
        pace = _vector(workload.trace, workload.cluster, num_envs, decisions, repeats)
        out.rows.append(("`QueueVectorEnv`", str(num_envs), "Philly-like", f"{pace:,.0f}"))
        if num_envs > 1:
            what = f"a vector of {num_envs}"
            out.bars.append(Bar(what, pace, DECISIONS_PER_S, "decisions/s", at_least=True))
    pace = _single(workload.trace, workload.cluster, "consolidated", decisions // 10, repeats)
    out.rows.append(("`QueueEnv`", "1", "Philly-like", f"{pace:,.0f}"))
    folder = os.environ.get(PEER)
    if folder is None:
        out.notes.append(f"deep-batch-scheduler was not measured: {PEER} names no folder.")
        return out
    trace = gs.read_trace(Path(folder) / "data" / "lublin_256.swf")
    cluster = gs.Cluster.uniform(servers=4, gpus=64)
    pace = _vector(trace, cluster, 64, decisions, repeats, placement="count")
    out.rows.append(("`QueueVectorEnv`", "64", "lublin_256", f"{pace:,.0f}"))
    pace = _single(trace, cluster, "count", decisions // 10, repeats)
    out.rows.append(("`QueueEnv`", "1", "lublin_256", f"{pace:,.0f}"))
    pace = _peer(Path(folder), 20 * EPISODE)
    out.rows.append(("deep-batch-scheduler", "1", "lublin_256", f"{pace:,.0f}"))
    return out


def laws_section() -> Section:
    """Measure how long it takes to find each planted bug."""
    method = (
        "Seconds until `gpusched.testing` has found a planted bug and made it small, once each."
    )
    out = Section("Planted bugs", method, ("bug", "property", "workloads", "s"))
    for seam in (*planted_bugs.POLICIES, *planted_bugs.PLACEMENTS):
        is_placement = seam in planted_bugs.PLACEMENTS
        check = gs.testing.check_placement if is_placement else gs.testing.check_policy
        begin = time.perf_counter()
        try:
            check(seam)
        except gs.testing.LawBroken as broken:
            seconds = time.perf_counter() - begin
            found = (broken.law, str(broken.examples), f"{seconds:.2f}")
            out.rows.append((seam.__name__, *found))
            out.bars.append(Bar(seam.__name__, seconds, FOUND_S, "s"))
        else:
            out.bars.append(Bar(f"{seam.__name__} is not found", np.inf, FOUND_S, "s"))
    return out


def _vector(
    trace: gs.Trace,
    cluster: gs.Cluster,
    num_envs: int,
    decisions: int,
    repeats: int,
    placement: str = "consolidated",
) -> float:
    envs = gs.gym.QueueVectorEnv(num_envs, trace, cluster, placement=placement, jobs=EPISODE)
    _, infos = envs.reset(seed=1)
    masks = [infos["action_mask"]]

    def play() -> None:
        mask = masks[0]
        for _ in range(decisions // num_envs):
            mask = envs.step(mask.argmax(axis=1))[4]["action_mask"]
        masks[0] = mask

    return decisions / _median(play, repeats)


def _single(
    trace: gs.Trace, cluster: gs.Cluster, placement: str, decisions: int, repeats: int
) -> float:
    env = gs.gym.QueueEnv(trace, cluster, placement=placement, jobs=EPISODE)

    def play() -> None:
        _, info = env.reset(seed=1)
        for _ in range(decisions):
            _, _, is_over, _, info = env.step(info["action_mask"].argmax())
            if is_over:
                _, info = env.reset()

    return decisions / _median(play, repeats)


def _median(play: Callable[[], None], repeats: int) -> float:
    def timed() -> float:
        begin = time.process_time()
        play()
        return time.process_time() - begin

    (timing,) = interleave([timed], repeats)
    return timing.median


def _peer(folder: Path, decisions: int) -> float:
    """Decisions a second of the environment of RLScheduler, from its repository."""
    env = _peer_environment(folder)
    random.seed(1)
    # Scores of other policies, which it computes for each episode, are no part of a decision.
    env.schedule_curr_sequence_reset = lambda score: {0: 0.0}
    with redirect_stdout(StringIO()):
        env.reset()
        seconds, num_decisions = 0.0, 0
        while num_decisions < decisions:
            visible = [at for at, pair in enumerate(env.pairs) if pair[0] is not None]
            begin = time.process_time()
            is_over = env.step(visible[0] if visible else 0)[2]
            seconds += time.process_time() - begin
            num_decisions += 1
            if is_over:
                begin = time.process_time()
                env.reset()
                seconds += time.process_time() - begin
    return num_decisions / seconds


def _peer_environment(folder: Path) -> Any:
    import gymnasium
    from gymnasium.utils import seeding

    stand_ins = {
        "gym": gymnasium,
        "gym.spaces": gymnasium.spaces,
        "gym.utils": types.SimpleNamespace(seeding=seeding),
        "tensorflow": types.ModuleType("tensorflow"),
    }
    given = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)  # type: ignore[arg-type]
    sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(StringIO()):
            from HPCSimPickJobs import HPCEnv  # type: ignore[import-not-found]

            env = HPCEnv()
            env.my_init(workload_file=str(folder / "data" / "lublin_256.swf"))
    finally:
        sys.path.remove(str(folder))
        for name, module in given.items():
            if module is None:
                del sys.modules[name]
    env.np_random = np.random.RandomState(1)
    return env
