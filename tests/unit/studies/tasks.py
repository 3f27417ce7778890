"""What the tests of this folder run, also in other processes."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np

import gpusched as gs


def doubled(task: int) -> int:
    return 2 * task


def total_of(task: int, values: np.ndarray) -> int:
    return task + int(values.sum())


def logged(task: int, folder: str) -> int:
    """Leave a file for each time that the task is run."""
    with open(Path(folder) / f"{task}", "a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    return 2 * task


def fails(task: int) -> int:
    if task % 3 == 0:
        raise ValueError(f"{task} is bad")
    return task


class TwoPartsError(Exception):
    """Cannot be made from its message alone, as a pickle would try."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def two_parts(task: int) -> int:
    raise TwoPartsError(task, task + 1)


def leaves(task: int) -> int:
    if task == 2:
        sys.exit("enough")
    return task


def dies(task: int) -> int:
    """End the worker process on some tasks, and take a moment on the others."""
    time.sleep(0.02)
    if task % 5 == 2:
        time.sleep(1)  # those of Dask are not started again when they die as they start
        os.kill(os.getpid(), signal.SIGKILL)
    return task


def dies_once(task: int, folder: str) -> int:
    """End the worker process the first time that a task is run."""
    mark = Path(folder) / str(task)
    if task % 5 == 2 and not mark.exists():
        mark.touch()
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGKILL)
    return task


class EndsWhoSendsIt:
    def __reduce__(self) -> tuple[object, ...]:
        os._exit(1)


def dies_as_it_is_sent(task: int, folder: str) -> object:
    """End the worker that sends what was made, then the one that makes it again, and no other."""
    marks = [Path(folder) / name for name in ("sent", "made again")]
    if not marks[0].exists():
        marks[0].touch()
        return EndsWhoSendsIt()
    if not marks[1].exists():
        marks[1].touch()
        time.sleep(1)
        os._exit(1)
    return task


def large(task: int) -> bytes:
    return bytes([task]) * 1_000_000


def slow(task: int) -> int:
    time.sleep(30 if task else 0)
    return task


def long_run(task: int) -> int:
    """Simulate for minutes, unless it is stopped."""
    if task == 0:
        return 0
    cluster = gs.Cluster.uniform(servers=64, gpus=8)
    trace = gs.generate("philly", jobs=200_000, load=1.5, cluster=cluster, seed=1)
    for seed in range(100):
        gs.simulate(trace, cluster, policy="srtf", seed=seed)
    return task


def pid(task: int) -> int:
    time.sleep(0.01)
    return os.getpid()


def digest_of(seed: int, trace: gs.Trace, policy: str) -> str:
    cluster = gs.Cluster.uniform(servers=4, gpus=8)
    return gs.simulate(trace, cluster, policy=policy, seed=seed).digest


def is_writable(task: int, trace: gs.Trace) -> bool:
    return bool(trace.submit_us.flags.writeable)


def unpicklable(task: int) -> object:
    return threading.Lock()
