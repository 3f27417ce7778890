"""How the cost of every policy grows: ten times the jobs, eight times the servers, twice the jobs.

python -m bench.growth [--jobs N] [--servers N] [--limit S] [--chart FILE] [--markdown FILE]
python -m bench.growth --double [--only POLICY ...] [--jobs N] [--servers N] [--limit S]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import gpusched as gs
from bench.measure import machine
from bench.policies import TYPES, WORKLOADS, Run, cases, moves_jobs, names, on_types, plain, run
from bench.table import Bar, Section
from bench.workloads import GPUS_PER_SERVER, SEED

JOBS, SERVERS = 10_000, 64
MORE_JOBS, MORE_SERVERS = 10, 8
MOST_JOBS, MOST_SERVERS = 13.0, 2.0
METHOD = (
    "Processor time of one run each, the workloads of the table of all policies (load 0.9): "
    "{jobs:,} jobs on {servers} servers, ten times the jobs on the same servers, and as many jobs "
    "on eight times the servers, where they arrive eight times as fast. `10 x jobs` is time over "
    "time, `8 x servers` time per job over time per job; `>`: that run took longer than "
    "{limit_s:g} s, and policies of which the first did are left out."
)
COLUMNS = ("workload", "policy", "us per job", "10 x jobs", "8 x servers")
DOUBLED_JOBS = 8_000
MOST_DOUBLED = 2.5
REPEATS, SHORT_S, ENOUGH_S = 5, 0.5, 6.0
DOUBLED_METHOD = (
    "Processor time of `gs.simulate` for {jobs:,} Philly-like jobs and for the same jobs twice, "
    "one after the other, on {servers} servers of 8 GPUs: the median of {repeats} runs of each, in "
    "turn, of fewer where they took {enough_s:g} s. `changes`: starts, preemptions, resumes and "
    "resizes, and `instants` at which anything was, in thousands; `a change`: times the time over "
    "times the changes and instants. `spare`: load 0.3, a GPU is always left; `overload`: load "
    "1.5, the queue grows with the trace; `typed spare`, `typed overload`: load 0.3 and 0.9 on "
    "three GPU types, for models of different speeds; `sets`: overload on three types, of which "
    "each job may use one, two or all. `>`: that run was ended after {factor:g} times the first; "
    "policies of which the first took longer than {limit_s:g} s are left out."
)
DOUBLED_COLUMNS = ("workload", "policy", "seconds", "twice the jobs", "changes", "instants",
                   "a change")  # fmt: skip
# Besides the registered policies with their defaults.
OPTIONS = (
    "easy:backfill=shortest",
    "easy:depth=50",
    "sjf-bco:mode=queue,start=ready",
    "elasticflow:admission=batch",
    "edf-greatest:admission=true",
)
_CUT_ALPHA = 0.4  # of the bar of a run that was stopped


@dataclass(frozen=True)
class Growth:
    """A policy's three runs."""

    workload: str
    policy: str
    small: Run
    longer: Run
    larger: Run

    def by_jobs(self) -> float:
        """Time over time; a run that was ended took longer."""
        return self.longer.seconds / self.small.seconds

    def by_servers(self) -> float:
        """Time per job over time per job; as many jobs."""
        return self.larger.seconds / self.small.seconds


def measure(jobs: int, servers: int, limit_s: float) -> list[Growth]:
    """Run every policy of the registry at the three sizes."""
    found = []
    sizes = (jobs, servers), (MORE_JOBS * jobs, servers), (jobs, MORE_SERVERS * servers)
    run(*WORKLOADS["plain"][0](100, servers), "fixed", "fifo", limit_s)  # loads the rest
    for workload, policy in cases():
        make, speed = WORKLOADS[workload]
        runs = []
        for size in sizes:
            trace, cluster = make(*size)
            runs.append(run(trace, cluster, speed, policy, limit_s))
            if runs[0].is_cut:
                break
        shown = [round(one.seconds, 3) for one in runs]
        print(f"  {workload} {policy} {shown}", file=sys.stderr, flush=True)
        if len(runs) == len(sizes):
            found.append(Growth(workload, policy, *runs))
    return found


def section(found: list[Growth], jobs: int, servers: int, limit_s: float) -> Section:
    """Report the growth, with its bars."""
    method = METHOD.format(jobs=jobs, servers=servers, limit_s=limit_s)
    out = Section("Growth", method, COLUMNS)
    for one in found:
        what = f"{one.policy}, {one.workload}"
        signs = [">" if cut.is_cut else "" for cut in (one.longer, one.larger)]
        factors = (one.by_jobs(), one.by_servers())
        shown = [f"{sign}{factor:.1f}" for sign, factor in zip(signs, factors, strict=True)]
        each = f"{one.small.seconds / one.small.finished * 1e6:.1f}"
        out.rows.append((one.workload, one.policy, each, *shown))
        out.bars.append(Bar(f"{what}: 10 x the jobs", factors[0], MOST_JOBS, "x"))
        out.bars.append(Bar(f"{what}: 8 x the servers", factors[1], MOST_SERVERS, "x"))
    return out


def repeated(times: int, jobs: int, servers: int, load: float) -> tuple[gs.Trace, gs.Cluster]:
    """Draw jobs of the plain workload, so many times one after the other."""
    trace, cluster = plain(jobs, servers, load)
    span_us = trace.submit_us[-1] + trace.submit_us[-1] // jobs
    submit_us = np.concatenate([trace.submit_us + index * span_us for index in range(times)])
    again = gs.Trace.from_columns(
        submit_s=submit_us / 1e6,
        service_s=np.tile(trace.service_us, times) / 1e6,
        gpus=np.tile(trace.gpus, times),
    )
    return again.with_deadlines(seed=SEED), cluster


def of_models(times: int, jobs: int, servers: int, load: float) -> tuple[gs.Trace, gs.Cluster]:
    """Draw the same as jobs of three models, and servers of three types."""
    trace, _ = repeated(times, jobs, servers, load)
    return on_types(trace, servers)


def of_sets(times: int, jobs: int, servers: int, load: float) -> tuple[gs.Trace, gs.Cluster]:
    """Draw the same as jobs that may use one type, two or any, and servers of three types."""
    trace, _ = repeated(times, jobs, servers, load)
    random = np.random.Generator(np.random.PCG64(SEED))
    sets = [(name,) for name in TYPES] + [TYPES[:2], TYPES[1:], ()]
    group = servers // len(TYPES)
    restricted = gs.Trace.from_columns(
        submit_s=trace.submit_us / 1e6,
        service_s=trace.service_us / 1e6,
        gpus=np.minimum(trace.gpus, group * GPUS_PER_SERVER),
        gpu_types=[sets[index] for index in random.integers(0, len(sets), len(trace))],
    )
    groups = (gs.ServerGroup(group, GPUS_PER_SERVER, name) for name in TYPES)
    return restricted.with_deadlines(seed=SEED), gs.Cluster(tuple(groups))


DOUBLED = {
    "spare": (repeated, "fixed", 0.3),
    "overload": (repeated, "fixed", 1.5),
    "typed spare": (of_models, "table", 0.3),
    "typed overload": (of_models, "table", 0.9),
    "sets": (of_sets, "fixed", 1.5),
}


def doubled_cases() -> Iterator[tuple[str, str]]:
    """Every workload and policy; speeds by type matter to those that move jobs."""
    for workload in DOUBLED:
        for policy in (*names(), *OPTIONS):
            name = policy.partition(":")[0]
            if not workload.startswith("typed") or moves_jobs(name):
                yield workload, policy


def doubled_section(jobs: int, servers: int, limit_s: float, only: frozenset[str]) -> Section:
    """Report twice the jobs, with its bars."""
    method = DOUBLED_METHOD.format(
        jobs=jobs, servers=servers, limit_s=limit_s, repeats=REPEATS, enough_s=ENOUGH_S,
        factor=2 * MOST_DOUBLED,
    )  # fmt: skip
    out = Section("Twice the jobs", method, DOUBLED_COLUMNS)
    run(*plain(100, servers), "fixed", "fifo", limit_s)  # loads the rest
    for workload, policy in doubled_cases():
        if only and policy not in only:
            continue
        make, speed, load = DOUBLED[workload]
        sizes = (make(1, jobs, servers, load), make(2, jobs, servers, load))
        found = _in_turn(sizes, speed, policy, limit_s)
        if not found:
            print(f"  {workload} {policy} > {limit_s:g} s", file=sys.stderr, flush=True)
            continue
        once, twice = found
        factor = twice.seconds / once.seconds
        sign, cells = ">", ["-"] * 3
        if not twice.is_cut:
            sign, cells = "", [_both("changes", *found), _both("instants", *found)]
            done = [one.changes + one.instants for one in found]
            cells.append(f"{factor * done[0] / done[1]:.2f}")
        out.rows.append((workload, policy, f"{once.seconds:.3f}", f"{sign}{factor:.2f}", *cells))
        out.bars.append(Bar(f"{policy}, {workload}", factor, MOST_DOUBLED, "x"))
        print(f"  {' '.join(out.rows[-1])}", file=sys.stderr, flush=True)
    return out


def _both(name: str, once: Run, twice: Run) -> str:
    return f"{getattr(once, name) / 1e3:.1f} {getattr(twice, name) / 1e3:.1f}"


def _in_turn(
    sizes: Sequence[tuple[gs.Trace, gs.Cluster]], speed: str, policy: str, limit_s: float
) -> list[Run]:
    """Run each in turn, and again where that was short; the medians, none if the first is cut."""
    rounds: list[list[Run]] = []
    while len(rounds) < REPEATS and sum(one.seconds for row in rounds for one in row) < ENOUGH_S:
        once = run(*sizes[0], speed, policy, limit_s)
        if once.is_cut:
            return []
        most = 2 * MOST_DOUBLED * max(once.seconds, SHORT_S)
        rounds.append([once, run(*sizes[1], speed, policy, most)])
    return [
        sorted(column, key=lambda one: one.seconds)[len(rounds) // 2]
        for column in zip(*rounds, strict=True)
    ]


def draw(found: list[Growth], path: Path) -> None:
    """Draw a bar for each policy and each way to grow, on axes of powers."""
    import altair as alt

    names = [f"{one.policy} ({one.workload})" for one in found]
    ways = [
        ("10 x the jobs: times the time (pale: at least)", "#4477aa", MOST_JOBS,
         [(one.by_jobs(), one.longer.is_cut) for one in found]),
        ("8 x the servers: times the time per job", "#ee6677", MOST_SERVERS,
         [(one.by_servers(), one.larger.is_cut) for one in found]),
    ]  # fmt: skip
    panels = []
    for place, (title, colour, bar, values) in enumerate(ways):
        least = min(1.0, *(times for times, _ in values)) / 2  # where bars of a log axis begin
        rows = [
            {"name": name, "times": times, "from": least, "opacity": _CUT_ALPHA if is_cut else 1.0}
            for name, (times, is_cut) in zip(names, values, strict=True)
        ]
        base = alt.Chart({"values": rows}, width=330, height=16 * len(names))
        across = alt.X("times:Q", title=title, scale=alt.Scale(type="log", nice=False),
                       axis=alt.Axis(grid=False, format="~g", labelOverlap="greedy"))  # fmt: skip
        labels = alt.Axis(labels=not place, ticks=not place, title=None)
        bars = base.mark_bar(color=colour, height=12).encode(
            x=across,
            x2="from:Q",
            y=alt.Y("name:N", sort=names, axis=labels),
            opacity=alt.Opacity("opacity:Q", scale=None),
        )
        panels.append(bars + base.mark_rule().encode(x=alt.datum(bar)))
    alt.hconcat(*panels, spacing=10).save(str(path))


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--double", action="store_true", help="twice the jobs, with each workload")
    parser.add_argument("--only", nargs="+", default=[], help="with --double, these policies")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a run")
    parser.add_argument("--chart", type=Path, help="also draw the growth into this file")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    size = (arguments.servers, arguments.limit)
    if arguments.double:
        only = frozenset(arguments.only)
        made = doubled_section(arguments.jobs or DOUBLED_JOBS, *size, only)
    else:
        found = measure(arguments.jobs or JOBS, *size)
        made = section(found, arguments.jobs or JOBS, *size)
    print(made.text())
    if arguments.markdown is not None:
        arguments.markdown.write_text(f"{machine()}\n\n{made.markdown()}\n")
    if arguments.chart is not None and not arguments.double:
        draw(found, arguments.chart)


if __name__ == "__main__":
    main()
