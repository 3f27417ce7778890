"""SJF-BCO (Yu et al., MobiHoc 2022) again: figures 4 to 7, ours beside the published ones.

160 ring all-reduce jobs are bound to servers of 4 to 32 GPUs by SJF-BCO and by LS, FF and RAND, by
the paper's rules and by readings of ours where it leaves a point open. One slot is one second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, Self

import numpy as np

from gpusched.deciding import Plan, plan
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched.statistics import Interval
from gpusched_papers import sjf_bco_gap as gap
from gpusched_papers.claims import (
    Claim,
    Comparison,
    beside,
    compare,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, bars, curves
from gpusched_papers.sjf_bco_anchor import LARGEST_RING_SHARE as LARGEST_RING_SHARE
from gpusched_papers.sjf_bco_anchor import Anchor, anchor_table
from gpusched_papers.sjf_bco_anchor import anchors as anchors
from gpusched_papers.sjf_bco_workload import CALIBRATION as CALIBRATION
from gpusched_papers.sjf_bco_workload import ITERATION_S as ITERATION_S
from gpusched_papers.sjf_bco_workload import JOBS_OF_WIDTH as JOBS_OF_WIDTH
from gpusched_papers.sjf_bco_workload import SERVICE_S as SERVICE_S
from gpusched_papers.sjf_bco_workload import Calibration as Calibration
from gpusched_papers.sjf_bco_workload import Instance as Instance
from gpusched_papers.sjf_bco_workload import build as build
from gpusched_papers.sjf_bco_workload import instance as instance
from gpusched_papers.study import (
    US_PER_S,
    Float64,
    Made,
    Row,
    Runs,
    Stage,
    Study,
    by_seed,
    mean,
    run_study,
    stages_of,
)

POLICIES: Final = ("sjf-bco", "ls", "ff", "rand")
BASELINES: Final = ("ls", "ff", "rand")
SERVERS: Final = (10, 15, 20)
_MOST: Final = max(SERVERS)
MAKESPAN: Final = {
    "sjf-bco": {10: 939, 15: 715, 20: 535},
    "ls": {10: 1160, 15: 870, 20: 595},
    "ff": {10: 1404, 15: 963, 20: 719},
    "rand": {10: 1488, 15: 1260, 20: 1128},
}
"""Figures 4 and 6: by policy and number of servers."""
MEAN_JCT: Final = {"sjf-bco": 178, "ls": 187, "ff": 452, "rand": 261}
"""Figure 4: average completion on 20 servers."""
KAPPA_MAKESPAN: Final = {1: 626, 2: 564, 4: 541, 8: 535, 10: 700, 16: 749, 32: 736}
"""Figure 5: SJF-BCO on 20 servers with one threshold kappa."""
LAMBDA_MAKESPAN: Final = {1: 1043, 2: 882, 4: 730, 8: 538}
"""Figure 7: SJF-BCO with kappa = 1, by lambda."""
TREND: Final = {"ls": (10, 20), "ff": (10, 20), "rand": (20, 10)}
"""On how many servers SJF-BCO leads a baseline by more, and by less."""
_ALIKE: Final = "No job is 9 or 10 GPUs wide, so kappa = 10 packs every job as kappa = 8 does."
_FIGURE_7: Final = (
    "Figure 5 has 626 for kappa = 1 and lambda = 1, Figure 7 has 1043: their settings differ, and "
    "it is not published in what."
)
THEIRS: Final = "published [text]"


def reduction(baseline: str, servers: int) -> float:
    """By how much SJF-BCO's published makespan is below a baseline's, a ratio."""
    return 1 - MAKESPAN["sjf-bco"][servers] / MAKESPAN[baseline][servers]


def _claims() -> Iterator[Claim]:
    seconds = partial(Claim, known="text", unit="s", better="lower")
    share = partial(Claim, known="derived", unit="%", better="higher")
    kappa = KAPPA_MAKESPAN
    for policy, by_servers in MAKESPAN.items():
        for servers, value in by_servers.items():
            place = "Figure 4" if servers == _MOST else "Figure 6"
            key, says = f"makespan-{policy}-{servers}", f"makespan of {policy}, {servers} servers"
            yield seconds(key, says, place, value=value)
    for policy, value in MEAN_JCT.items():
        says = f"average completion of {policy}, 20 servers"
        yield seconds(f"mean-jct-{policy}", says, "Figure 4", value=value)
    for baseline in BASELINES:
        for servers in SERVERS:
            says = f"makespan of sjf-bco below that of {baseline}, {servers} servers"
            value_of = reduction(baseline, servers)
            yield share(f"below-{baseline}-{servers}", says, "Figures 4 and 6", value=value_of)
    for at, value in kappa.items():
        says, lacks = f"makespan of sjf-bco with kappa = {at}", _ALIKE if at == 10 else ""
        yield seconds(f"kappa-{at}", says, "Figure 5", value=value, lacks=lacks)
    falls, rises = 1 - kappa[8] / kappa[1], kappa[32] / kappa[8] - 1
    says = "fall of the makespan from kappa = 1 to 8"
    yield share("kappa-falls", says, "Figure 5", value=falls)
    says = "rise of the makespan from kappa = 8 to 32"
    yield share("kappa-rises", says, "Figure 5", value=rises)
    says, above = "makespan with kappa = n_g = 32 above that of ls", kappa[32] / MAKESPAN["ls"][20]
    yield share("kappa-widest", says, "Figures 4 and 5", value=above - 1)
    for baseline, (more, less) in TREND.items():
        says = f"lead of sjf-bco over {baseline}, {more} servers less {less} servers"
        change = round(reduction(baseline, more) - reduction(baseline, less), 3)
        yield share(f"fewer-{baseline}", says, "Figure 6", value=change)
    falls = 1 - LAMBDA_MAKESPAN[8] / LAMBDA_MAKESPAN[1]
    says = "fall of the makespan from lambda = 1 to 8, kappa = 1"
    yield share("lambda-falls", says, "Figure 7", value=falls)
    for factor, value in LAMBDA_MAKESPAN.items():
        says = f"makespan of sjf-bco with kappa = 1, lambda = {factor}"
        yield Claim(f"lambda-{factor}", says, "Figure 7", "text", value, unit="s", lacks=_FIGURE_7)


_TOLD: Final = published_of("sjf_bco")
PUBLISHED: Final = replace(_TOLD, claims=(*_claims(), *_TOLD.settings))
MOST_LOST: Final = float(PUBLISHED.claim("lost").value or 0)
"""The part of the execution time that contention and overhead take, at most."""


SJF_BCO: Final = "sjf-bco"
ESTIMATE_ERROR: Final = 1.15
"""``u``: by how much estimates may be too high."""


@dataclass(frozen=True)
class Reading:
    """One way to read what the paper leaves open.

    Attributes
    ----------
    name
        For tables.
    calibration
        Of the workload.
    tie
        Of FA-FFP, see ``gpusched policies sjf-bco``.
    start
        When a bound job starts: see the same.
    baseline_order
        In which order LS, FF and RAND bind the jobs.
    cap
        Which cap the baselines get. ``published``: FF and LS the tightest of each, RAND the sum of
        all jobs' time, T. ``common``: the least one under which every policy binds all jobs,
        SJF-BCO's chosen plan included. ``sjf-bco``: the one of that plan, raised where a job fits
        nowhere under it, so not the same for all. ``own``: the tightest of each. ``best``: of as
        many caps as SJF-BCO runs with one kappa, the one with the least makespan.
    caps_run
        Whether SJF-BCO runs caps above the tightest one of each kappa as well.
    inflation
        ``lambda``.
    """

    name: str
    calibration: Calibration = CALIBRATION
    tie: str = "servers-first"
    start: str = "ready"
    baseline_order: str = "width"
    cap: Literal["published", "common", "sjf-bco", "own", "best"] = "common"
    caps_run: Literal["ladder", "tightest"] = "ladder"
    inflation: float = 1.0


PAPER: Final = Reading("by the paper's rules", tie="least-u", cap="published")
BASE: Final = Reading("ours")
MAIN: Final = (PAPER, BASE)
"""What every published figure is held against."""
VARIANTS: Final = (
    Reading("SJF-BCO runs the tightest caps alone", caps_run="tightest"),
    Reading("baselines: each its own tightest cap", cap="own"),
    Reading("baselines: the best of 16 caps each", cap="best"),
    Reading("baselines: the cap of SJF-BCO's plan", cap="sjf-bco"),
    Reading("baselines bind in order of submission", baseline_order="submit"),
    Reading("FA-FFP takes the least busy GPUs", tie="least-u"),
    Reading("a GPU waits for the next job bound to it", start="in-order"),
    Reading("no contention, no overhead", Calibration(ring_share=0.0, overhead_s=0.0)),
    Reading("no job loses 15 % of its time", Calibration(ring_share=0.009, overhead_s=5e-5)),
)


# Caps to run, in units of the tightest one of each kappa.
_LADDER: Final = tuple(1 + 0.02 * rung for rung in range(16))
_LOOSE: Final = 1.5


def run_instance(seed: int, servers: int, reading: Reading) -> tuple[list[Row], list[Row]]:
    """Run all policies on the same jobs and servers; by kappa as well where that is asked.

    By kappa: ``best_s``, the makespan under the best of the caps that are run, which SJF-BCO
    itself takes the best of; ``tightest_s`` under the tightest cap with this threshold;
    ``common_s``, ``loose_s`` under one cap for all thresholds: the common one of all policies, and
    half as much again.
    """
    drawn = instance(seed, servers, reading.calibration)
    plans, by_kappa, common_s = run_policies(drawn, reading)
    runs = [_measures(drawn, reading, name, made) for name, made in plans.items()]
    if reading not in MAIN or servers != _MOST:
        return runs, []
    return runs, [
        Row(
            reading=reading.name,
            seed=seed,
            kappa=kappa,
            best_s=min(tried, key=_makespan).makespan_s,
            tightest_s=tried[0].makespan_s,
            common_s=_sjf_bco(drawn, reading, kappa, common_s).makespan_s,
            loose_s=_sjf_bco(drawn, reading, kappa, _LOOSE * common_s).makespan_s,
        )
        for kappa, tried in by_kappa.items()
    ]


def _measures(drawn: Instance, reading: Reading, policy: str, made: Plan) -> Row:
    """Take down a plan.

    ``lower_bound_s``: on the makespan, whatever the policy. ``lost_to_contention``,
    ``lost_to_overhead``: parts of the execution time, summed over jobs. ``most_lost``: the largest
    part that both took of a single job's.
    """
    schedule = made.result.schedule
    held_s = schedule.held_us / US_PER_S
    contention_s = held_s - np.asarray(schedule.uncontended_us) / US_PER_S
    iterations = drawn.trace.service_s / drawn.iteration_s
    overhead_s = iterations * reading.calibration.overhead_s * schedule.num_servers
    return Row(
        reading=reading.name,
        seed=drawn.seed,
        servers=drawn.num_servers,
        policy=policy,
        kappa=made.kappa,
        theta_s=made.theta_s,
        makespan_s=made.makespan_s,
        mean_jct_s=made.mean_jct_s,
        lower_bound_s=made.lower_bound_s,
        lost_to_contention=float(contention_s.sum() / held_s.sum()),
        lost_to_overhead=float(overhead_s.sum() / held_s.sum()),
        most_lost=float(((contention_s + overhead_s) / held_s).max()),
    )


def least_makespan_s(drawn: Instance, reading: Reading, kappa: int) -> float:
    """Return SJF-BCO's makespan in seconds with one threshold, under the best of its caps."""
    return min(made.makespan_s for made in _tried(drawn, reading, kappa))


def run_policies(
    drawn: Instance, reading: Reading
) -> tuple[dict[str, Plan], dict[int, list[Plan]], float]:
    """Return each policy's plan, all plans of SJF-BCO by kappa, and the common cap in seconds."""
    widths: list[int] = np.unique(drawn.trace.gpus).tolist()
    by_kappa = {kappa: list(_tried(drawn, reading, kappa)) for kappa in widths}
    chosen = min((made for tried in by_kappa.values() for made in tried), key=_makespan)
    baselines = {name: _baseline(drawn, reading, name, None) for name in BASELINES}
    common_s = max(made.theta_s for made in (chosen, *baselines.values()))
    if reading.cap == "published":
        whole_s = float(drawn.trace.service_s.sum()) / ESTIMATE_ERROR
        baselines["rand"] = _baseline(drawn, reading, "rand", whole_s)
    elif reading.cap == "best":
        baselines = {
            name: min(
                (_baseline(drawn, reading, name, factor * made.theta_s) for factor in _LADDER),
                key=_makespan,
            )
            for name, made in baselines.items()
        }
    elif reading.cap != "own":
        theta_s = common_s if reading.cap == "common" else chosen.theta_s
        baselines = {name: _baseline(drawn, reading, name, theta_s) for name in BASELINES}
    return {SJF_BCO: chosen} | baselines, by_kappa, common_s


def _makespan(made: Plan) -> float:
    return made.makespan_s


def _tried(drawn: Instance, reading: Reading, kappa: int) -> Iterator[Plan]:
    """Plans with one threshold: first the one with the tightest cap."""
    tightest = _sjf_bco(drawn, reading, kappa, None)
    yield tightest
    if reading.caps_run == "ladder":
        for factor in _LADDER[1:]:
            yield _sjf_bco(drawn, reading, kappa, factor * tightest.theta_s)


def _sjf_bco(drawn: Instance, reading: Reading, kappa: int, theta_s: float | None) -> Plan:
    return plan(
        drawn.trace,
        drawn.cluster,
        policy=SJF_BCO,
        kappas=(kappa,),
        theta_s=theta_s,
        lambda_=reading.inflation,
        u=ESTIMATE_ERROR,
        tie=reading.tie,
        start=reading.start,
        speed=reading.calibration.speed,
        contention=reading.calibration.contention,
    )


def _baseline(drawn: Instance, reading: Reading, name: str, theta_s: float | None) -> Plan:
    return plan(
        drawn.trace,
        drawn.cluster,
        policy=name,
        theta_s=theta_s,
        u=ESTIMATE_ERROR,
        order=reading.baseline_order,
        start=reading.start,
        speed=reading.calibration.speed,
        contention=reading.calibration.contention,
        seed=drawn.seed,
    )


_APART: Final = 100_000  # between the seeds of one point and the next; the main ones are below
_CURVES: Final = 100_000
_SEED: Final = 2207


def run_curves(seed: int, reading: Reading) -> list[Row]:
    """Run SJF-BCO at every published point of Figures 5 and 7.

    Of the kind ``kappa`` each point has an instance of its own; of ``lambda`` kappa is 1, and all
    points are of one instance, the one of that seed in the main comparison.
    """

    def run(kind: str, at: int, of: int, kappa: int, how: Reading) -> Row:
        makespan_s = least_makespan_s(instance(of, _MOST, reading.calibration), how, kappa)
        return Row(reading=reading.name, kind=kind, at=at, seed=seed, makespan_s=makespan_s)

    return [
        *(
            run("kappa", kappa, _APART * place + seed, kappa, reading)
            for place, kappa in enumerate(KAPPA_MAKESPAN, 1)
        ),
        *(
            run("lambda", factor, seed, 1, replace(reading, inflation=float(factor)))
            for factor in LAMBDA_MAKESPAN
        ),
    ]


def points(runs: Sequence[Row], reading: Reading, kind: str) -> dict[int, list[float]]:
    """Return the makespans at each point, one for each seed, in seconds."""
    found: dict[int, list[float]] = {}
    for run in sorted(runs, key=lambda run: (run.at, run.seed)):
        if (run.reading, run.kind) == (reading.name, kind):
            found.setdefault(run.at, []).append(run.makespan_s)
    return found


@dataclass(frozen=True)
class Chance:
    """How often a curve by kappa looks like the published one where each point has its instance.

    Parts of all curves that take an instance for each point out of those that were run.

    Attributes
    ----------
    is_u
        Its least point is neither the first nor the last.
    as_high
        It falls from kappa = 1 to 8 and rises from 8 to 32 by as much as published, or more.
    least_at_8
        That, and kappa = 8 is the least point.
    steps
        It rises from kappa = 8 to 10, which pack alike, by as much as published, or more.
    """

    is_u: float
    as_high: float
    least_at_8: float
    steps: float


def chance(by_kappa: dict[int, list[float]]) -> Chance:
    """Draw curves, a point each out of the instances of its kappa."""
    rng = np.random.default_rng(_SEED)
    curve = {kappa: rng.choice(values, _CURVES) for kappa, values in by_kappa.items()}
    published = KAPPA_MAKESPAN
    every = np.stack(list(curve.values()))
    ends = np.minimum(every[0], every[-1])
    as_high = (curve[1] / curve[8] >= published[1] / published[8]) & (
        curve[32] / curve[8] >= published[32] / published[8]
    )
    return Chance(
        is_u=float(np.mean(every[1:-1].min(axis=0) < ends)),
        as_high=float(np.mean(as_high)),
        least_at_8=float(np.mean(as_high & (every.min(axis=0) == curve[8]))),
        steps=float(np.mean(curve[10] / curve[8] >= published[10] / published[8])),
    )


_GAP_READING: Final = Reading("small instances", gap.CALIBRATION)


def gap_run(seed: int) -> Row:
    """Solve a small instance exactly, replay the optimum in the core, and run all policies.

    ``optimum_s``, ``proven_s``: the best makespan that was found and a proven bound on all; equal
    up to 1e-6 if ``is_optimal``.
    """
    drawn = gap.draw(seed)
    plans, _, _ = run_policies(drawn, _GAP_READING)
    makespan_s = {name: made.makespan_s for name, made in plans.items()}
    solution, replayed_s = gap.solve(drawn, min(makespan_s.values()))
    return Row(
        seed=seed,
        jobs=drawn.trace.gpus.tolist(),
        servers=drawn.cluster.server_gpus.tolist(),
        optimum_s=solution.makespan_s,
        proven_s=solution.lower_bound_s,
        is_optimal=solution.is_optimal,
        replayed_s=replayed_s,
        makespan_s=makespan_s,
    )


class Summary:
    """Means over the seeds of one reading."""

    def __init__(self, runs: Sequence[Row], reading: str = BASE.name) -> None:
        mine = [run for run in runs if run.reading == reading]
        self._runs = Runs.by(mine, lambda run: (run.servers, run.policy))

    def values(self, policy: str, servers: int, column: str = "makespan_s") -> Float64:
        """One value per seed, in the order of the seeds."""
        return self._runs.values(servers, policy, column)

    def num_instances(self, servers: int) -> int:
        """Number of seeds."""
        return len(self.values("sjf-bco", servers))

    def makespan(self, policy: str, servers: int) -> Interval:
        """Makespan in seconds."""
        return mean(self.values(policy, servers))

    def mean_jct(self, policy: str, servers: int) -> Interval:
        """Average completion in seconds."""
        return mean(self.values(policy, servers, "mean_jct_s"))

    def reduction(self, baseline: str, servers: int) -> Interval:
        """By how much SJF-BCO's makespan is below the baseline's on the same instance."""
        return self._runs.below(servers, "sjf-bco", baseline, "makespan_s")

    def over_bound(self, policy: str, servers: int) -> Float64:
        """Makespan over lower bound, one per seed."""
        bound: Float64 = self.values(policy, servers, "lower_bound_s")
        return self.values(policy, servers) / bound


@dataclass
class SjfBco(Study):
    """All runs of a reproduction.

    Attributes
    ----------
    runs
        Of every policy on every instance under every reading.
    kappa_runs
        Of SJF-BCO by threshold, on 20 servers.
    curve_runs
        The same with an instance for each threshold, and by lambda.
    gap_runs
        Of the small instances, if they were asked for.
    anchors
        The contention model on two measured times.
    gradient_bytes
        Range over the instances.
    """

    runs: list[Row] = field(default_factory=list)
    kappa_runs: list[Row] = field(default_factory=list)
    curve_runs: list[Row] = field(default_factory=list)
    gap_runs: list[Row] = field(default_factory=list)
    anchors: tuple[Anchor, ...] = ()
    gradient_bytes: tuple[float, float] = (math.inf, 0.0)

    paper = "sjf-bco"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs."""
        return cls(anchors=anchors())

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Solve small instances, run all readings, and the points of the curves."""
        studies = [(servers, reading) for reading in MAIN for servers in SERVERS]
        studies += [] if quick else [(_MOST, variant) for variant in VARIANTS]

        def take_gaps(made: Mapping[tuple[Any, ...], Row]) -> None:
            self.gap_runs = list(made.values())

        def take_runs(made: Made) -> None:
            for seed, done in by_seed(tasks, made, 0).items():
                for runs, by_kappa in done.values():
                    self.runs += runs
                    self.kappa_runs += by_kappa
                drawn = instance(seed, _MOST, BASE.calibration).gradient_bytes
                low, high = self.gradient_bytes
                self.gradient_bytes = (min(low, float(drawn.min())), max(high, float(drawn.max())))

        def take_curves(made: Made) -> None:
            done = by_seed(curves, made, 0).values()
            if len(done) > 1:
                self.curve_runs = [run for some in done for runs in some.values() for run in runs]

        def seed_of(task: tuple[Any, ...]) -> str:
            return f"seed {task[0]}"

        small = [(seed,) for seed in range(seeds) if exact]
        tasks = [(seed, *study) for seed in range(seeds) for study in studies]
        curves = [(seed, reading) for seed in range(seeds) for reading in MAIN if not quick]
        plan = [
            Stage("small instances, exactly", gap_run, small, take_gaps,
                  lambda task: f"small instance {task[0]}"),
            Stage("instances of 160 jobs", run_instance, tasks, take_runs, seed_of),
            Stage("curves on 20 servers", run_curves, curves, take_curves, seed_of),
        ]  # fmt: skip
        return [stage for stage in plan if stage.tasks]

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return len({run.seed for run in self.runs}) > 1

    def comparisons(self) -> list[Comparison]:
        """The published figures beside ours, by the paper's rules and by our own."""
        found: list[Comparison] = []
        for reading in MAIN:
            base = Summary(self.runs, reading.name)
            found += _on_policies(base, reading.name)
            found += _on_kappa(base, self.kappa_runs, reading.name)
            if self.curve_runs:
                found += _on_curves(self.curve_runs, reading)
        made = {one.claim.key for one in found}  # a quick run has no curves
        return with_all(found, [one for one in PUBLISHED.results if one.lacks or one.key in made])

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        tables = [
            _calibration(self.runs, self.gradient_bytes),
            _by_policy(self.runs),
            verdicts(self.comparisons()),
            _by_kappa(self.kappa_runs, self.curve_runs),
            _by_servers(self.runs),
        ]
        if self.curve_runs:
            tables.append(_by_lambda(self.curve_runs))
        if {run.reading for run in self.runs} > {reading.name for reading in MAIN}:
            tables.append(_readings(self.runs))
        if self.gap_runs:
            tables.append(_gap_table(self.gap_runs))
        if self.anchors:
            tables.append(anchor_table(self.anchors))
        return tables

    def data(self) -> dict[str, Any]:
        """All readings and runs."""
        known = {reading.name: reading for reading in (*MAIN, *VARIANTS)}
        return {
            "readings": [known[name] for name in dict.fromkeys(run.reading for run in self.runs)],
            "gradient_bytes": self.gradient_bytes,
            "runs": self.runs,
            "kappa_runs": self.kappa_runs,
            "curve_runs": self.curve_runs,
            "gap_runs": self.gap_runs,
            "anchors": self.anchors,
        }

    def rows(self) -> list[dict[str, Any]]:
        """All runs of policies."""
        return [run.columns for run in self.runs]

    def figures(self) -> dict[str, Any]:
        """Figures 4 to 7, by the paper's rules and by ours."""
        by = {reading.name: Summary(self.runs, reading.name) for reading in MAIN}
        note = f"{by[BASE.name].num_instances(20)} instances, mean and 95 % interval"
        pairs = [(name, how) for name in POLICIES for how in by]
        figure_4 = {
            "Makespan, s": {
                f"{name}, {how}": (by[how].makespan(name, 20), float(MAKESPAN[name][20]))
                for name, how in pairs
            },
            "Average completion, s": {
                f"{name}, {how}": (by[how].mean_jct(name, 20), float(MEAN_JCT[name]))
                for name, how in pairs
            },
        }
        figure_6 = [
            Panel(
                how,
                "servers",
                SERVERS,
                {name: [one.makespan(name, n) for n in SERVERS] for name in POLICIES},
                MAKESPAN,
            )
            for how, one in by.items()
        ]

        def drawn(
            heading: str, means: Mapping[str, dict[int, Interval]], published: dict[int, int]
        ) -> Any:
            lines = {name: list(values.values()) for name, values in means.items()}
            places = list(next(iter(means.values())))
            panel = Panel("", heading, places, lines, {"published": published})
            return curves([panel], "Makespan, s", note, x_scale={"value": "log", "base": 2})

        shown = {
            "figure-4.png": bars(figure_4, "diamond: published", f"20 servers: {note}"),
            "figure-5.png": drawn("κ: widest gang that is packed, GPUs",
                                  _kappa_means(self.kappa_runs), KAPPA_MAKESPAN),
            "figure-6.png": curves(figure_6, "Makespan, s", note),
        }  # fmt: skip
        if self.curve_runs:
            heading, means = (
                "λ: GPUs of the pool, per GPU asked for",
                _lambda_means(self.curve_runs),
            )
            shown["figure-7.png"] = drawn(heading, means, LAMBDA_MAKESPAN)
        return shown


def _on_policies(base: Summary, what: str) -> Iterator[Comparison]:
    def makespan(policy: str, servers: int) -> Float64:
        return base.values(policy, servers)

    def below(baseline: str, servers: int) -> Float64:
        return 1 - makespan("sjf-bco", servers) / makespan(baseline, servers)

    for servers in SERVERS:
        for policy in MAKESPAN:
            claim = PUBLISHED.claim(f"makespan-{policy}-{servers}")
            yield compare(claim, makespan(policy, servers), what)
        for baseline in BASELINES:
            claim = PUBLISHED.claim(f"below-{baseline}-{servers}")
            yield compare(claim, below(baseline, servers), what)
    for baseline, (more, less) in TREND.items():
        change = below(baseline, more) - below(baseline, less)
        yield compare(PUBLISHED.claim(f"fewer-{baseline}"), change, what)
    for policy in MEAN_JCT:
        mean_jct = base.values(policy, _MOST, "mean_jct_s")
        yield compare(PUBLISHED.claim(f"mean-jct-{policy}"), mean_jct, what)


def _on_kappa(base: Summary, runs: Sequence[Row], what: str) -> Iterator[Comparison]:
    mine = sorted((run for run in runs if run.reading == what), key=lambda run: run.seed)
    best = {
        kappa: np.array([run.best_s for run in mine if run.kappa == kappa])
        for kappa in {run.kappa for run in mine}
    }
    for kappa in KAPPA_MAKESPAN:
        if kappa in best:
            yield compare(PUBLISHED.claim(f"kappa-{kappa}"), best[kappa], what)
    yield from _falls_and_rises(best, what)
    ls = base.values("ls", _MOST)
    yield compare(PUBLISHED.claim("kappa-widest"), best[max(best)] / ls - 1, what)


def _on_curves(runs: Sequence[Row], reading: Reading) -> Iterator[Comparison]:
    def at(kind: str) -> dict[int, Float64]:
        return {key: np.array(found) for key, found in points(runs, reading, kind).items()}

    yield from _falls_and_rises(at("kappa"), f"{reading.name}; an instance for each kappa")
    by_lambda = at("lambda")
    least, most = min(by_lambda), max(by_lambda)
    falls = 1 - by_lambda[most] / by_lambda[least]
    yield compare(PUBLISHED.claim("lambda-falls"), falls, reading.name)
    for factor in LAMBDA_MAKESPAN:
        claim = PUBLISHED.claim(f"lambda-{factor}")
        yield beside(claim, mean(by_lambda[factor]), reading.name)


def _falls_and_rises(by_kappa: dict[int, Float64], what: str) -> Iterator[Comparison]:
    yield compare(PUBLISHED.claim("kappa-falls"), 1 - by_kappa[8] / by_kappa[1], what)
    yield compare(PUBLISHED.claim("kappa-rises"), by_kappa[32] / by_kappa[8] - 1, what)


_OURS: Final = ("by the paper's rules", "ours")
_SHOWN: Final = {PAPER: "By the paper's rules [text]", BASE: "Ours"}
_KINDS: Final = {"best cap": "best_s", "common cap": "common_s", "1.5 x common cap": "loose_s"}


def _calibration(runs: Sequence[Row], gradient_bytes: tuple[float, float]) -> Table:
    """What is ours, and that the published limits hold."""
    chosen = BASE.calibration
    base = [run for run in runs if run.reading == BASE.name]
    worst = max(base, key=_lost)
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
    for name in POLICIES:
        mine = [run for run in base if run.policy == name and run.servers == 20]
        contention = 100 * np.mean([run.lost_to_contention for run in mine])
        overhead = 100 * np.mean([run.lost_to_overhead for run in mine])
        rows.append(
            (
                f"execution time lost under {name}: contention + overhead",
                f"{contention:.1f} + {overhead:.1f} %",
            )
        )
    rows.append(("the same, worst run of all", f"{_lost(worst):.1%} ({worst.policy})"))
    rows.append(("of a single job, at most", f"{max(run.most_lost for run in base):.0%}"))
    note = (
        f"Published [text]: contention and overhead within {MOST_LOST:.0%} of the "
        "execution time; xi1 = xi2."
    )
    return table("Calibration: what the paper leaves open", ("quantity", "value"), rows, (note,))


def _lost(run: Row) -> float:
    return float(run.lost_to_contention + run.lost_to_overhead)


def _by_policy(runs: Sequence[Row]) -> Table:
    """Figure 4."""
    found = [Summary(runs, reading.name) for reading in MAIN]
    rows = []
    for name in POLICIES:
        rows.append(
            (
                name,
                *(figure_of(one.makespan(name, 20)) for one in found),
                str(MAKESPAN[name][20]),
                *(figure_of(one.mean_jct(name, 20)) for one in found),
                str(MEAN_JCT[name]),
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


def _by_servers(runs: Sequence[Row]) -> Table:
    """Figure 6."""
    found = [Summary(runs, reading.name) for reading in MAIN]
    rows = []
    for servers in SERVERS:
        for name in POLICIES:
            rows.append(
                (
                    f"{servers} servers, {name}",
                    *(figure_of(one.makespan(name, servers)) for one in found),
                    str(MAKESPAN[name][servers]),
                    *(figure_of(mean(one.over_bound(name, servers)), 2) for one in found),
                )
            )
    headings = (
        "", f"makespan, s, {_OURS[0]}", _OURS[1], THEIRS,
        f"makespan / lower bound, {_OURS[0]}", _OURS[1],
    )  # fmt: skip
    return table("Figure 6: makespan against the number of servers", headings, rows)


def _readings(runs: Sequence[Row]) -> Table:
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
                *(f"{base.makespan(name, 20).value:.0f}" for name in POLICIES),
                f"{base.mean_jct('sjf-bco', 20).value:.0f}",
                *(percent_of(base.reduction(name, 20)) for name in BASELINES),
            )
        )
    goals = [f"{100 * reduction(name, 20):.1f} %" for name in BASELINES]
    makespans = [str(MAKESPAN[name][20]) for name in POLICIES]
    rows.append((THEIRS, *makespans, str(MEAN_JCT["sjf-bco"]), *goals))
    return table(
        "Readings: by the paper's rules, and ours with one point changed at a time, 20 servers",
        ("reading", *POLICIES, "avg. sjf-bco", "below ls", "below ff", "below rand"),
        rows,
    )


def _by_kappa(runs: Sequence[Row], curve_runs: Sequence[Row]) -> Table:
    """Figure 5, by all points of an instance, and by an instance for each point."""
    own = {reading.name: points(curve_runs, reading, "kappa") for reading in MAIN}
    rows = []
    for kappa, value in KAPPA_MAKESPAN.items():
        cells = []
        for reading in MAIN:
            same = _column(runs, reading.name, kappa, "best_s")
            cells += [_cell(same), _cell(own[reading.name].get(kappa, []))]
        loose = _cell(_column(runs, BASE.name, kappa, "loose_s"))
        rows.append((str(kappa), *cells, loose, str(value)))
    return table(
        "Figure 5: makespan of SJF-BCO against kappa, 20 servers",
        ("kappa", "by the paper's rules", "an instance for each", "ours", "an instance for each",
         "ours, 1.5 x the common cap", THEIRS),
        rows,
        (
            "Seconds. Of the tightest cap with this kappa and looser ones the best, as SJF-BCO "
            "does; in the last column of ours one cap for all policies and kappas, half as much "
            "again as the least under which all bind every job.",
            *_shapes(runs),
            *(_chances(reading, chance(own[reading.name]))
              for reading in MAIN if own[reading.name]),
            "No job is 9 or 10 GPUs wide, so kappa = 8 and kappa = 10 pack every job alike, and "
            f"the published step [text] from {KAPPA_MAKESPAN[8]} to "
            f"{KAPPA_MAKESPAN[10]} cannot come from kappa.",
        ),
    )  # fmt: skip


def _by_lambda(runs: Sequence[Row]) -> Table:
    """Figure 7."""
    found = [points(runs, reading, "lambda") for reading in MAIN]
    return table(
        "Figure 7: makespan of SJF-BCO against lambda, kappa = 1, 20 servers",
        ("lambda", *(reading.name for reading in MAIN), THEIRS),
        (
            (str(factor), *(_cell(one.get(factor, [])) for one in found), str(value))
            for factor, value in LAMBDA_MAKESPAN.items()
        ),
        ("Seconds, the best of SJF-BCO's caps. Means, 95 % intervals.",),
    )


def _kappa_means(runs: Sequence[Row]) -> dict[str, dict[int, Interval]]:
    """Figure 5: by the paper's rules, and ours by the kind of cap."""
    kappas = sorted({run.kappa for run in runs})

    def curve(reading: str, column: str) -> dict[int, Interval]:
        return {kappa: mean(_column(runs, reading, kappa, column)) for kappa in kappas}

    ours = {f"ours, {kind}": curve(BASE.name, column) for kind, column in _KINDS.items()}
    return {PAPER.name: curve(PAPER.name, "best_s"), **ours}


def _lambda_means(runs: Sequence[Row]) -> dict[str, dict[int, Interval]]:
    """Figure 7, by the paper's rules and by ours."""
    return {
        reading.name: {
            factor: mean(values) for factor, values in points(runs, reading, "lambda").items()
        }
        for reading in MAIN
    }


def _column(runs: Sequence[Row], reading: str, kappa: int, column: str) -> list[float]:
    mine = (run for run in runs if (run.reading, run.kappa) == (reading, kappa))
    return [getattr(run, column) for run in sorted(mine, key=lambda run: run.seed)]


def _cell(values: Sequence[float]) -> str:
    return figure_of(mean(values)) if len(values) else ""


def _shapes(runs: Sequence[Row]) -> Iterator[str]:
    """How many curves of one instance fall and rise again."""
    kappas = sorted({run.kappa for run in runs})
    for reading in MAIN:
        curves = np.array([_column(runs, reading.name, kappa, "best_s") for kappa in kappas])
        least = curves.min(axis=0)
        is_u = least < np.minimum(curves[0], curves[-1])
        rise = float(np.mean(curves[-1][is_u] / least[is_u] - 1)) if is_u.any() else 0.0
        yield (
            f"{_SHOWN[reading]}: on {np.count_nonzero(is_u)} of {curves.shape[1]} instances the "
            "curve falls from kappa = 1 to a minimum inside and rises again, by "
            f"{100 * rise:.0f} % on average up to kappa = 32."
        )


def _chances(reading: Reading, found: Chance) -> str:
    return (
        f"{_SHOWN[reading]}, an instance for each kappa: of all curves {found.is_u:.1%} have their "
        f"least point inside, {found.as_high:.2%} fall and rise as much as the published one "
        f"[text], {found.least_at_8:.2%} with the least point at 8, and {found.steps:.1%} rise as "
        "much from 8 to 10."
    )


def _gap_table(runs: list[Row]) -> Table:
    """Excess of each policy over the optimum, on the instances that were solved to the end."""
    solved = [run for run in runs if run.is_optimal]
    rows = []
    for name in POLICIES:
        gaps = [run.makespan_s[name] / run.optimum_s - 1 for run in solved]
        if not gaps:
            continue
        optimal = sum(excess < 1e-5 for excess in gaps)
        spread = mean(gaps)
        rows.append(
            (
                name,
                f"{100 * spread.value:.1f} ± {100 * spread.half_width:.1f} %",
                f"{100 * float(np.median(gaps)):.1f} %",
                f"{100 * max(gaps):.1f} %",
                f"{optimal} of {len(solved)}",
            )
        )
    off = max((abs(run.replayed_s - run.optimum_s) for run in solved), default=0.0)
    return table(
        "True gap: makespan above the optimum of a mixed-integer program",
        ("policy", "mean", "median", "largest", "optimal"),
        rows,
        (
            f"{gap.NUM_JOBS} jobs of {gap.WIDTHS[0]} to {gap.WIDTHS[-1]} GPUs on {gap.NUM_SERVERS} "
            f"servers of {' or '.join(map(str, gap.SERVER_GPUS))}; the ring takes "
            f"{gap.CALIBRATION.ring_share:.0%} of an iteration over idle network cards. "
            f"{len(solved)} of {len(runs)} instances were solved to the end within "
            f"{gap.TIME_LIMIT_S:g} s each; the others do not count.",
            f"Replayed in the core, the optimal plans take as long, to {1e6 * off:.0f} us.",
        ),
    )


reproduce = partial(run_study, SjfBco)
stages = partial(stages_of, SjfBco)
