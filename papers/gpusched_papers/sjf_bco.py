"""SJF-BCO (Yu et al., MobiHoc 2022) again: figures 4 to 7, ours beside the published ones.

160 ring all-reduce jobs are bound to servers of 4 to 32 GPUs by SJF-BCO and by LS, FF and RAND, by
the paper's rules and by readings of ours where it leaves a point open. One slot is one second.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.base.tables import Table
from gpusched.model import JobProfile, zoo
from gpusched.online import Plan, plan
from gpusched_papers import exact
from gpusched_papers.claims import (
    Claim,
    Comparison,
    Texts,
    beside,
    claims_file,
    compare,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, bars, curves
from gpusched_papers.intervals import Interval, figure_of, mean, percent_of
from gpusched_papers.study import (
    US_PER_S,
    Float64,
    Made,
    Row,
    Runs,
    Stage,
    Study,
    by_columns,
    by_seed,
    run_study,
    simulate,
    stages_of,
)

POLICIES: Final = ("sjf-bco", "ls", "ff", "rand")
SJF_BCO, *_BASELINES = POLICIES
BASELINES: Final = tuple(_BASELINES)
SERVERS: Final = (10, 15, 20)
_MOST: Final = max(SERVERS)
TEXTS: Final = Texts("sjf_bco")
_FIGURES: Final = claims_file("sjf_bco")["figures"]
MAKESPAN: Final[dict[str, dict[int, int]]] = {
    policy: dict(zip(SERVERS, _FIGURES["makespan"][policy], strict=True)) for policy in POLICIES
}
"""Figures 4 and 6: by policy and number of servers."""
MEAN_JCT: Final[dict[str, int]] = _FIGURES["mean-jct"]
"""Figure 4: average completion on 20 servers."""
KAPPA_MAKESPAN: Final[dict[int, int]] = dict(_FIGURES["by-kappa"])
"""Figure 5: SJF-BCO on 20 servers with one threshold kappa."""
LAMBDA_MAKESPAN: Final[dict[int, int]] = dict(_FIGURES["by-lambda"])
"""Figure 7: SJF-BCO with kappa = 1, by lambda."""
TREND: Final = {"ls": (10, 20), "ff": (10, 20), "rand": (20, 10)}
"""On how many servers SJF-BCO leads a baseline by more, and by less."""
THEIRS: Final = "published [text]"


def reduction(baseline: str, servers: int) -> float:
    """By how much SJF-BCO's published makespan is below a baseline's, a ratio."""
    return 1 - MAKESPAN[SJF_BCO][servers] / MAKESPAN[baseline][servers]


def _claims() -> Iterator[Claim]:
    seconds = partial(Claim, known="text", unit="s", better="lower")
    share = partial(Claim, known="derived", unit="%", better="higher")
    kappa, lambda_ = KAPPA_MAKESPAN, LAMBDA_MAKESPAN
    for policy, by_servers in MAKESPAN.items():
        for n, value in by_servers.items():
            says, figure = f"makespan of {policy}, {n} servers", "4" if n == _MOST else "6"
            yield seconds(f"makespan-{policy}-{n}", says, f"Figure {figure}", value=value)
    for policy, value in MEAN_JCT.items():
        says = f"average completion of {policy}, 20 servers"
        yield seconds(f"mean-jct-{policy}", says, "Figure 4", value=value)
    for baseline in BASELINES:
        for n in SERVERS:
            says = f"makespan of sjf-bco below that of {baseline}, {n} servers"
            below = reduction(baseline, n)
            yield share(f"below-{baseline}-{n}", says, "Figures 4 and 6", value=below)
    for at, value in kappa.items():
        says, lacks = f"makespan of sjf-bco with kappa = {at}", _FIGURES["alike"] * (at == 10)
        yield seconds(f"kappa-{at}", says, "Figure 5", value=value, lacks=lacks)
    for key, says, place, change in (
        ("falls", "fall of the makespan from kappa = 1 to 8", "Figure 5", 1 - kappa[8] / kappa[1]),
        ("rises", "rise of the makespan from kappa = 8 to 32", "Figure 5",
         kappa[32] / kappa[8] - 1),
        ("widest", "makespan with kappa = n_g = 32 above that of ls", "Figures 4 and 5",
         kappa[32] / MAKESPAN["ls"][20] - 1),
    ):  # fmt: skip
        yield share(f"kappa-{key}", says, place, value=change)
    for baseline, (more, less) in TREND.items():
        says = f"lead of sjf-bco over {baseline}, {more} servers less {less} servers"
        change = round(reduction(baseline, more) - reduction(baseline, less), 3)
        yield share(f"fewer-{baseline}", says, "Figure 6", value=change)
    says = "fall of the makespan from lambda = 1 to 8, kappa = 1"
    yield share("lambda-falls", says, "Figure 7", value=1 - lambda_[8] / lambda_[1])
    for factor, value in lambda_.items():
        says, lacks = f"makespan of sjf-bco with kappa = 1, lambda = {factor}", _FIGURES["apart"]
        yield Claim(f"lambda-{factor}", says, "Figure 7", "text", value, unit="s", lacks=lacks)


_TOLD: Final = published_of("sjf_bco")
PUBLISHED: Final = replace(_TOLD, claims=(*_claims(), *_TOLD.settings))
MOST_LOST: Final = float(PUBLISHED.claim("lost").value or 0)
"""The part of the execution time that contention and overhead take, at most."""


JOBS_OF_WIDTH: Final = {1: 80, 2: 14, 4: 26, 8: 30, 16: 8, 32: 2}
ITERATIONS: Final = (1000.0, 6000.0)
ITERATION_S: Final = (0.01, 0.05)
SERVICE_S: Final = (50.0, 300.0)
SERVER_GPUS: Final = (4, 8, 16, 32)
_BATCH: Final = 32
_FORWARD_PART: Final = 1 / 3  # of the compute time; the ring does not care


@dataclass(frozen=True)
class Calibration:
    """What the paper does not publish; one slot is one second.

    ``nic_gbps``, ``intra_gbps``: ``be`` and ``bi``, Gbit/s.
    ``reduction_bytes_per_s``: ``C``.
    ``ring_share``: part of a gang's iteration time that its ring would take over idle network
        cards. It sets the gradient: ``m = ring_share * tau * be * w / (2 (w - 1))``.
    ``overhead_s``: ``xi2``, seconds per server that a job spans.
    ``scaling``, ``degradation``: ``xi1`` and ``a`` of the contention.
    """

    nic_gbps: float = 100.0
    intra_gbps: float = 2400.0
    reduction_bytes_per_s: float = 3e11
    ring_share: float = 0.025
    overhead_s: float = 1.8e-4
    scaling: float = 1.0
    degradation: float = 0.08

    @property
    def models(self) -> dict[str, Any]:
        """The models of speed and contention in the form that :func:`gpusched.simulate` takes."""
        return {"speed": self.speed, "contention": self.contention}

    @property
    def speed(self) -> str:
        """The speed model."""
        ring = f"ring:overhead_s={self.overhead_s!r}"
        return f"{ring},reduction_bytes_per_s={self.reduction_bytes_per_s!r}"

    @property
    def contention(self) -> str:
        """The contention model."""
        return f"shared:degradation={self.degradation!r},scaling={self.scaling!r}"


CALIBRATION: Final = Calibration()


@dataclass(frozen=True)
class Instance:
    """One random instance: the same for every policy."""

    seed: int
    trace: gs.Trace
    cluster: gs.Cluster
    gradient_bytes: Float64
    iteration_s: Float64


def instance(seed: int, num_servers: int, calibration: Calibration) -> Instance:
    """Draw jobs and servers.

    Iterations and iteration time are uniform in their published ranges, drawn again until their
    product lies in the published range of service times. The jobs come in random order. Fewer
    servers are the first ones of more, and the jobs are the same, so that instances of one seed
    can be compared across numbers of servers.

    ``seed``: of the jobs, and with another stream of the servers.
    ``num_servers``: number of servers, each with a number of GPUs uniform in {4, 8, 16, 32}.
    """
    jobs, servers = (
        np.random.Generator(np.random.PCG64(stream))
        for stream in np.random.SeedSequence(seed).spawn(2)
    )
    gpus = jobs.permutation(np.repeat(list(JOBS_OF_WIDTH), list(JOBS_OF_WIDTH.values())))
    iterations, iteration_s = np.empty(len(gpus)), np.empty(len(gpus))
    missing = np.ones(len(gpus), dtype=bool)
    while missing.any():
        iterations[missing] = jobs.uniform(*ITERATIONS, size=np.count_nonzero(missing))
        iteration_s[missing] = jobs.uniform(*ITERATION_S, size=np.count_nonzero(missing))
        service_s = iterations * iteration_s
        missing = (service_s < SERVICE_S[0]) | (service_s > SERVICE_S[1])
    sizes = servers.choice(SERVER_GPUS, size=num_servers)
    while sizes.sum() < max(JOBS_OF_WIDTH):  # too small for the widest job
        sizes = servers.choice(SERVER_GPUS, size=num_servers)
    return build(seed, gpus, iterations, iteration_s, sizes, calibration)


def build(
    seed: int,
    gpus: NDArray[np.int64],
    iterations: Float64,
    iteration_s: Float64,
    server_gpus: NDArray[np.int64],
    calibration: Calibration,
) -> Instance:
    """Make trace and cluster so that each job has its iteration time on the empty cluster."""
    links = {key: getattr(calibration, key) for key in ("nic_gbps", "intra_gbps")}
    cluster = gs.Cluster(
        tuple(gs.ServerGroup(1, int(size), **links) for size in server_gpus),
        name=f"{len(server_gpus)} servers, seed {seed}",
    )
    nic, intra = (gbps * 1e9 / 8 for gbps in links.values())
    ring = np.maximum(gpus, 2)  # a job of one GPU has a gradient, too, but sends nothing
    gradient = calibration.ring_share * iteration_s * nic * ring / (2 * (ring - 1))
    span = np.searchsorted(np.cumsum(np.sort(server_gpus)[::-1]), gpus) + 1
    moved = gradient * (gpus - 1) / gpus
    sent_s = 2 * moved / np.where(span == 1, intra, min(nic, intra))
    reduced_s = moved / calibration.reduction_bytes_per_s
    compute_s = iteration_s - sent_s - reduced_s - calibration.overhead_s * span
    profiles = tuple(
        JobProfile(
            name=f"job-{job}",
            gradient_bytes=float(gradient[job]),
            batch=_BATCH,
            forward_s=float(compute_s[job]) * _FORWARD_PART / _BATCH,
            backward_s=float(compute_s[job]) * (1 - _FORWARD_PART),
        )
        for job in range(len(gpus))
    )
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(len(gpus)),
        service_s=iterations * iteration_s,
        gpus=gpus,
        profile=np.arange(len(gpus)),
        profiles=profiles,
        name="sjf-bco",
    )
    trace = dataclasses.replace(trace, source=f"sjf-bco workload, seed {seed}")
    return Instance(seed, trace, cluster, gradient, iteration_s)


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

    Of a plan: ``lower_bound_s``: on the makespan, whatever the policy. ``lost_to_contention``,
    ``lost_to_overhead``: parts of the execution time, summed over jobs. ``most_lost``: the largest
    part that both took of a single job's.

    By kappa: ``best_s``, the makespan under the best of the caps that are run, which SJF-BCO
    itself takes the best of; ``tightest_s`` under the tightest cap with this threshold;
    ``common_s``, ``loose_s`` under one cap for all thresholds: the common one of all policies, and
    half as much again.
    """
    drawn = instance(seed, servers, reading.calibration)
    plans, by_kappa, common_s = run_policies(drawn, reading)
    runs = []
    for name, made in plans.items():
        schedule = made.result.schedule
        held_s = schedule.held_us / US_PER_S
        contention_s = held_s - np.asarray(schedule.uncontended_us) / US_PER_S
        iterations = drawn.trace.service_s / drawn.iteration_s
        overhead_s = iterations * reading.calibration.overhead_s * schedule.num_servers
        told = ("kappa", "theta_s", "makespan_s", "mean_jct_s", "lower_bound_s")
        runs.append(
            Row(
                reading=reading.name,
                seed=seed,
                servers=servers,
                policy=name,
                **{key: getattr(made, key) for key in told},
                lost_to_contention=float(contention_s.sum() / held_s.sum()),
                lost_to_overhead=float(overhead_s.sum() / held_s.sum()),
                most_lost=float(((contention_s + overhead_s) / held_s).max()),
            )
        )
    if reading not in MAIN or servers != _MOST:
        return runs, []
    return runs, [
        Row(
            reading=reading.name,
            seed=seed,
            kappa=kappa,
            best_s=min(tried, key=_makespan).makespan_s,
            tightest_s=tried[0].makespan_s,
            common_s=_planned(drawn, reading, kappa, common_s).makespan_s,
            loose_s=_planned(drawn, reading, kappa, _LOOSE * common_s).makespan_s,
        )
        for kappa, tried in by_kappa.items()
    ]


def least_makespan_s(drawn: Instance, reading: Reading, kappa: int) -> float:
    """Return SJF-BCO's makespan in seconds with one threshold, under the best of its caps."""
    return min(made.makespan_s for made in _tried(drawn, reading, kappa))


def run_policies(
    drawn: Instance, reading: Reading
) -> tuple[dict[str, Plan], dict[int, list[Plan]], float]:
    """Return each policy's plan, all plans of SJF-BCO by kappa, and the common cap in seconds."""
    widths: list[int] = np.unique(drawn.trace.gpus).tolist()
    by_kappa = {kappa: _tried(drawn, reading, kappa) for kappa in widths}
    chosen = min((made for tried in by_kappa.values() for made in tried), key=_makespan)
    bound = partial(_planned, drawn, reading)
    baselines = {name: bound(name) for name in BASELINES}
    common_s = max(made.theta_s for made in (chosen, *baselines.values()))
    if reading.cap == "published":
        whole_s = float(drawn.trace.service_s.sum()) / ESTIMATE_ERROR
        baselines["rand"] = bound("rand", whole_s)
    elif reading.cap == "best":
        baselines = {
            name: min((bound(name, factor * made.theta_s) for factor in _LADDER), key=_makespan)
            for name, made in baselines.items()
        }
    elif reading.cap != "own":
        theta_s = common_s if reading.cap == "common" else chosen.theta_s
        baselines = {name: bound(name, theta_s) for name in BASELINES}
    return {SJF_BCO: chosen} | baselines, by_kappa, common_s


def _makespan(made: Plan) -> float:
    return made.makespan_s


def _tried(drawn: Instance, reading: Reading, kappa: int) -> list[Plan]:
    """Plans with one threshold: first the one with the tightest cap."""
    tightest = _planned(drawn, reading, kappa)
    factors = _LADDER[1:] if reading.caps_run == "ladder" else ()
    return [tightest, *(_planned(drawn, reading, kappa, f * tightest.theta_s) for f in factors)]


def _planned(
    drawn: Instance, reading: Reading, of: str | int, theta_s: float | None = None
) -> Plan:
    """Bind the jobs by a baseline, or by SJF-BCO with one kappa."""
    if isinstance(of, str):
        own: dict[str, Any] = {"policy": of, "order": reading.baseline_order, "seed": drawn.seed}
    else:
        own = {"policy": SJF_BCO, "kappas": (of,), "lambda_": reading.inflation, "tie": reading.tie}
    return plan(
        drawn.trace,
        drawn.cluster,
        theta_s=theta_s,
        u=ESTIMATE_ERROR,
        start=reading.start,
        **own,
        **reading.calibration.models,
    )


_APART: Final = 100_000  # between the seeds of one point and the next; the main ones are below
_CURVES: Final = 100_000
_SEED: Final = 2207


def run_curves(seed: int, reading: Reading) -> list[Row]:
    """Run SJF-BCO at every published point of Figures 5 and 7.

    Of the kind ``kappa`` each point has an instance of its own; of ``lambda`` kappa is 1, and all
    points are of one instance, the one of that seed in the main comparison.
    """
    points = [
        ("kappa", kappa, _APART * place + seed, kappa, reading)
        for place, kappa in enumerate(KAPPA_MAKESPAN, 1)
    ]
    points += [
        ("lambda", factor, seed, 1, replace(reading, inflation=float(factor)))
        for factor in LAMBDA_MAKESPAN
    ]
    return [
        Row(
            reading=reading.name,
            kind=kind,
            at=at,
            seed=seed,
            makespan_s=least_makespan_s(instance(of, _MOST, reading.calibration), how, kappa),
        )
        for kind, at, of, kappa, how in points
    ]


def points(runs: Sequence[Row], reading: Reading, kind: str) -> dict[int, list[float]]:
    """Return the makespans at each point, one for each seed, in seconds."""
    found: dict[int, list[float]] = {}
    for run in sorted(runs, key=lambda run: (run.at, run.seed)):
        if (run.reading, run.kind) == (reading.name, kind):
            found.setdefault(run.at, []).append(run.makespan_s)
    return found


class Chance(NamedTuple):
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
    every = np.stack(list(curve.values()))

    def grows(at: int) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = curve[at] / curve[8] >= KAPPA_MAKESPAN[at] / KAPPA_MAKESPAN[8]
        return found

    as_high = grows(1) & grows(32)
    is_u = every[1:-1].min(axis=0) < np.minimum(every[0], every[-1])
    least_at_8 = as_high & (every.min(axis=0) == curve[8])
    return Chance(*(float(np.mean(one)) for one in (is_u, as_high, least_at_8, grows(10))))


_NUM_JOBS: Final = 5
_NUM_SERVERS: Final = 3
_SMALL_SERVERS: Final = (2, 4)
_WIDTHS: Final = (1, 2, 3, 4)
# So few rings meet here that they must be longer for contention to count.
_GAP_READING: Final = Reading("small instances", Calibration(ring_share=0.2, overhead_s=2e-4))
_TIME_LIMIT_S: Final = 60.0


def gap_run(seed: int) -> Row:
    """Solve a small instance exactly, replay the optimum in the core, and run all policies.

    ``optimum_s``, ``proven_s``: the best makespan that was found and a proven bound on all; equal
    up to 1e-6 if ``is_optimal``.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    sizes = random.choice(_SMALL_SERVERS, size=_NUM_SERVERS)
    gpus = random.choice(_WIDTHS, size=_NUM_JOBS)
    service_s = random.uniform(*SERVICE_S, size=_NUM_JOBS)
    iteration_s = random.uniform(*ITERATION_S, size=_NUM_JOBS)
    how = _GAP_READING.calibration
    drawn = build(seed, gpus, service_s / iteration_s, iteration_s, sizes, how)
    plans, _, _ = run_policies(drawn, _GAP_READING)
    makespan_s = {name: made.makespan_s for name, made in plans.items()}
    known = {
        key: getattr(how, key)
        for key in ("overhead_s", "reduction_bytes_per_s", "degradation", "scaling")
    }
    problem = exact.instance(drawn.trace, drawn.cluster, **known)
    upper_s = min(makespan_s.values()) * (1 + 1e-6)
    solution = exact.solve(problem, time_limit_s=_TIME_LIMIT_S, upper_bound_s=upper_s)
    replayed = exact.replay(solution, drawn.trace, drawn.cluster, **how.models)
    return Row(
        seed=seed,
        jobs=drawn.trace.gpus.tolist(),
        servers=drawn.cluster.server_gpus.tolist(),
        optimum_s=solution.makespan_s,
        proven_s=solution.lower_bound_s,
        is_optimal=solution.is_optimal,
        replayed_s=float(replayed.summary()["makespan_s"]),
        makespan_s=makespan_s,
    )


# Two measured run times that fix the degradation of the contention model. Wang, Shi, Wang, Chu,
# "Communication contention aware scheduling of multiple deep learning training jobs" (arXiv
# 2002.10105): on servers of four GPUs with 10 GbE, a ring of four workers takes 295 s alone, and
# four such rings over the same servers take 675 s each. In the model an iteration is
# ring x f(a, p) + rest; the two times give f(a, 4), and f(a, p) = p + a (p - 1) gives the
# degradation a, once it is known what part of an iteration is the ring. The paper's model and
# batch are not taken over; ours are the profiles of the zoo.
ALONE_S: Final = 295.0
TOGETHER_S: Final = 675.0
_RINGS: Final = 4
_WIDTH: Final = 4
_GPU_TYPE: Final = "V100"
_OVERHEAD_S: Final = 5e-4
_REDUCTION: Final = 3e11
_CLUSTER: Final = gs.Cluster.uniform(4, _WIDTH, _GPU_TYPE, nic_gbps=10, intra_gbps=100)
LARGEST_RING_SHARE: Final = (TOGETHER_S / ALONE_S - 1) / (_RINGS - 1)
"""From ``1 + share (f - 1) = 675 / 295`` with ``f = 4``."""
_ANCHORS: Final = (
    ("resnet50", 64), ("resnet50", 128), ("resnet152", 64), ("inception-v3", 64),
    ("resnet50", 32), ("vgg16", 64),
)  # fmt: skip


def anchors() -> tuple[Row, ...]:
    """Find the degradation that gives both times, for the reference and other models and batches.

    ``ring_share``: part of an iteration that the ring takes alone on its links. ``degradation``:
    ``a``; negative if four rings that share a link evenly would be slower than measured.
    ``alone_s``, ``together_s``: the same, as simulated; NaN if there is no ``a >= 0``.
    """
    models = zoo()
    return tuple(_anchor(models[name], batch) for name, batch in _ANCHORS)


def _anchor(profile: JobProfile, batch: int) -> Row:
    name = f"{profile.name}, batch {batch}"
    profile = msgspec.structs.replace(profile, name=name, batch=float(batch))
    moved = profile.gradient_bytes * (_WIDTH - 1) / _WIDTH

    def parts(gbps: float, span: int) -> tuple[float, float]:
        """Seconds on the links, and all other seconds, of an iteration without contention."""
        rest_s = moved / _REDUCTION + _OVERHEAD_S * span + profile.compute_s(_GPU_TYPE)
        return 2 * moved / (gbps * 1e9 / 8), rest_s

    ring_s, rest_s = parts(10, _WIDTH)
    factor = (TOGETHER_S / ALONE_S * (ring_s + rest_s) - rest_s) / ring_s
    degradation = (factor - _RINGS) / (_RINGS - 1)
    times = [math.nan, math.nan]
    if degradation >= 0:
        service_s = ALONE_S / (ring_s + rest_s) * sum(parts(100, 1))
        times = [_simulated_s(profile, service_s, rings, degradation) for rings in (1, _RINGS)]
    return Row(
        model=name,
        ring_share=ring_s / (ring_s + rest_s),
        degradation=degradation,
        alone_s=times[0],
        together_s=times[1],
    )


def _simulated_s(profile: JobProfile, service_s: float, rings: int, degradation: float) -> float:
    """Run time of the slowest of equal rings over all servers, in the core."""
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(rings),
        service_s=np.full(rings, service_s),
        gpus=np.full(rings, _WIDTH),
        profile=np.zeros(rings, dtype=np.int32),
        profiles=(profile,),
        name="anchor",
    )
    result = simulate(
        trace,
        _CLUSTER,
        policy="fifo",
        placement="spread",
        speed=f"ring:overhead_s={_OVERHEAD_S!r},reduction_bytes_per_s={_REDUCTION!r}",
        contention=f"shared:degradation={degradation!r}",
    )
    return float(result.summary()["makespan_s"])


class Summary(Runs):
    """Means over the seeds of one reading, by number of servers and policy."""

    figure = "makespan_s"

    def __init__(self, runs: Sequence[Row], reading: str = BASE.name) -> None:
        mine = [run for run in runs if run.reading == reading]
        super().__init__(by_columns(mine, "servers", "policy"))

    def makespan(self, policy: str, servers: int) -> Interval:
        """Makespan in seconds."""
        return self.mean(servers, policy)

    def mean_jct(self, policy: str, servers: int) -> Interval:
        """Average completion in seconds."""
        return self.mean(servers, policy, "mean_jct_s")

    def over_bound(self, policy: str, servers: int) -> Float64:
        """Makespan over lower bound, one per seed."""
        return self.values(servers, policy) / self.values(servers, policy, "lower_bound_s")


@dataclass
class SjfBco(Study):
    """All runs of a reproduction.

    ``runs``: of every policy on every instance under every reading.
    ``kappa_runs``: of SJF-BCO by threshold, on 20 servers.
    ``curve_runs``: the same with an instance for each threshold, and by lambda.
    ``gap_runs``: of the small instances, if they were asked for.
    ``anchors``: the contention model on two measured times.
    ``gradient_bytes``: range over the instances.
    """

    runs: list[Row] = field(default_factory=list)
    kappa_runs: list[Row] = field(default_factory=list)
    curve_runs: list[Row] = field(default_factory=list)
    gap_runs: list[Row] = field(default_factory=list)
    anchors: tuple[Row, ...] = ()
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
        numbers = range(seeds)
        small = [(seed,) for seed in numbers if exact]
        tasks = [(seed, *study) for seed in numbers for study in studies]
        curves = [(seed, reading) for seed in numbers for reading in MAIN if not quick]

        def take_gaps(made: Made) -> None:
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

        of = "seed {0[0]}".format
        plan = [
            Stage("small instances, exactly", gap_run, small, take_gaps,
                  "small instance {0[0]}".format),
            Stage("instances of 160 jobs", run_instance, tasks, take_runs, of),
            Stage("curves on 20 servers", run_curves, curves, take_curves, of),
        ]  # fmt: skip
        return [stage for stage in plan if stage.tasks]

    def comparisons(self) -> list[Comparison]:
        """The published figures beside ours, by the paper's rules and by our own."""
        found = [one for reading in MAIN for one in self._compared(reading)]
        made = {one.claim.key for one in found}  # a quick run has no curves
        return with_all(found, [one for one in PUBLISHED.results if one.lacks or one.key in made])

    def _compared(self, reading: Reading) -> Iterator[Comparison]:
        base, what, claim = Summary(self.runs, reading.name), reading.name, PUBLISHED.claim

        def below(baseline: str, servers: int) -> Float64:
            return 1 - base.values(servers, SJF_BCO) / base.values(servers, baseline)

        def falls_and_rises(by_kappa: Mapping[int, Any], what: str) -> Iterator[Comparison]:
            yield compare(claim("kappa-falls"), 1 - by_kappa[8] / by_kappa[1], what)
            yield compare(claim("kappa-rises"), by_kappa[32] / by_kappa[8] - 1, what)

        for servers in SERVERS:
            for policy in POLICIES:
                makespan = base.values(servers, policy)
                yield compare(claim(f"makespan-{policy}-{servers}"), makespan, what)
            for baseline in BASELINES:
                yield compare(claim(f"below-{baseline}-{servers}"), below(baseline, servers), what)
        for baseline, (more, less) in TREND.items():
            change = below(baseline, more) - below(baseline, less)
            yield compare(claim(f"fewer-{baseline}"), change, what)
        for policy in MEAN_JCT:
            mean_jct = base.values(_MOST, policy, "mean_jct_s")
            yield compare(claim(f"mean-jct-{policy}"), mean_jct, what)
        best = {kappa: np.array(self._at(reading, kappa)) for kappa in self._kappas()}
        for kappa in KAPPA_MAKESPAN:
            if kappa in best:
                yield compare(claim(f"kappa-{kappa}"), best[kappa], what)
        yield from falls_and_rises(best, what)
        widest = best[max(best)] / base.values(_MOST, "ls") - 1
        yield compare(claim("kappa-widest"), widest, what)
        if self.curve_runs:
            own, by_lambda = (
                {at: np.array(some) for at, some in points(self.curve_runs, reading, kind).items()}
                for kind in ("kappa", "lambda")
            )
            yield from falls_and_rises(own, f"{what}; an instance for each kappa")
            change = 1 - by_lambda[max(by_lambda)] / by_lambda[min(by_lambda)]
            yield compare(claim("lambda-falls"), change, what)
            for factor in LAMBDA_MAKESPAN:
                yield beside(claim(f"lambda-{factor}"), mean(by_lambda[factor]), what)

    def _kappas(self) -> list[int]:
        return sorted({run.kappa for run in self.kappa_runs})

    def _at(self, reading: Reading, kappa: int, column: str = "best_s") -> list[float]:
        """Return a column of the runs with one kappa, by seed."""
        mine = (r for r in self.kappa_runs if (r.reading, r.kappa) == (reading.name, kappa))
        return [getattr(run, column) for run in sorted(mine, key=lambda run: run.seed)]

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        found = [Summary(self.runs, reading.name) for reading in MAIN]
        tables = [
            self._calibration(),
            _by_policy(found),
            verdicts(self.comparisons()),
            self._by_kappa(),
            _by_servers(found),
        ]
        if self.curve_runs:
            by_lambda = [points(self.curve_runs, reading, "lambda") for reading in MAIN]
            rows = [
                (
                    factor,
                    *(mean(one[factor]) if factor in one else None for one in by_lambda),
                    value,
                )
                for factor, value in LAMBDA_MAKESPAN.items()
            ]
            tables.append(TEXTS.table("lambda", rows))
        if {run.reading for run in self.runs} > {reading.name for reading in MAIN}:
            tables.append(_readings(self.runs))
        if self.gap_runs:
            tables.append(_gap_table(self.gap_runs))
        if self.anchors:
            tables.append(_anchor_table(self.anchors))
        return tables

    def data(self) -> dict[str, Any]:
        """All readings and runs."""
        known = {reading.name: reading for reading in (*MAIN, *VARIANTS)}
        told = ("gradient_bytes", "runs", "kappa_runs", "curve_runs", "gap_runs", "anchors")
        return {
            "readings": [known[name] for name in dict.fromkeys(run.reading for run in self.runs)],
            **{key: getattr(self, key) for key in told},
        }

    def figures(self) -> dict[str, Any]:
        """Figures 4 to 7, by the paper's rules and by ours."""
        by = {reading.name: Summary(self.runs, reading.name) for reading in MAIN}
        note = f"{by[BASE.name].num_seeds} instances, mean and 95 % interval"
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
        figure_6 = []
        for how, one in by.items():
            lines = {name: [one.makespan(name, n) for n in SERVERS] for name in POLICIES}
            figure_6.append(Panel(how, "servers", SERVERS, lines, MAKESPAN))

        def drawn(heading: str, lines: Mapping[str, Mapping[int, Any]], theirs: Any) -> Any:
            means = {name: [mean(some) for some in of.values()] for name, of in lines.items()}
            places = list(next(iter(lines.values())))
            panel = Panel("", heading, places, means, {"published": theirs})
            return curves([panel], "Makespan, s", note, x_scale={"type": "log", "base": 2})

        kinds = {"best cap": "best_s", "common cap": "common_s", "1.5 x common cap": "loose_s"}
        by_kappa = {PAPER.name: {kappa: self._at(PAPER, kappa) for kappa in self._kappas()}}
        for kind, column in kinds.items():
            by_kappa[f"ours, {kind}"] = {k: self._at(BASE, k, column) for k in self._kappas()}
        heading = "κ: widest gang that is packed, GPUs"
        shown = {
            "figure-4.png": bars(figure_4, "diamond: published", f"20 servers: {note}"),
            "figure-5.png": drawn(heading, by_kappa, KAPPA_MAKESPAN),
            "figure-6.png": curves(figure_6, "Makespan, s", note),
        }
        if self.curve_runs:
            by_lambda = {how.name: points(self.curve_runs, how, "lambda") for how in MAIN}
            heading = "λ: GPUs of the pool, per GPU asked for"
            shown["figure-7.png"] = drawn(heading, by_lambda, LAMBDA_MAKESPAN)
        return shown

    def _calibration(self) -> Table:
        """What is ours, and that the published limits hold."""
        chosen = BASE.calibration
        base = [run for run in self.runs if run.reading == BASE.name]
        worst = max(base, key=_lost)
        low, high = (value / 1e6 for value in self.gradient_bytes)
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
            says = f"execution time lost under {name}: contention + overhead"
            rows.append((says, f"{contention:.1f} + {overhead:.1f} %"))
        rows.append(("the same, worst run of all", f"{_lost(worst):.1%} ({worst.policy})"))
        rows.append(("of a single job, at most", f"{max(run.most_lost for run in base):.0%}"))
        return TEXTS.table("calibration", rows, most=MOST_LOST)

    def _by_kappa(self) -> Table:
        """Figure 5, by all points of an instance, and by an instance for each point."""
        own = {reading: points(self.curve_runs, reading, "kappa") for reading in MAIN}

        def cell(values: Sequence[float]) -> Interval | None:
            return mean(values) if values else None

        rows = []
        for kappa, value in KAPPA_MAKESPAN.items():
            cells = [
                cell(some)
                for reading in MAIN
                for some in (self._at(reading, kappa), own[reading].get(kappa, []))
            ]
            rows.append((kappa, *cells, cell(self._at(BASE, kappa, "loose_s")), value))
        notes = [self._shape(reading) for reading in MAIN]
        for reading in MAIN:
            if own[reading]:
                told = chance(own[reading])._asdict()
                notes.append(_FIGURES["chances"].format(reading=_shown(reading), **told))
        notes.append(_FIGURES["step"])
        return TEXTS.table("kappa", rows, notes=notes)

    def _shape(self, reading: Reading) -> str:
        """Tell how many curves of one instance fall and rise again."""
        curves = np.array([self._at(reading, kappa) for kappa in self._kappas()])
        least = curves.min(axis=0)
        is_u = least < np.minimum(curves[0], curves[-1])
        rise = float(np.mean(curves[-1][is_u] / least[is_u] - 1)) if is_u.any() else 0.0
        text: str = _FIGURES["shapes"]
        return text.format(
            reading=_shown(reading), num=np.count_nonzero(is_u), of=curves.shape[1], rise=100 * rise
        )


def _shown(reading: Reading) -> str:
    return "By the paper's rules [text]" if reading == PAPER else "Ours"


def _lost(run: Row) -> float:
    return float(run.lost_to_contention + run.lost_to_overhead)


def _by_policy(found: Sequence[Summary]) -> Table:
    """Figure 4."""
    rows = [
        (
            name,
            *(one.makespan(name, 20) for one in found),
            MAKESPAN[name][20],
            *(one.mean_jct(name, 20) for one in found),
            MEAN_JCT[name],
            *(figure_of(mean(one.over_bound(name, 20)), 2) for one in found),
        )
        for name in POLICIES
    ]
    return TEXTS.table("policies", rows, instances=found[0].num_seeds)


def _by_servers(found: Sequence[Summary]) -> Table:
    """Figure 6."""
    rows = [
        (
            f"{servers} servers, {name}",
            *(one.makespan(name, servers) for one in found),
            MAKESPAN[name][servers],
            *(figure_of(mean(one.over_bound(name, servers)), 2) for one in found),
        )
        for servers in SERVERS
        for name in POLICIES
    ]
    return TEXTS.table("servers", rows)


def _readings(runs: Sequence[Row]) -> Table:
    """What the open points of the paper are worth: one changed at a time."""
    present = {run.reading for run in runs}
    rows: list[Sequence[Any]] = []
    for reading in (*MAIN, *VARIANTS):
        if reading.name in present:
            base = Summary(runs, reading.name)
            makespans = [base.makespan(name, 20).value for name in POLICIES]
            below = [percent_of(base.below(20, SJF_BCO, name)) for name in BASELINES]
            rows.append((reading.name, *makespans, base.mean_jct(SJF_BCO, 20).value, *below))
    goals = [f"{100 * reduction(name, 20):.1f} %" for name in BASELINES]
    rows.append((THEIRS, *(MAKESPAN[name][20] for name in POLICIES), MEAN_JCT[SJF_BCO], *goals))
    return TEXTS.table("readings", rows)


def _gap_table(runs: list[Row]) -> Table:
    """Excess of each policy over the optimum, on the instances that were solved to the end."""
    solved = [run for run in runs if run.is_optimal]
    rows = []
    for name in POLICIES if solved else ():
        gaps = np.array([run.makespan_s[name] / run.optimum_s - 1 for run in solved])
        spread = mean(gaps)
        rows.append(
            (
                name,
                f"{100 * spread.value:.1f} ± {100 * spread.half_width:.1f} %",
                f"{100 * float(np.median(gaps)):.1f} %",
                f"{100 * max(gaps):.1f} %",
                f"{np.count_nonzero(gaps < 1e-5)} of {len(solved)}",
            )
        )
    off = max((abs(run.replayed_s - run.optimum_s) for run in solved), default=0.0)
    return TEXTS.table(
        "gap",
        rows,
        jobs=f"{_NUM_JOBS} jobs of {_WIDTHS[0]} to {_WIDTHS[-1]} GPUs",
        servers=f"{_NUM_SERVERS} servers of {' or '.join(map(str, _SMALL_SERVERS))}",
        ring=_GAP_READING.calibration.ring_share,
        solved=len(solved),
        num=len(runs),
        limit=_TIME_LIMIT_S,
        off=1e6 * off,
    )


def _anchor_table(solved: Sequence[Row]) -> Table:
    """What each model would make of the two measured times."""
    rows = [
        (
            anchor.model,
            f"{anchor.ring_share:.1%}",
            f"{anchor.degradation:.3f}" if anchor.degradation >= 0 else "none",
            *(
                "" if math.isnan(value) else f"{value:.2f} s"
                for value in (anchor.alone_s, anchor.together_s)
            ),
        )
        for anchor in solved
    ]
    facts: dict[str, Any] = {"alone": ALONE_S, "together": TOGETHER_S, "share": LARGEST_RING_SHARE}
    return TEXTS.table("anchors", rows, cluster=_CLUSTER, **facts)


reproduce = partial(run_study, SjfBco)
stages = partial(stages_of, SjfBco)
