"""Lets every call fail that writes a file: the old file stays, or the new one is there whole.

    python -m tests.campaigns.failing_writes [--only NAME]

Each writer of the package writes over its last file while the n-th call to open, write, flush or
rename in its folder fails, n from 0 until all go through, with a full disk, no permission and a
fault of the device in turn. The error is an OSError that names the file, nothing is left beside
it, and what is there is read as before, or as the new one. A C compiler makes the library that is
loaded before all others.
"""

import argparse
import ctypes
import errno
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpusched as gs
from gpusched.studies.calls import Outcome
from gpusched.studies.kept_runs import KeptRuns
from gpusched.studies.run_store import RunStore
from gpusched.traces.writers import write_trace
from tests.campaigns.changed_stores import made_here
from tests.learners import learner

SOURCE = Path(__file__).with_suffix(".c")
CODES = (errno.ENOSPC, errno.EACCES, errno.EIO)
LIBRARY = "GPUSCHED_FAILING_WRITES"


@dataclass(frozen=True)
class Writer:
    """Something that writes a file.

    Attributes
    ----------
    name
        Of the file.
    old, new
        Write it, with two contents.
    """

    name: str
    old: Callable[[Path], Any]
    new: Callable[[Path], Any]


def writers() -> list[Writer]:
    """Everything that writes one file that is named."""
    cluster = gs.Cluster.uniform(8, 8)
    traces = [gs.generate("philly", jobs, load=0.9, cluster=cluster, seed=1) for jobs in (40, 60)]
    old, new = (gs.simulate(trace, cluster) for trace in traces)
    both = [gs.compare(trace, cluster, ["fifo", "sjf"]) for trace in traces]
    runs = [gs.Simulation(trace, cluster) for trace in traces]
    for run in runs:
        run.run_until(1000.0)
    models = [learner("group-mean").train(trace) for trace in traces]

    def of(name: str, call: Callable[[Any, Path], Any], one: Any, other: Any) -> Writer:
        return Writer(name, lambda path: call(one, path), lambda path: call(other, path))

    return [
        of("result.npz", lambda result, path: result.save(path), old, new),
        of("case", lambda result, path: result.save_case(path), old, new),
        of("monday.run", lambda run, path: run.save(path), *runs),
        of("model.npz", lambda model, path: model.save(path), *models),
        of("jobs.parquet", lambda result, path: result.to_parquet(path), old, new),
        of("timeline.json", lambda result, path: result.to_perfetto(path), old, new),
        of("trace.csv", write_trace, *traces),
        of("trace.parquet", write_trace, *traces),
        of("trace.swf", write_trace, *traces),
        of("both.parquet", lambda both, path: both.to_parquet(path), *both),
        of("report.html", lambda both, path: gs.write_report(both, path), *both),
    ]


class Failing:
    """The library that lets calls fail, as it was loaded into this process."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(os.environ[LIBRARY])
        self._library.counted_writes.restype = ctypes.c_long

    def after(self, folder: Path, count: int, code: int) -> None:
        """Let the call after ``count`` more fail."""
        self._library.fail_writes(os.fsencode(folder), ctypes.c_long(count), code)

    def end(self) -> int:
        """Let no call fail any more; return how many there were."""
        counted = int(self._library.counted_writes())
        self._library.fail_writes(b"", ctypes.c_long(-1), 0)
        return counted


def tried(writer: Writer, failing: Failing) -> tuple[int, list[str]]:
    """Let each call of a writer fail; return how many did, and what was wrong."""
    faults, num_failed = [], 0
    for code in CODES:
        for count in range(10_000):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(os.path.realpath(name))
                path = folder / writer.name
                writer.new(path)
                new = path.read_bytes()
                writer.old(path)
                old = path.read_bytes()
                where = f"{writer.name}, call {count}, {errno.errorcode[code]}"
                failing.after(folder, count, code)
                try:
                    writer.new(path)
                    error: Exception | None = None
                except Exception as raised:
                    error = raised
                    if not isinstance(raised, OSError):
                        faults.append(f"{where}: {type(raised).__name__}: {raised}")
                is_over = failing.end() <= count
                num_failed += not is_over
                found = sorted(os.listdir(folder))
                if found != [writer.name]:
                    faults.append(f"{where}: the folder holds {found}")
                elif path.read_bytes() != (new if error is None else old):
                    faults.append(f"{where}: neither the old file nor the new one")
                if error is not None and writer.name not in str(error):
                    faults.append(f"{where}: the error names another file: {error}")
                if is_over:
                    break
    return num_failed, faults


def stores(failing: Failing) -> tuple[int, list[str]]:
    """Let each call fail that adds to a study, or keeps a run of a paper."""
    faults, num_failed = [], 0
    row = {"run": f"{7:032x}", "mean_jct_s": 1.5, "error": None}
    for code in CODES:
        for count in range(10_000):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(os.path.realpath(name))
                store, kept = RunStore(folder), KeptRuns(folder / "kept")
                store.add([{**row, "run": f"{1:032x}"}])
                kept.keep(made_here, 1, Outcome(made_here(1)))
                failing.after(folder, count, code)
                for add in (
                    lambda store=store: store.add([row]),
                    lambda kept=kept: kept.keep(made_here, 2, Outcome(made_here(2))),
                ):
                    try:
                        add()
                    except OSError:
                        continue
                is_over = failing.end() <= count
                num_failed += not is_over
                where = f"study, call {count}, {errno.errorcode[code]}"
                read = RunStore(folder)
                if len(read.read()) not in (1, 2) or read.damaged:
                    faults.append(f"{where}: {read.damaged}")
                if kept.find(made_here, 1) != Outcome(made_here(1)):
                    faults.append(f"{where}: a run that was kept is gone")
                if list(folder.rglob("*.tmp")):
                    faults.append(f"{where}: a temporary file is left")
                if is_over:
                    break
    return num_failed, faults


def compiled(folder: Path) -> Path:
    """Compile the library.

    Raises
    ------
    FileNotFoundError
        If there is no C compiler.
    """
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler")
    library = folder / "failing_writes.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-Wall", "-o", library, SOURCE, "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return library


def check(only: str = "") -> subprocess.CompletedProcess[str]:
    """Run the campaign in a process of its own, in which the library is loaded first."""
    with tempfile.TemporaryDirectory() as name:
        library = os.fspath(compiled(Path(name)))
        return subprocess.run(
            [sys.executable, "-m", __spec__.name if __spec__ else __name__, "--only", only],
            env=os.environ | {"LD_PRELOAD": library, LIBRARY: library},
            capture_output=True, text=True, check=False,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="the writer of files of this name, or study")
    given = parser.parse_args()
    if LIBRARY not in os.environ:
        done = check(given.only)
        print(done.stdout, end="")
        print(done.stderr, end="", file=sys.stderr)
        raise SystemExit(done.returncode)
    warnings.simplefilter("ignore", gs.RunWarning)
    failing, total, wrong = Failing(), 0, 0
    parts: list[tuple[str, Callable[[], tuple[int, list[str]]]]] = [
        (one.name, lambda one=one: tried(one, failing)) for one in writers()
    ]
    parts.append(("study", lambda: stores(failing)))
    for name, part in parts:
        if given.only not in ("", name):
            continue
        num_failed, faults = part()
        total, wrong = total + num_failed, wrong + len(faults)
        print(f"{name}: {num_failed} failures, {len(faults)} faults", flush=True)
        for fault in faults[:10]:
            print(f"  {fault}")
    print(f"{total} failures, {wrong} faults")
    raise SystemExit(1 if wrong or not total else 0)


if __name__ == "__main__":
    main()
