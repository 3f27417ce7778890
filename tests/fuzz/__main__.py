"""Fuzzes the readers of files: each input gives a result or a documented error by name.

    python -m tests.fuzz READER [--cases N] [--seed S] [--jobs 2] [--save DIR]
    python -m tests.fuzz READER --seed S --only I

READER is ``all``, a name that ``--list`` prints, or the beginning of some: ``read_trace``. Case I
of a reader and seed S never changes. A reader may return, or raise ValueError, TypeError or OSError
with a message of one line that names the file. Another exception, a crash, an input that takes
longer than ``--seconds`` or more than 1 GiB is a fault.
"""

from __future__ import annotations

import argparse
import functools
import os
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.campaigns.workers import Tally, campaign

if TYPE_CHECKING:
    from tests.fuzz.readers import Reader

# What is fuzzed is imported by the processes of the campaign alone: threads that a library has
# started here would not live on in them.

NUM_SHOWN: Final = 10
MOST_BYTES: Final = 8 << 30
"""Of address space, of which libraries reserve more than they use."""


@functools.cache
def own_readers(folder: Path, beginning: str, process: int) -> list[Reader]:
    """Return the chosen readers of this process, which from now on may take so much and no more."""
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    soft = MOST_BYTES if most == resource.RLIM_INFINITY else min(MOST_BYTES, most)
    resource.setrlimit(resource.RLIMIT_AS, (soft, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is told by the exit code
    from tests.fuzz.readers import readers

    own = folder / str(process)
    own.mkdir()
    return chosen(readers(own), beginning)


def chosen(every: dict[str, Reader], beginning: str) -> list[Reader]:
    """Return the reader of this name, else those whose names begin so."""
    if beginning in every:
        return [every[beginning]]
    return [one for one in every.values() if beginning == "all" or one.name.startswith(beginning)]


def check(
    folder: Path, beginning: str, seed: int, save: Path | None, index: int
) -> tuple[tuple[str, ...], str]:
    """Judge one input of a campaign; the readers take turns."""
    from tests.fuzz.judging import made, verdict_on

    mine = own_readers(folder, beginning, os.getpid())
    case, turn = divmod(index, len(mine))
    reader = mine[turn]
    name, what, data = made(reader, seed, case)
    path = reader.folder / name
    path.write_bytes(data)
    verdict = verdict_on(reader, path, data)
    if verdict.startswith("fault"):
        verdict = f"fault: {reader.name} --only {case} ({name}: {what}): {verdict[7:]}"
        if save is not None:
            kept = f"{reader.name.replace('/', '-')}-{seed}-{case}-{name}"
            (save / kept).write_bytes(data)
    return (reader.name, f"{reader.name} {verdict.partition(':')[0]}"), verdict


def names_of(beginning: str, folder: Path) -> list[str]:
    """Return the names of the chosen readers, found in a process of its own."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        names = [one.name for one in own_readers(folder, beginning, 0)]
        os.write(writing, "\n".join(names).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        names = pipe.read().split("\n")
    os.waitpid(process, 0)
    return [name for name in names if name]


def report(names: Sequence[str], tally: Tally, seconds: float) -> None:
    """Print what became of the inputs of each reader."""
    counts = tally.names[1] if len(tally.names) > 1 else {}
    width = max(map(len, names))
    for name in names:
        read, refused = (counts.get(f"{name} {verdict}", 0) for verdict in ("read", "refused"))
        faults = counts.get(f"{name} fault", 0)
        print(f"{name:{width}}  {read:9,} read {refused:9,} refused {faults:5,} faults")
    slow, index = tally.slowest
    slowest = f"{names[index % len(names)]} --only {index // len(names)}"
    print(
        f"{tally.num_cases:,} inputs in {seconds:,.0f} s, {len(tally.failures):,} faults; "
        f"the slowest took {slow:.2f} s ({slowest})"
    )


def progress(tally: Tally) -> None:
    """Show on a terminal how far the campaign is."""
    if sys.stderr.isatty():
        text = f"\r{tally.num_cases:,} inputs, {len(tally.failures):,} faults"
        print(text, end="", file=sys.stderr, flush=True)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("reader", nargs="?", default="all", metavar="READER")
    parser.add_argument("--list", action="store_true", help="print the names of the readers")
    parser.add_argument("--cases", type=int, default=1_000, help="of each reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit per input")
    parser.add_argument("--save", type=Path, help="where inputs that are faults are written")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign of the command line; return 1 if there was a fault."""
    given = parsed(arguments)
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    if given.save is not None:
        given.save.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpusched-fuzz-") as text:
        folder = Path(text)
        names = names_of(given.reader, folder)
        if not names:
            print(f"no reader begins with {given.reader!r}; --list prints them", file=sys.stderr)
            return 2
        if given.list:
            print("\n".join(names))
            return 0
        first, last = given.first, given.first + given.cases
        if given.only is not None:
            first, last = given.only, given.only + 1
        begin = time.monotonic()
        work = functools.partial(check, folder, given.reader, given.seed, given.save)
        indices = range(first * len(names), last * len(names))
        tally = campaign(work, indices, given.jobs, given.seconds, progress)
    for index, verdict in sorted(tally.failures)[:NUM_SHOWN]:
        where = f"{names[index % len(names)]} --only {index // len(names)}: "
        print(f"\n{'' if verdict.startswith('fault') else where}{verdict}")
    report(names, tally, time.monotonic() - begin)
    if tally.num_cases != len(indices):
        print(f"{len(indices) - tally.num_cases:,} inputs were lost: the fuzzer itself failed")
        return 1
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
