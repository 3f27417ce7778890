"""How long traces take to read: a large CSV, the same as Parquet, a queue of arrays; and what of
ours a small one loads.
"""

from __future__ import annotations

import json
import subprocess
import sys
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
TASKS = 100_000
"""Of each of ten job arrays."""
MOST_MODULES = 20
LIMITS_S = {"csv": 3.0, "parquet": 0.6, "json": 10.0}
METHOD = (
    f"`gs.read_trace` of {JOBS:,} rows with the columns id, submit_s, service_s, gpus and user, "
    "from the page cache, checks and sorting included; of `squeue --json` with ten arrays of "
    f"{TASKS:,} tasks. Wall time and processor time of all threads, medians of repetitions "
    "(least). Modules: those of gpusched that a fresh process loads to read a CSV of two rows."
)
COUNTED = """
import sys, gpusched
gpusched.read_trace(sys.argv[1])
print(sum(name.partition(".")[0] == "gpusched" for name in sys.modules))
"""


@contextmanager
def files(jobs: int = JOBS) -> Iterator[dict[str, Path]]:
    """Write the same jobs in both formats, and the arrays, to a folder that is gone in the end."""
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
        arrays = [
            {
                "job_id": number + 1, "job_state": ["PENDING"],
                "submit_time": 1_700_000_000 + number, "time_limit": 60,
                "tres_req_str": "gres/gpu=1", "user_name": "ann",
                "array_job_id": number + 1, "array_task_string": f"0-{TASKS - 1}",
            }
            for number in range(10)
        ]  # fmt: skip
        paths["json"].write_text(json.dumps({"jobs": arrays, "last_update": 1_700_000_100}))
        yield paths


def modules() -> int:
    """Count the modules of gpusched that reading two rows of CSV loads."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "two.csv"
        path.write_text("submit_s,service_s,gpus\n0,60,1\n5,60,1\n")
        done = subprocess.run(
            [sys.executable, "-c", COUNTED, path], capture_output=True, text=True, check=True
        )
    return int(done.stdout)


def section(repeats: int) -> Section:
    """Report both formats, with their bars."""
    columns = ("format", "MB", "s", "processor s", "million rows/s")
    out = Section("Reading", METHOD, columns)
    with files() as paths:
        for ending, path in paths.items():

            def read(path: Path = path) -> gs.Trace:
                return gs.read_trace(path)

            num_jobs = len(read())
            (wall,) = interleave([lambda read=read: wall_s(read)], repeats)
            (processor,) = interleave([lambda read=read: processor_s(read)], repeats)
            out.rows.append(
                (
                    ending,
                    f"{path.stat().st_size / 1e6:,.0f}",
                    f"{wall.median:.2f} ({wall.least:.2f})",
                    f"{processor.median:.2f} ({processor.least:.2f})",
                    f"{num_jobs / wall.median / 1e6:.1f}",
                )
            )
            what = f"{num_jobs:,} jobs of {ending}"
            out.bars.append(Bar(what, wall.median, LIMITS_S[ending], "s"))
    out.bars.append(Bar("modules loaded for a CSV of two rows", modules(), MOST_MODULES))
    return out
