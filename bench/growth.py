"""How the cost of every policy grows: ten times the jobs, eight times the servers.

python -m bench.growth [--jobs N] [--servers N] [--limit S] [--chart FILE] [--markdown FILE]
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

from bench.measure import machine
from bench.policies import WORKLOADS, Run, cases, run
from bench.table import Bar, Section

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
_CUT_ALPHA = 0.4  # of a bar whose run was ended


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


def draw(found: list[Growth], path: Path) -> None:
    """Draw a bar for each policy and each way to grow, on axes of powers."""
    import matplotlib as mpl

    mpl.use("Agg")
    mpl.rcParams |= {"svg.hashsalt": "gpusched", "svg.fonttype": "none"}
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator, NullLocator

    names = [f"{one.policy} ({one.workload})" for one in found]
    figure, (left, right) = plt.subplots(1, 2, sharey=True, figsize=(9, 0.22 * len(names) + 1.2))
    by_jobs = left.barh(names, [one.by_jobs() for one in found], color="#4477aa")
    by_servers = right.barh(names, [one.by_servers() for one in found], color="#ee6677")
    for one, longer, larger in zip(found, by_jobs, by_servers, strict=True):
        longer.set_alpha(_CUT_ALPHA if one.longer.is_cut else 1.0)
        larger.set_alpha(_CUT_ALPHA if one.larger.is_cut else 1.0)
    left.set_xlabel("10 x the jobs: times the time (pale: at least)")
    right.set_xlabel("8 x the servers: times the time per job")
    for axes, bar in ((left, MOST_JOBS), (right, MOST_SERVERS)):
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=20))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=7)
        axes.axvline(bar, color="black", linewidth=0.8)
        axes.margins(y=0.01)
    left.invert_yaxis()
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--servers", type=int, default=SERVERS)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a run")
    parser.add_argument("--chart", type=Path, help="also draw the growth into this file")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    found = measure(arguments.jobs, arguments.servers, arguments.limit)
    made = section(found, arguments.jobs, arguments.servers, arguments.limit)
    print(made.text())
    if arguments.markdown is not None:
        arguments.markdown.write_text(f"{machine()}\n\n{made.markdown()}\n")
    if arguments.chart is not None:
        draw(found, arguments.chart)


if __name__ == "__main__":
    main()
