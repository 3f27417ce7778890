"""Time functions in turn, and describe the machine."""

from __future__ import annotations

import gc
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

UNDISTURBED = 0.95  # of a core: less than that, and something else ran on it


@dataclass(frozen=True)
class Timing:
    """The durations of one function over the repetitions, in seconds.

    ``cores`` is the processor time of each whole call over its wall time: below 1, the call had
    to share its core with another program.
    """

    samples: tuple[float, ...]
    cores: tuple[float, ...] = ()

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def least(self) -> float:
        return min(self.samples)

    @property
    def num_disturbed(self) -> int:
        return sum(share < UNDISTURBED for share in self.cores)


def interleave(measures: Sequence[Callable[[], float]], repeats: int) -> list[Timing]:
    """Call every function once per repetition, in turn, so that a slow spell hits them all.

    Each function returns the seconds that it measured itself. The garbage collector is off
    meanwhile and runs between the calls.
    """
    samples: list[list[float]] = [[] for _ in measures]
    cores: list[list[float]] = [[] for _ in measures]
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repeats):
            for measure, found, shares in zip(measures, samples, cores, strict=True):
                gc.collect()
                wall, processor = time.perf_counter(), time.process_time()
                found.append(measure())
                shares.append((time.process_time() - processor) / (time.perf_counter() - wall))
    finally:
        if collecting:
            gc.enable()
    return [
        Timing(tuple(found), tuple(shares)) for found, shares in zip(samples, cores, strict=True)
    ]


def processor_s(call: Callable[[], object]) -> float:
    """Call, and return the processor time of the process meanwhile: what a shared core does not
    stretch."""
    begin = time.process_time()
    call()
    return time.process_time() - begin


def wall_s(call: Callable[[], object]) -> float:
    """Call, and return the time that went by."""
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def machine() -> str:
    """Describe the machine in a line: processor, cores, system, Python, compiler, load, date."""
    load = os.getloadavg()[0]
    return ", ".join(
        (
            _processor(),
            f"{len(os.sched_getaffinity(0))} cores",
            f"{platform.system()} {platform.machine()}",
            f"CPython {platform.python_version()}",
            _compiler(),
            f"load average {load:.1f} at the start",
            datetime.now(UTC).date().isoformat(),
        )
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"


def _compiler() -> str:
    name = os.environ.get("CXX", "c++")
    try:
        out = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no compiler"
    return out.stdout.partition("\n")[0] or "unknown compiler"
