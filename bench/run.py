"""One command for all benchmarks: ``python -m bench [--quick] [--markdown FILE]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

if __package__ in (None, ""):  # as a script: the checkout's root holds the package `bench`
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

import gpusched as gs
from bench import (
    around,
    assignment,
    backfilling,
    commands,
    contention,
    contention_series,
    deadlines,
    exporting,
    failures,
    gavel_trace,
    graphs,
    growth_traps,
    import_time,
    memory,
    open_runs,
    packing,
    plans,
    policies,
    preemption,
    preemption_options,
    python_order,
    python_peers,
    queue_env,
    reading,
    scaling,
    speed,
    sweeps,
    ten_million,
    threads,
)
from bench.measure import machine
from bench.table import Section

PARTS = (
    "speed", "scaling", "contention", "plans", "assignment", "packing", "deadlines", "graphs",
    "prediction", "preemption", "options", "failures", "backfilling", "traps", "open", "states",
    "around", "memory", "threads", "sweeps", "order", "import", "reading", "exporting", "peers",
    "policies", "crowds", "gavel", "decisions", "laws", "commands",
)  # fmt: skip


def main() -> None:
    """Run the chosen sections, print each when it is done, and write the Markdown file."""
    arguments = _arguments()
    line = f"gpusched {gs.__version__} on {machine()}"
    print(line, flush=True)
    done = []
    for section in _sections(arguments.only, arguments.quick, arguments.sizes):
        done.append(section)
        print(f"\n{section.text()}", flush=True)
        if arguments.markdown is not None:
            parts = [line, _verdict(done), *(part.markdown() for part in done)]
            arguments.markdown.write_text("\n\n".join(parts) + "\n")
    print(f"\n{_verdict(done)}")


def _verdict(done: list[Section]) -> str:
    bars = [bar for section in done for bar in section.bars]
    return f"{sum(bar.is_met for bar in bars)} of {len(bars)} bars met."


def _sections(
    only: list[str] | None, quick: bool, sizes: tuple[int, ...] | None
) -> Iterator[Section]:
    given = sizes
    sizes = sizes or ((100_000, 1_000_000) if quick else (100_000, 1_000_000, 10_000_000))
    repeats = 3 if quick else 7
    size = min(1_000_000, max(sizes))
    found: list[speed.Measured] = []

    def compared() -> Iterator[Section]:
        found.extend(_told(speed.measure(sizes, repeats)))
        yield speed.section(found)

    def grown() -> Iterator[Section]:
        overloaded = list(_told(scaling.measure_overload(sizes[-2:], max(2, repeats // 2))))
        yield scaling.overload_section(overloaded)
        yield scaling.growth_section([*found, *overloaded])

    def contended() -> Iterator[Section]:
        yield contention.section(list(contention.measure(size, repeats)))
        points = contention_series.measure(min(100_000, size), repeats)
        yield contention_series.section(list(points))

    def packed(jobs: int, servers: int, repeats: int) -> Iterator[Section]:
        yield packing.section(jobs, servers, repeats)
        yield packing.kinds_section(jobs, servers, repeats)

    parts: dict[str, Callable[[], Iterator[Section]]] = {
        "speed": compared,
        "scaling": grown,
        "contention": contended,
        "plans": lambda: iter([plans.section(min(3, repeats))]),
        "assignment": lambda: iter([assignment.section(min(5, repeats))]),
        "packing": lambda: packed(min(size, 300_000), 512, min(3, repeats)),
        "deadlines": lambda: deadlines.sections(100_000, () if quick else (100_000, 1_000_000)),
        "graphs": lambda: iter([graphs.section(size, repeats)]),
        "prediction": lambda: iter([graphs.prediction_section(size)]),
        "preemption": lambda: iter(
            [preemption.section(size, (64,) if quick else (64, 512, 1024), repeats)]
        ),
        "options": lambda: preemption_options.sections(min(size, 50_000), min(3, repeats)),
        "failures": lambda: iter([failures.section(size, 64 if quick else 512, min(3, repeats))]),
        "backfilling": lambda: iter([backfilling.section(min(size, 100_000), min(3, repeats))]),
        "traps": lambda: iter([growth_traps.section(min(3, repeats))]),
        "open": lambda: iter([open_runs.section(min(size, 300_000), min(3, repeats))]),
        "states": lambda: iter([open_runs.decisions(), open_runs.forecasts()]),
        "around": lambda: around.sections(size, repeats),
        "memory": lambda: iter([memory.section((size,)), ten_million.section(max(sizes))]),
        "threads": lambda: iter([threads.section(size, repeats)]),
        "sweeps": lambda: iter([sweeps.section(quick, given)]),
        "order": lambda: iter([python_order.section(repeats)]),
        "import": lambda: iter([import_time.section(5 if quick else 21)]),
        "reading": lambda: iter([reading.section(min(3, repeats))]),
        "exporting": lambda: iter([exporting.section(size, min(3, repeats))]),
        "policies": lambda: iter(
            [
                policies.section(min(size, 100_000), 512, 10.0 if quick else 60.0),
                policies.waiting_section(10_000, 512, 10.0 if quick else 60.0),
            ]
        ),
        # A million at one instant; and what is asked to stop on so many servers does so soon.
        "crowds": lambda: iter(
            [
                policies.waiting_section(size, 512, 10.0 if quick else 60.0),
                policies.waiting_section(size, 262_144, 10.0),
            ]
        ),
        "gavel": lambda: iter([gavel_trace.section(repeats)]),
        "peers": lambda: iter([python_peers.section(100_000, 3)]),
        "decisions": lambda: iter([queue_env.section(100_000 if quick else 1_000_000, repeats)]),
        "laws": lambda: iter([queue_env.laws_section()]),
        "commands": lambda: iter([commands.section(1 if quick else 3)]),
    }
    for name in PARTS:
        if only is None or name in only:
            yield from parts[name]()


def _told(measured: Iterator[speed.Measured]) -> Iterator[speed.Measured]:
    for row in measured:
        print(
            f"  {row.jobs:,} jobs, {row.servers} servers, {row.case.label}: "
            f"{row.ratio:.2f} x the floor",
            file=sys.stderr,
            flush=True,
        )
        yield row


def _arguments() -> argparse.Namespace:
    about = __doc__.partition(":")[0] + "."
    parser = argparse.ArgumentParser(prog="python -m bench", description=about)
    parser.add_argument("--quick", action="store_true", help="no 10^7 jobs, fewer repetitions")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="some of the sections")
    parser.add_argument(
        "--sizes", type=_sizes, help="numbers of jobs, as 100000,1000000 (ascending)"
    )
    parser.add_argument("--markdown", type=Path, help="also write the tables to this file")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(float(size)) for size in text.split(",")))


if __name__ == "__main__":
    main()
