"""The tables of the reproduction of SJF-BCO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched.statistics.intervals import Interval
from gpusched_papers.sjf_bco import published
from gpusched_papers.sjf_bco.runs import Run
from gpusched_papers.sjf_bco.settings import BASE, MAIN, VARIANTS
from gpusched_papers.study import mean, reduction

THEIRS: Final = "published [text]"
_OURS: Final = ("by the paper's rules", "ours")


class Summary:
    """Means over the seeds of one reading."""

    def __init__(self, runs: Sequence[Run], reading: str = BASE.name) -> None:
        self._runs = [run for run in runs if run.reading == reading]

    def values(self, policy: str, servers: int, of: Callable[[Run], float]) -> Float64:
        """One value per seed, in the order of the seeds."""
        chosen = [run for run in self._runs if run.policy == policy and run.servers == servers]
        return np.array([of(run) for run in sorted(chosen, key=lambda run: run.seed)])

    def num_instances(self, servers: int) -> int:
        """Number of seeds."""
        return len(self.values("sjf-bco", servers, _makespan))

    def makespan(self, policy: str, servers: int) -> Interval:
        """Makespan in seconds."""
        return mean(self.values(policy, servers, _makespan))

    def mean_jct(self, policy: str, servers: int) -> Interval:
        """Average completion in seconds."""
        return mean(self.values(policy, servers, lambda run: run.mean_jct_s))

    def reduction(self, baseline: str, servers: int) -> Interval:
        """By how much SJF-BCO's makespan is below the baseline's on the same instance."""
        ours = self.values("sjf-bco", servers, _makespan)
        return reduction(ours, self.values(baseline, servers, _makespan))

    def over_bound(self, policy: str, servers: int) -> Float64:
        """Makespan over lower bound, one per seed."""
        return self.values(policy, servers, lambda run: run.makespan_s / run.lower_bound_s)


def _makespan(run: Run) -> float:
    return run.makespan_s


def calibration(runs: Sequence[Run], gradient_bytes: tuple[float, float]) -> Table:
    """What is ours, and that the published limits hold."""
    chosen = BASE.calibration
    base = [run for run in runs if run.reading == BASE.name]
    lost = {run: run.lost_to_contention + run.lost_to_overhead for run in base}
    worst = max(base, key=lost.__getitem__)
    low, high = (value / 1e6 for value in gradient_bytes)
    rows = [
        ("be, network card", f"{chosen.nic_gbps:g} Gbit/s"),
        ("bi, inside a server", f"{chosen.intra_gbps:g} Gbit/s"),
        ("C, reduction", f"{chosen.reduction_bytes_per_s / 1e9:g} GB/s"),
        ("xi2, per server spanned", f"{1e3 * chosen.overhead_s:g} ms"),
        ("xi1, contention scaling", f"{chosen.scaling:g}"),
        ("a, degradation", f"{chosen.degradation:g}"),
        ("ring over an idle network, part of an iteration", f"{chosen.ring_share:.1%}"),
        ("m, gradient", f"{low:.1f} to {high:.1f} MB"),
    ]
    for name in published.POLICIES:
        mine = [run for run in base if run.policy == name and run.servers == 20]
        contention = 100 * np.mean([run.lost_to_contention for run in mine])
        overhead = 100 * np.mean([run.lost_to_overhead for run in mine])
        rows.append(
            (
                f"execution time lost under {name}: contention + overhead",
                f"{contention:.1f} + {overhead:.1f} %",
            )
        )
    rows.append(("the same, worst run of all", f"{lost[worst]:.1%} ({worst.policy})"))
    rows.append(("of a single job, at most", f"{max(run.most_lost for run in base):.0%}"))
    note = (
        f"Published [text]: contention and overhead within {published.MOST_LOST:.0%} of the "
        "execution time; xi1 = xi2."
    )
    return table("Calibration: what the paper leaves open", ("quantity", "value"), rows, (note,))


def by_policy(runs: Sequence[Run]) -> Table:
    """Figure 4."""
    found = [Summary(runs, reading.name) for reading in MAIN]
    rows = []
    for name in published.POLICIES:
        rows.append(
            (
                name,
                *(figure_of(one.makespan(name, 20)) for one in found),
                str(published.MAKESPAN[name][20]),
                *(figure_of(one.mean_jct(name, 20)) for one in found),
                str(published.MEAN_JCT[name]),
                *(figure_of(mean(one.over_bound(name, 20)), 2) for one in found),
            )
        )
    ours = _OURS
    return table(
        f"Figure 4: 20 servers, {found[0].num_instances(20)} instances",
        ("policy", f"makespan, s, {ours[0]}", ours[1], THEIRS,
         f"average completion, s, {ours[0]}", ours[1], THEIRS,
         f"makespan / lower bound, {ours[0]}", ours[1]),
        rows,
        (
            "Means, 95 % intervals. Lower bound: all GPU time over all GPUs, or the longest job.",
            "By the paper's rules [text]: FF and LS each under its own tightest cap, RAND under "
            "the cap T, FA-FFP on the GPUs of least busy time (Algorithm 2, line 4). Ours: one cap "
            "for FF, LS and RAND, and FA-FFP on servers that host jobs first.",
        ),
    )  # fmt: skip


def by_servers(runs: Sequence[Run]) -> Table:
    """Figure 6."""
    found = [Summary(runs, reading.name) for reading in MAIN]
    rows = []
    for servers in published.SERVERS:
        for name in published.POLICIES:
            rows.append(
                (
                    f"{servers} servers, {name}",
                    *(figure_of(one.makespan(name, servers)) for one in found),
                    str(published.MAKESPAN[name][servers]),
                    *(figure_of(mean(one.over_bound(name, servers)), 2) for one in found),
                )
            )
    headings = (
        "", f"makespan, s, {_OURS[0]}", _OURS[1], THEIRS,
        f"makespan / lower bound, {_OURS[0]}", _OURS[1],
    )  # fmt: skip
    return table("Figure 6: makespan against the number of servers", headings, rows)


def readings(runs: Sequence[Run]) -> Table:
    """What the open points of the paper are worth: one changed at a time."""
    present = {run.reading for run in runs}
    rows = []
    for reading in (*MAIN, *VARIANTS):
        if reading.name not in present:
            continue
        base = Summary(runs, reading.name)
        rows.append(
            (
                reading.name,
                *(f"{base.makespan(name, 20).value:.0f}" for name in published.POLICIES),
                f"{base.mean_jct('sjf-bco', 20).value:.0f}",
                *(percent_of(base.reduction(name, 20)) for name in published.BASELINES),
            )
        )
    goals = [f"{100 * published.reduction(name, 20):.1f} %" for name in published.BASELINES]
    makespans = [str(published.MAKESPAN[name][20]) for name in published.POLICIES]
    rows.append((THEIRS, *makespans, str(published.MEAN_JCT["sjf-bco"]), *goals))
    return table(
        "Readings: by the paper's rules, and ours with one point changed at a time, 20 servers",
        ("reading", *published.POLICIES, "avg. sjf-bco", "below ls", "below ff", "below rand"),
        rows,
    )
