"""The tables of the reproduction of SJF-BCO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.papers.common.seed_means import mean, reduction
from gpusched.papers.common.text_table import Table, figure_of, percent_of, table
from gpusched.papers.sjf_bco import published
from gpusched.papers.sjf_bco.runs import BASE, VARIANTS, KappaRun, Run
from gpusched.statistics.intervals import Interval

_THEIRS: Final = "published [text]"


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
    base = Summary(runs)
    rows = []
    for name in published.POLICIES:
        ratio = base.over_bound(name, 20)
        rows.append(
            (
                name,
                figure_of(base.makespan(name, 20)),
                str(published.MAKESPAN[name][20]),
                figure_of(base.mean_jct(name, 20)),
                str(published.MEAN_JCT[name]),
                figure_of(mean(ratio), 2),
                f"{ratio.max():.2f}",
            )
        )
    return table(
        f"Figure 4: 20 servers, {base.num_instances(20)} instances",
        ("policy", "makespan, s", _THEIRS, "average completion, s", _THEIRS,
         "makespan / lower bound", "largest"),
        rows,
        ("Means, 95 % intervals. Lower bound: all GPU time over all GPUs, or the longest job.",),
    )  # fmt: skip


def by_kappa(runs: Sequence[KappaRun]) -> Table:
    """Figure 5."""
    kappas = sorted({run.kappa for run in runs})
    rows = []
    for kappa in kappas:
        mine = [run for run in runs if run.kappa == kappa]
        rows.append(
            (
                str(kappa),
                *(
                    figure_of(mean([getattr(run, column) for run in mine]))
                    for column in ("best_s", "tightest_s", "common_s", "loose_s")
                ),
                str(published.KAPPA_MAKESPAN.get(kappa, "")),
            )
        )
    seeds = {run.seed for run in runs}
    curves = [[run.best_s for run in runs if run.seed == seed] for seed in seeds]
    rises = [
        curve[-1] / min(curve) - 1 for curve in curves if min(curve) < min(curve[0], curve[-1])
    ]
    falls, rise = len(rises), float(np.mean(rises)) if rises else 0.0
    return table(
        "Figure 5: makespan of SJF-BCO against kappa, 20 servers",
        ("kappa", "best cap", "tightest", "common", "1.5 x common", _THEIRS),
        rows,
        (
            "Seconds. Best: of the tightest cap with this kappa and looser ones, as SJF-BCO does. "
            "Common: one cap for all policies and kappas.",
            f"On {falls} of {len(seeds)} instances the best-cap curve falls from kappa = 1 to a "
            f"minimum inside and rises again, by {100 * rise:.0f} % on average up to kappa = 32.",
            f"Published [text] are also {published.KAPPA_MAKESPAN[10]} for kappa = 10. No job is 9 "
            "or 10 GPUs wide, so kappa = 8 and kappa = 10 pack every job alike, and the step from "
            f"{published.KAPPA_MAKESPAN[8]} cannot come from kappa.",
        ),
    )  # fmt: skip


def kappa_means(runs: Sequence[KappaRun]) -> dict[str, dict[int, Interval]]:
    """Figure 5 by the kind of cap."""
    kinds = {"best cap": "best_s", "common cap": "common_s", "1.5 x common cap": "loose_s"}
    kappas = sorted({run.kappa for run in runs})
    return {
        kind: {
            kappa: mean([getattr(run, column) for run in runs if run.kappa == kappa])
            for kappa in kappas
        }
        for kind, column in kinds.items()
    }


def by_servers(runs: Sequence[Run]) -> Table:
    """Figure 6."""
    base = Summary(runs)
    rows = []
    for servers in published.SERVERS:
        for name in published.POLICIES:
            rows.append(
                (
                    f"{servers} servers, {name}",
                    figure_of(base.makespan(name, servers)),
                    str(published.MAKESPAN[name][servers]),
                    figure_of(mean(base.over_bound(name, servers)), 2),
                )
            )
    headings = ("", "makespan, s", _THEIRS, "makespan / lower bound")
    return table("Figure 6: makespan against the number of servers", headings, rows)


def readings(runs: Sequence[Run]) -> Table:
    """What the open points of the paper are worth: one changed at a time."""
    present = {run.reading for run in runs}
    rows = []
    for reading in (BASE, *VARIANTS):
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
    rows.append((_THEIRS, *makespans, str(published.MEAN_JCT["sjf-bco"]), *goals))
    return table(
        "Readings: what is open in the paper, one point changed at a time, 20 servers",
        ("reading", *published.POLICIES, "avg. sjf-bco", "below ls", "below ff", "below rand"),
        rows,
    )
