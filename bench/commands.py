"""Measure whole commands: processor time, wall time, and the size of their page."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final, NamedTuple

from bench.table import Bar, Section

COMMANDS: Final = {
    "12 seeds": ("compare",),
    "one seed": ("compare", "--seeds", "1"),
    "a million jobs": (
        "compare", "--seeds", "1", "--jobs", "1000000", "--servers", "512",
        "-p", "fifo,sjf,srtf,easy",
    ),
}  # fmt: skip
LIMITS_S: Final = {"12 seeds": 4.0, "a million jobs": 5.0}
PAGE_LIMIT_MB: Final = 1.6


class Cost(NamedTuple):
    """Of one command."""

    processor_s: float
    clock_s: float
    page_mb: float


def section(repeats: int, names: tuple[str, ...] = tuple(COMMANDS)) -> Section:
    """Run each command ``repeats`` times in processes of its own, in turn."""
    out = Section(
        "gpusched compare",
        "Whole processes with their files, in turn: their lowest processor times, with what "
        f"their clock and their page say; {repeats} of each.",
        ("command", "processor s", "s", "page MB"),
    )
    costs: dict[str, list[Cost]] = {name: [] for name in names}
    for _ in range(repeats):
        for name in names:
            costs[name].append(cost(COMMANDS[name]))
    for name in names:
        least = min(costs[name])
        out.rows.append((name, *(f"{figure:.2f}" for figure in least)))
        if name in LIMITS_S:
            out.bars.append(Bar(f"{name}, processor time", least.processor_s, LIMITS_S[name], "s"))
        out.bars.append(Bar(f"{name}, page", least.page_mb, PAGE_LIMIT_MB, "MB"))
    return out


def cost(words: tuple[str, ...]) -> Cost:
    """Run a command once."""
    with tempfile.TemporaryDirectory() as folder:
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "gpusched", *words, "--out", folder],
            check=True, capture_output=True,
        )  # fmt: skip
        clock_s, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return Cost(processor_s, clock_s, (Path(folder) / "report.html").stat().st_size / 1e6)
