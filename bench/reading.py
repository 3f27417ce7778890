"""How long a trace takes to read: a large CSV, and the same as Parquet."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars

import gpusched as gs
from bench.measure import interleave, processor_s, wall_s
from bench.table import Bar, Section

JOBS = 3_400_000
LIMITS_S = {"csv": 3.0, "parquet": 1.0}
METHOD = (
    f"`gs.read_trace` of {JOBS:,} rows with the columns id, submit_s, service_s, gpus and user, "
    "from the page cache, checks and sorting included. Wall time and processor time of all "
    "threads, medians of repetitions (least)."
)


@contextmanager
def files(jobs: int = JOBS) -> Iterator[dict[str, Path]]:
    """Write the same jobs in both formats to a folder that is gone in the end."""
    random = np.random.Generator(np.random.PCG64(1))
    users = polars.Series([f"u{index}" for index in range(3_000)])
    frame = polars.DataFrame(
        {
            "id": np.arange(jobs) + 100_000,
            "submit_s": np.round(np.cumsum(random.exponential(9, jobs)), 3),
            "service_s": np.round(random.lognormal(6, 2, jobs) + 1, 3),
            "gpus": random.choice([1, 2, 4, 8, 16], jobs).astype(np.int64),
            "user": users.gather(random.integers(0, len(users), jobs)),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = {ending: Path(folder) / f"jobs.{ending}" for ending in LIMITS_S}
        frame.write_csv(paths["csv"])
        frame.write_parquet(paths["parquet"])
        yield paths


def section(repeats: int) -> Section:
    """Report both formats, with their bars."""
    columns = ("format", "MB", "s", "processor s", "million rows/s")
    out = Section("Reading", METHOD, columns)
    with files() as paths:
        for ending, path in paths.items():

            def read(path: Path = path) -> gs.Trace:
                return gs.read_trace(path)

            (wall,) = interleave([lambda read=read: wall_s(read)], repeats)
            (processor,) = interleave([lambda read=read: processor_s(read)], repeats)
            out.rows.append(
                (
                    ending,
                    f"{path.stat().st_size / 1e6:,.0f}",
                    f"{wall.median:.2f} ({wall.least:.2f})",
                    f"{processor.median:.2f} ({processor.least:.2f})",
                    f"{JOBS / wall.median / 1e6:.1f}",
                )
            )
            what = f"{JOBS:,} rows of {ending}"
            out.bars.append(Bar(what, wall.median, LIMITS_S[ending], "s"))
    return out
