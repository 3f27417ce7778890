"""Synthetic workloads, calibrated to published clusters.

Run times, numbers of GPUs and outcomes marked *published* are aggregates of GPU jobs in the summary
that comes with the Acme trace (Hu et al., NSDI 2024, CC-BY-4.0). Those marked *counted* were
counted in the public trace files. The rest (shape of the tail, users, queues, recurrence) is this
generator's choice, in the order of the papers' figures; it affects none of the targets.

Work per job uses only + - x / and sorting, so one seed gives one workload on every machine;
``exp``, ``log`` and ``erf`` shape only small tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Float64, Int32, Int64, UInt32, read_only
from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD, NUM_SERVERS
from gpusched.base.labels import Labels
from gpusched.base.memory import check_fits
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us, us_to_seconds
from gpusched.base.wording import plural
from gpusched.model.cluster import Cluster
from gpusched.traces.checked_columns import check_horizon
from gpusched.traces.workload import Trace


def stable_order(values: Float64) -> UInt32:
    """Return ``np.argsort(values, kind="stable")``, computed faster.

    Parameters
    ----------
    values
        Numbers of 0 or more: their bit patterns, read as integers, have the same order.

    Examples
    --------
    >>> stable_order(np.array([0.5, 0.25, 0.5])).tolist()
    [1, 0, 2]
    """
    return _core.time_order((values + 0.0).view(np.int64))  # turns -0.0 into 0.0


DAY_S: Final = 86_400.0


@dataclass(frozen=True)
class Profile:
    """Parameters of a cluster's workload.

    ``source``: where the targets come from.
    ``mean_s``, ``median_s``: targets for the run time in seconds.
    ``mean_gpus``: target for the mean number of whole GPUs.
    ``widths``: relative frequency of each number of GPUs; tilted by a power of it to meet
        ``mean_gpus``.
    ``statuses``: share of each outcome; the rest is ``"unknown"``. Empty: none is published.
    ``floor_s``, ``cap_s``: minimum and maximum run time, seconds.
    ``tail_share``, ``body_sigma``, ``tail_sigma``: run times above the floor are a mixture of two
        lognormals: the share of the second, and the standard deviations of their logarithms. Their
        medians are solved for.
    ``num_users``, ``num_queues``: users follow a Zipf distribution; each user submits to one queue.
    ``jobs_per_group``: mean number of runs of a recurring job.
    """

    source: str
    mean_s: float
    median_s: float
    mean_gpus: float
    widths: Mapping[int, float]
    statuses: Mapping[str, float]
    floor_s: float
    cap_s: float
    tail_share: float
    body_sigma: float
    tail_sigma: float
    num_users: int
    num_queues: int
    jobs_per_group: float = 20.0


PROFILES: Final[Mapping[str, Profile]] = {
    "philly": Profile(
        source="Microsoft Philly, 112,956 GPU jobs: published; widths and cap: counted",
        mean_s=18_006,
        median_s=874,
        mean_gpus=1.93,
        widths={
            1: 0.93297, 2: 0.02189, 4: 0.0226, 8: 0.01913, 12: 0.00009, 16: 0.00234, 24: 0.00009,
            32: 0.00075, 64: 0.00008, 128: 0.00004,
        },
        statuses={"ok": 0.604, "killed": 0.090, "failed": 0.305},
        floor_s=1,
        cap_s=2_750_674,
        tail_share=0.12,
        body_sigma=1.7,
        tail_sigma=1.4,
        num_users=319,
        num_queues=15,
    ),
    "helios": Profile(
        source="SenseTime Helios, 1,580,464 GPU jobs: published",
        mean_s=6_652,
        median_s=206,
        mean_gpus=3.72,
        widths={
            1: 0.60, 2: 0.08, 4: 0.10, 8: 0.16, 16: 0.03, 32: 0.02, 64: 0.008, 128: 0.0015,
            256: 0.0004, 512: 0.00008, 1024: 0.000015, 2048: 0.000005,
        },
        statuses={"ok": 0.624, "killed": 0.221, "failed": 0.155},
        floor_s=1,
        cap_s=50 * DAY_S,
        tail_share=0.15,
        body_sigma=1.8,
        tail_sigma=1.5,
        num_users=1_000,
        num_queues=100,
    ),
    "itp": Profile(
        source="Microsoft ITP, 16,669 jobs of six clusters: counted",
        mean_s=19_426.084,
        median_s=7_667,
        mean_gpus=3.08441,
        widths={
            1: 0.73262, 2: 0.0183, 4: 0.03036, 8: 0.19755, 16: 0.01182, 32: 0.00546, 64: 0.0039,
        },
        statuses={},
        floor_s=600,
        cap_s=1_114_383,
        tail_share=0.2,
        body_sigma=1.3,
        tail_sigma=1.3,
        num_users=200,
        num_queues=6,
    ),
    "acme": Profile(
        source="Shanghai AI Laboratory Acme, cluster Seren, 663,813 GPU jobs: published",
        mean_s=1_414,
        median_s=122,
        mean_gpus=5.68,
        widths={
            1: 0.55, 2: 0.09, 4: 0.09, 8: 0.22, 16: 0.025, 32: 0.012, 64: 0.006, 128: 0.002,
            256: 0.0006, 512: 0.0002, 1024: 0.00002,
        },
        statuses={"ok": 0.497, "killed": 0.075, "failed": 0.429},
        floor_s=1,
        cap_s=30 * DAY_S,
        tail_share=0.12,
        body_sigma=1.3,
        tail_sigma=1.6,
        num_users=150,
        num_queues=10,
    ),
    "pai": Profile(
        # Published is a mean of 0.68 GPUs, shares of a GPU included. In whole GPUs the same
        # numbers give 1.13 if the jobs of up to one GPU (95%) hold 0.526 of it on average:
        # 0.95 x 0.526 + 0.03 x 2 + 0.01 x 4 + 0.01 x 8 = 0.68.
        source="Alibaba PAI, 1,037,085 GPU jobs: published; shares rounded up to whole GPUs",
        mean_s=4_787,
        median_s=481,
        mean_gpus=1.13,
        widths={1: 0.95, 2: 0.03, 4: 0.01, 8: 0.01},
        statuses={},
        floor_s=1,
        cap_s=30 * DAY_S,
        tail_share=0.12,
        body_sigma=1.5,
        tail_sigma=1.4,
        num_users=1_300,
        num_queues=20,
        jobs_per_group=50.0,
    ),
}  # fmt: skip

# Relative arrival rates (our choice): quiet nights, busy days, about half at weekends.
HOURS: Final = (
    0.6, 0.5, 0.45, 0.4, 0.4, 0.45, 0.55, 0.7, 0.9, 1.2, 1.4, 1.5,
    1.3, 1.3, 1.5, 1.55, 1.5, 1.45, 1.3, 1.2, 1.2, 1.15, 1.0, 0.8,
)  # fmt: skip
WEEKDAYS: Final = (1.15, 1.15, 1.15, 1.15, 1.1, 0.7, 0.6)


_NUM_KNOTS: Final = 8_192
_BISECTIONS: Final = 100


def run_time_table(profile: Profile) -> tuple[Float64, Float64]:
    """Return knots (probability, seconds) of the run-time distribution, both ascending.

    Above the floor it is a mixture of two lognormals, cut at the cap. Their medians solve two
    equations: the mixture's median, and its mean.
    """
    median = profile.median_s - profile.floor_s
    mean = profile.mean_s - profile.floor_s
    cap = profile.cap_s - profile.floor_s
    share, sigmas = profile.tail_share, (profile.body_sigma, profile.tail_sigma)

    def below(x: float, body_mu: float, tail_mu: float) -> float:
        body = _normal_cdf((math.log(x) - body_mu) / sigmas[0])
        tail = _normal_cdf((math.log(x) - tail_mu) / sigmas[1])
        return (1 - share) * body + share * tail

    def body_of(tail_mu: float) -> float:
        # The larger the body's median, the less of the mixture lies below a point.
        return _bisect(lambda mu: 0.5 - below(median, mu, tail_mu), math.log(median) - 9, 25.0)

    def mean_of(tail_mu: float) -> float:
        body = _capped_mean(body_of(tail_mu), sigmas[0], cap)
        return (1 - share) * body + share * _capped_mean(tail_mu, sigmas[1], cap)

    tail_mu = _bisect(lambda mu: mean_of(mu) - mean, math.log(median), math.log(cap))
    body_mu = body_of(tail_mu)
    seconds = np.exp(np.linspace(min(body_mu - 6 * sigmas[0], 0.0), math.log(cap), _NUM_KNOTS))
    seconds[-1] = cap
    probability = np.array([below(x, body_mu, tail_mu) for x in seconds.tolist()])
    probability[0] = 0.0
    # The mass beyond the cap lies on the cap.
    return np.append(probability, 1.0), np.append(seconds, cap) + profile.floor_s


def width_shares(profile: Profile) -> Float64:
    """Return the share of jobs with each number of GPUs of a profile, in ascending order.

    Frequencies are tilted by the power of the number of GPUs that gives the profile's mean.
    """
    widths = _widths(profile)
    base = np.array([profile.widths[width] for width in widths.tolist()])

    def shares(power: float) -> Float64:
        tilted = base * widths**power
        return np.asarray(tilted / tilted.sum(), dtype=np.float64)

    return shares(_bisect(lambda p: float(shares(p) @ widths) - profile.mean_gpus, -4.0, 4.0))


def width_counts(
    profile: Profile, shares: Float64, num_jobs: int, widest: int
) -> tuple[Int32, Int64]:
    """Return numbers of GPUs (at most ``widest``) and of jobs, which sum to ``num_jobs``.

    ``shares``: from :func:`width_shares`; numbers of jobs are rounded by largest remainders.
    """
    wanted = shares * num_jobs
    counts = np.floor(wanted).astype(np.int64)
    largest = np.argsort(counts - wanted, kind="stable")[: num_jobs - int(counts.sum())]
    counts[largest] += 1
    return np.minimum(_widths(profile), widest).astype(np.int32), counts


def _widths(profile: Profile) -> Int32:
    return np.array(sorted(profile.widths), dtype=np.int32)


def arrivals(uniform: Float64, span_us: int) -> Int64:
    """Map ``uniform`` numbers to sorted arrival ticks in 0..``span_us``, both ends included.

    The rate follows the hour of the day and the day of the week, from a Monday at 0 h.
    """
    rates = np.outer(WEEKDAYS, HOURS).ravel()
    expected = np.append(0.0, np.cumsum(rates))  # jobs up to each full hour of the week
    hours = np.arange(len(expected), dtype=np.float64)
    per_week = float(expected[-1])
    span_h = span_us / 3.6e9
    weeks, rest = divmod(span_h, len(rates))
    total = weeks * per_week + float(interpolate(hours, expected, np.array([rest]))[0])
    position = np.sort(uniform) * total
    week = np.floor(position / per_week)
    hour = week * len(rates) + interpolate(expected, hours, position - week * per_week)
    if len(hour) == 1:
        return np.zeros(1, dtype=np.int64)
    scale = span_us / (float(hour[-1]) - float(hour[0]))
    ticks = np.rint((hour - hour[0]) * scale).astype(np.int64)
    ticks[-1] = span_us
    return np.asarray(np.minimum(ticks, span_us), dtype=np.int64)


def interpolate(x: Float64, y: Float64, at: Float64) -> Float64:
    """Interpolate linearly between knots of ascending ``x``.

    Unlike ``np.interp`` it rounds alike on all machines: no fused multiply-add.
    """
    left = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(x) - 2)
    x_left, y_left = x[left], y[left]
    step = x[left + 1] - x_left
    slope = (y[left + 1] - y_left) / np.where(step > 0, step, 1.0)
    return np.asarray(y_left + (at - x_left) * slope, dtype=np.float64)


def zipf(uniform: Float64, num_names: int, exponent: float = 1.0) -> Int64:
    """Map ``uniform`` numbers to 0..num_names-1, the k-th with weight 1 / (k+1)^exponent."""
    cumulative = _zipf_weights(num_names, exponent)
    index = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    return np.asarray(np.minimum(index, num_names - 1), dtype=np.int64)


@lru_cache(maxsize=64)
def _zipf_weights(num_names: int, exponent: float) -> Float64:
    return read_only(np.cumsum([(k + 1) ** -exponent for k in range(num_names)]))


def pick(uniform: Float64, shares: Sequence[float]) -> Int32:
    """Map ``uniform`` numbers to the index of a share; the last share takes the rest."""
    bounds = np.cumsum(shares)[:-1]
    return np.asarray(np.searchsorted(bounds, uniform, side="right"), dtype=np.int32)


def _capped_mean(mu: float, sigma: float, cap: float) -> float:
    """Return the mean of min(X, cap), X lognormal."""
    z = (math.log(cap) - mu) / sigma
    inside = math.exp(mu + sigma * sigma / 2) * _normal_cdf(z - sigma)
    return inside + cap * (1 - _normal_cdf(z))


def _normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _bisect(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of an increasing function between ``low`` and ``high``."""
    if rising(low) > 0 or rising(high) < 0:
        raise ValueError("the profile's targets cannot be met with its shape")
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return (low + high) / 2


DEFAULT_CLUSTER: Final = Cluster.uniform(NUM_SERVERS, GPUS_PER_SERVER)
# Weights of group, number of GPUs and job in the order of run times (only ratios matter).
_GROUP_SHARE: Final = 0.75
_WIDTH_SHARE: Final = 0.15
_OWN_SHARE: Final = 0.25
# Runs of a group lie around one date. Model 1: within this part of the whole span.
_GROUP_SPREAD: Final = 0.1
# Model 2: within this time, unless they would keep more than this part of the cluster busy.
_GROUP_SPREAD_S: Final = 2 * DAY_S
_HEAVY_GROUP: Final = 0.0025
RESTART_S: Final = 60
"""Restart overhead of a job in model 2, seconds."""
_MAX_JOBS: Final = 2**31 - 1
_LEAST_BYTES: Final = 110  # per job, while run times are drawn


def generate(
    name: str,
    jobs: int,
    load: float = MAX_LOAD,
    cluster: Cluster | None = None,
    seed: int = 0,
    *,
    model: int = 2,
) -> Trace:
    """Generate a workload with the aggregates of a real cluster.

    Mean and median run time, and mean number of GPUs before large jobs are narrowed, match the
    named profile at every size: run times are drawn stratified, one from each of ``jobs`` equally
    likely parts of their distribution, and the number of jobs of each size is fixed. Arrivals
    follow day and week. Jobs belong to recurring groups (one user, equal numbers of GPUs, similar
    run times, runs around one date); group sizes are heavy-tailed, users follow a Zipf
    distribution, larger jobs run somewhat longer. Run times are whole seconds.

    The load is steady: the runs of a group lie within about two days of its date, but anywhere if
    the group would keep more than 1/400 of the cluster busy in these four days. So a longer trace
    has no larger bursts.

    A job that resumes after a preemption pays 60 s (column ``restart_s``), our choice: without
    overhead, preemptive policies would look better than they are.

    Parameters
    ----------
    name
        ``"philly"``, ``"helios"``, ``"itp"`` (six clusters together), ``"acme"`` (its cluster
        Seren) or ``"pai"`` (GPU shares rounded up to whole GPUs: 1.13 on average); targets and
        sources are in :data:`gpusched.traces.generating.synthetic_traces.PROFILES`.
    jobs
        Number of jobs.
    load
        Offered load: sum of gpus x run time over (GPUs of ``cluster`` x time from first to last
        arrival); met exactly, by the length of that time. A single job has no load.
    cluster
        The cluster that the load refers to; default: 64 servers of 8 GPUs. Jobs with more GPUs than
        a quarter of its largest servers together, and than one of these servers, are narrowed to
        that (``notes`` has their number), so no job has to wait for the whole cluster.
    seed
        A whole number, 0 or more. One seed gives one workload on every machine.
    model
        2, or 1 for the workloads of earlier versions: runs of a group lie within a tenth of the
        whole trace, so bursts grow with its length and means do not converge; jobs are narrowed
        only to all of the largest servers together; and a restart costs nothing.

    Returns
    -------
    Trace
        Jobs in order of submission; equal arguments give equal jobs.

    Warns
    -----
    RunWarning
        If they need more than half of the memory.

    Raises
    ------
    TypeError
        If ``jobs`` or ``seed`` is not an integer.
    ValueError
        If the name is unknown (the nearest is suggested) or a number is out of range.
    MemoryError
        If so many jobs cannot fit into memory; raised before drawing.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=8, gpus=8)
    >>> trace = gs.generate("philly", 1_000, load=0.8, cluster=cluster, seed=7)
    >>> round(trace.offered_load(cluster.num_gpus), 2)
    0.8
    """
    if name not in PROFILES:
        raise ValueError(f"generate: unknown workload {name!r}{nearest(name, list(PROFILES))}")
    _check_integer("jobs", jobs, 1, _MAX_JOBS)
    _check_integer("seed", seed, 0, None)
    _check_integer("model", model, 1, 2)
    if isinstance(load, bool) or not isinstance(load, int | float):
        raise TypeError(f"load: {load!r} must be a number")
    if not (math.isfinite(load) and load > 0):
        raise ValueError(f"load: {load!r} must be finite and positive")
    what = f"generating {jobs:,} jobs needs"
    remedy = "generate fewer jobs, or free some memory"
    warn(check_fits(jobs * _LEAST_BYTES, what, remedy), stacklevel=2)
    cluster = DEFAULT_CLUSTER if cluster is None else cluster
    profile = PROFILES[name]
    # Name the generator: NumPy may change `default_rng`.
    random = np.random.Generator(np.random.PCG64(seed))

    widest, named = _widest(cluster, model)
    widths, counts = width_counts(profile, _shares(name), jobs, widest)
    width_index = np.repeat(np.arange(len(widths)), counts)
    num_groups, group = _groups(random.random(jobs), width_index, counts, profile.jobs_per_group)
    if model == 1:
        order = _order_of_arrival(random, num_groups, group, _GROUP_SPREAD)
        width_index, group = width_index[order], group[order]
    gpus = widths[width_index]
    service_s = _run_times(random, name, num_groups, group, width_index / len(widths))

    work_s = gpus * service_s
    span_us = float(np.sum(work_s)) * US_PER_S / (load * cluster.num_gpus)
    if jobs == 1:
        span_us = 0.0
    elif not 1 <= span_us <= MAX_SUBMIT_US:
        raise ValueError(f"load: {load!r} would need all arrivals within {span_us / US_PER_S:g} s")
    if model == 2:
        is_heavy = (
            np.bincount(group, work_s) > _HEAVY_GROUP * cluster.num_gpus * 2 * _GROUP_SPREAD_S
        )
        spread = _GROUP_SPREAD_S / max(_GROUP_SPREAD_S, span_us / US_PER_S)
        order = _order_of_arrival(random, num_groups, group, np.where(is_heavy, 1.0, spread)[group])
        gpus, service_s, group = gpus[order], service_s[order], group[order]
    submit_us = arrivals(random.random(jobs), round(span_us))

    group_user = zipf(random.random(num_groups), profile.num_users)
    user_queue = zipf(random.random(profile.num_users), profile.num_queues)
    user = group_user[group]
    narrowed = int(counts[_widths(profile) > widest].sum())
    jobs_were = f"{plural(narrowed, 'job')} wider than {named} {'was' if narrowed == 1 else 'were'}"
    note = f"{jobs_were} narrowed to {plural(widest, 'GPU')}"
    # Drawn columns need no checks of user input.
    submit_us, service_us = seconds_to_us(us_to_seconds(submit_us)), seconds_to_us(service_s)
    check_horizon(name, submit_us, service_us)
    return Trace(
        submit_us=read_only(submit_us),
        service_us=read_only(service_us),
        gpus=read_only(gpus),
        row=read_only(np.arange(jobs)),
        id=read_only(np.arange(jobs)),
        user=_labels(user, _names("user", profile.num_users)),
        queue=_labels(user_queue[user], _names("queue", profile.num_queues)),
        group=_labels(group, _names("group", num_groups)),
        status=_statuses(random.random(jobs), profile.statuses),
        name=name,
        source=f"generate({name!r}, jobs={jobs}, load={load:g}, cluster={cluster}, seed={seed}, "
        f"model={model})",
        notes=(note,) if narrowed else (),
        restart_us=None if model == 1 else read_only(np.full(jobs, RESTART_S * US_PER_S)),
    )


def _widest(cluster: Cluster, model: int) -> tuple[int, str]:
    """Return the maximum number of GPUs of a job, and its description.

    In model 1 the most that every placement can hold on the empty cluster; in model 2 a quarter of
    it, or a server.
    """
    largest = max(group.gpus for group in cluster.servers)
    every = sum(group.count * group.gpus for group in cluster.servers if group.gpus == largest)
    named = "the cluster" if every == cluster.num_gpus else "its largest servers"
    if model == 1:
        return every, named
    return (every // 4, f"a quarter of {named}") if every >= 4 * largest else (largest, "a server")


def _groups(
    uniform: Float64, width_index: Int64, counts: Int64, jobs_per_group: float
) -> tuple[int, Int64]:
    """Return the number of groups and each job's group; sizes are equal within a group."""
    num_groups = np.ceil(counts / jobs_per_group).astype(np.int64)
    first_group = np.cumsum(num_groups) - num_groups
    # A power of a uniform number: few large groups, many small ones.
    skewed = uniform * uniform * np.sqrt(uniform)
    rank = np.floor(skewed * num_groups[width_index]).astype(np.int64)
    return int(num_groups.sum()), first_group[width_index] + rank


def _order_of_arrival(
    random: np.random.Generator, num_groups: int, group: Int64, spread: float | Float64
) -> UInt32:
    """Return an order of arrival in which the runs of one group lie around one date.

    ``spread``: maximum distance from the date, as a part of the whole span; at 1, anywhere.
    """
    date = random.random(num_groups)
    # The difference of two uniform numbers: triangular around the date, wrapped at the ends.
    offset = (random.random(len(group)) - random.random(len(group))) * spread
    return stable_order(np.mod(date[group] + offset, 1.0))


@cache
def _shares(name: str) -> Float64:
    return width_shares(PROFILES[name])


@cache
def _run_time_table(name: str) -> tuple[Float64, Float64]:
    return run_time_table(PROFILES[name])


def _run_times(
    random: np.random.Generator,
    name: str,
    num_groups: int,
    group: Int64,
    width_score: Float64,
) -> Int64:
    """Return whole seconds: stratified quantiles, assigned in the order of a score."""
    score = (
        _GROUP_SHARE * random.random(num_groups)[group]
        + _WIDTH_SHARE * width_score
        + _OWN_SHARE * random.random(len(group))
    )
    strata = (np.arange(len(group)) + random.random(len(group))) / len(group)
    service_s = np.empty(len(group), dtype=np.int64)
    quantiles = interpolate(*_run_time_table(name), strata)
    service_s[stable_order(score)] = np.rint(quantiles).astype(np.int64)
    return np.maximum(service_s, 1)


def _statuses(uniform: Float64, shares: Mapping[str, float]) -> Labels | None:
    if not shares:
        return None
    return _labels(pick(uniform, [*shares.values(), 0.0]), (*shares, "unknown"))


def _labels(codes: Int32 | Int64, names: tuple[str, ...]) -> Labels:
    return Labels(read_only(codes.astype(np.int32, copy=False)), names)


# Traces of one size share their names.
@lru_cache(maxsize=8)
def _names(kind: str, count: int) -> tuple[str, ...]:
    digits = len(str(count))
    return tuple(f"{kind}{number:0{digits}d}" for number in range(1, count + 1))


def _check_integer(name: str, value: object, minimum: int, maximum: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: {value!r} must be an integer")
    if value < minimum or (maximum is not None and value > maximum):
        above = f" and at most {maximum:,}" if maximum is not None else ""
        raise ValueError(f"{name}: {value} must be at least {minimum}{above}")
