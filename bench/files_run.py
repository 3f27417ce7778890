"""Count the files of the package that a simulation, a metric and so on execute.

    python -m bench.files_run [--names]

Each question is asked twice: first modules are loaded, then every call is watched. The same under
another interpreter, and without ``PYTHONPATH``, counts those of the package installed there.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import gpusched as gs
from gpusched.__main__ import main as command

HOME = Path(gs.__file__).parent


def files_run(question: Callable[[], object]) -> list[str]:
    """Ask it twice, and return the files in which a function was called the second time."""
    seen: set[str] = set()

    def watch(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            seen.add(frame.f_code.co_filename)

    question()
    sys.setprofile(watch)
    try:
        question()
    finally:
        sys.setprofile(None)
    paths = (Path(name) for name in seen if name.startswith(f"{HOME}{os.sep}"))
    return sorted(path.relative_to(HOME).as_posix() for path in paths)


def run_command(*words: str) -> None:
    """Run `gpusched` in this process, its output thrown away."""
    sys.argv = ["gpusched", *words]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        command()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--names", action="store_true", help="the files, too")
    arguments = parser.parse_args()
    trace = gs.generate("philly", 50, seed=1)
    cluster = gs.Cluster.uniform(servers=4, gpus=8)
    with tempfile.TemporaryDirectory() as folder:
        csv = Path(folder) / "jobs.csv"
        csv.write_text("submit_s,service_s,gpus\n0,60,1\n5,30,2\n")
        questions: dict[str, Callable[[], object]] = {
            "a simulation": lambda: gs.simulate(trace, cluster, policy="fifo"),
            "a simulation and its metrics": lambda: gs.simulate(
                trace, cluster, policy="fifo"
            ).summary(),
            "a simulation and the column of its waits": lambda: gs.simulate(
                trace, cluster, policy="fifo"
            ).jobs["wait_s"],
            "a CSV of two rows": lambda: gs.read_trace(csv),
            "gpusched run": lambda: run_command("run", str(csv), "-p", "fifo"),
            "gpusched run --load 0.5": lambda: run_command(
                "run", str(csv), "-p", "fifo", "--load", "0.5"
            ),
        }
        for name, question in questions.items():
            files = files_run(question)
            print(f"{name}: {len(files)}")
            if arguments.names:
                print("  " + " ".join(files))


if __name__ == "__main__":
    main()
