"""Find how many servers a workload needs to reach a goal: :func:`size`."""

from __future__ import annotations

import itertools
import math
import operator
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gpusched.base.arrays import Bool, Int64, nearest_rank
from gpusched.base.defaults import GPUS_PER_SERVER, POLICY
from gpusched.base.field_checks import check_integer, check_positive
from gpusched.base.libraries import polars
from gpusched.base.progress import OnProgress
from gpusched.base.suggest import nearest
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.engine.type_speeds import restate_for_types, restate_services, say_run_times
from gpusched.model.cluster import MAX_GPUS_PER_SERVER, MAX_SERVERS, Cluster, ServerGroup
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.prediction.choose import for_trace
from gpusched.results.metric_registry import METRICS
from gpusched.results.result import Result
from gpusched.results.run_remarks import lacking, unread_types
from gpusched.results.run_window import RunWindow
from gpusched.results.shown_metrics import GROWTH
from gpusched.schedules.schedule import REJECTED, UNFINISHED
from gpusched.studies.threaded_runs import in_threads
from gpusched.studies.verdicts import pile_ups
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.resampling import num_blocks, resampled
from gpusched.traces.workload import Trace

_OPERATORS: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_UNITS: Final[dict[str, tuple[str, float, float]]] = {
    "": ("", 1, 1), "%": ("ratio", 1, 100), "s": ("s", 1, 1), "min": ("s", 60, 1),
    "h": ("s", 3_600, 1), "d": ("s", 86_400, 1),
}  # fmt: skip
"""Metrics with a unit, and the factor and divisor of a number in it."""
_GOAL: Final = re.compile(
    r"\s*(?P<metric>\w+)\s*(?P<operator>[<>]=?)\s*(?P<bound>[-+.\w]*?)\s*(?P<unit>[A-Za-z]*|%)\s*"
)


@dataclass(frozen=True)
class Goal:
    """One metric and its bound.

    Attributes
    ----------
    metric
        A key of :func:`gpusched.metrics`.
    operator
        ``<``, ``<=``, ``>`` or ``>=``.
    bound
        In the unit of the metric: seconds, or a ratio.
    """

    metric: str
    operator: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Goal:
        """Parse one goal; errors as for :meth:`Goals.parse`."""
        found, told = _GOAL.fullmatch(text), f"goal: {text.strip()!r}"
        if found is None:
            raise ValueError(f"{told} must have the form METRIC < NUMBER (or <=, >, >=)")
        try:
            metric = METRICS.find(found["metric"])
        except ValueError as error:
            raise ValueError(f"goal: {error}") from None
        if metric.unit == "text":
            raise ValueError(f"goal: {metric.key} is a text and cannot have a bound")
        try:
            kind, times, over = _UNITS[found["unit"]]
            bound = float(found["bound"])
        except (KeyError, ValueError):
            said = (found["bound"] + found["unit"]).strip()
            raise ValueError(f"{told}: {said!r} is not a number") from None
        if not math.isfinite(bound):
            raise ValueError(f"{told}: the bound must be finite")
        if kind not in ("", metric.unit):
            what = "time" if kind == "s" else "ratio"
            raise ValueError(f"{told}: {found['metric']} is not a {what}")
        return cls(metric.key, found["operator"], bound * times / over)

    def is_met(self, value: float) -> bool:
        """Whether ``value`` meets the bound; NaN (undefined) never does."""
        return not math.isnan(value) and _OPERATORS[self.operator](value, self.bound)

    def __str__(self) -> str:
        is_time = METRICS.find(self.metric).unit == "s" and self.bound >= 60
        said = f" ({duration(self.bound)})" if is_time else ""
        return f"{self.metric} {self.operator} {self.bound:g}{said}"


@dataclass(frozen=True)
class Goals:
    """Goals that must all be met.

    ``goals``: one or more.
    """

    goals: tuple[Goal, ...]

    @classmethod
    def parse(cls, text: str | Goals) -> Goals:
        """Parse goals joined by ``and``.

        A time may have a unit (``10 min``: s, min, h or d), a ratio a percent sign.

        The parsed goals; an instance is returned unchanged.
        """
        if isinstance(text, Goals):
            return text
        if not isinstance(text, str):
            raise TypeError(f"goal: expected text, not {text!r}")
        parts = re.split(r"\band\b", text, flags=re.IGNORECASE)
        return cls(tuple(Goal.parse(part) for part in parts))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, each once, in order."""
        return tuple(dict.fromkeys(goal.metric for goal in self.goals))

    def check_of_parts(self) -> None:
        """Raise ValueError if a goal is not defined for a part of a run, such as its makespan."""
        for key in self.metrics:
            if not METRICS.find(key).is_of_parts:
                raise ValueError(
                    f"goal: {key} is defined for whole runs only; omit warm_up_s and tail_s"
                )

    def are_met(self, values: Mapping[str, float]) -> bool:
        """Whether the values of the metrics meet all goals."""
        return all(goal.is_met(values[goal.metric]) for goal in self.goals)

    def __str__(self) -> str:
        return " and ".join(map(str, self.goals))


ANY_GPU = "gpu"
"""The GPU type if none is named."""


@dataclass(frozen=True)
class ServerKinds:
    """One server type per GPU type.

    ``types``: the GPU types.
    ``gpus``: GPUs of a server, per type.
    ``price``: price of a server-hour, per type; None without prices.
    ``nic_gbps``, ``intra_gbps``: as in :class:`~gpusched.model.cluster.ServerGroup`, the same for
        all.
    ``speeds``: GPU speeds, per type; empty: all are equally fast.
    """

    types: tuple[str, ...]
    gpus: tuple[int, ...]
    price: tuple[float, ...] | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None
    speeds: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        trace: Trace,
        types: Sequence[str] | None,
        gpus_per_server: int | Mapping[str, int],
        prices: float | Mapping[str, float] | None,
        price_per: str,
        speeds: Mapping[str, float] | None,
        **bandwidths: float | None,
    ) -> ServerKinds:
        """Check the arguments of :func:`gpusched.size`; errors as there."""
        from gpusched.results.cost import checked_prices

        if price_per not in ("gpu", "server"):
            raise ValueError(f"price_per: {price_per!r} must be 'gpu' or 'server'")
        named = _named_types(trace, types, prices)
        gpus = _gpus(gpus_per_server, named)
        fast = _speeds_over(trace, speeds, named)
        if prices is None:
            return cls(named, gpus, None, **bandwidths, speeds=fast)
        price = checked_prices(prices, named)
        if not all(price.values()):
            raise ValueError("prices: must be positive to find the cheapest mix")
        units = gpus if price_per == "gpu" else (1,) * len(named)
        per_server = tuple(price[kind] * count for kind, count in zip(named, units, strict=True))
        return cls(named, gpus, per_server, **bandwidths, speeds=fast)

    @property
    def weights(self) -> tuple[float, ...]:
        """What to minimise: the price of a server of each type, or without prices its GPUs."""
        return tuple(map(float, self.gpus)) if self.price is None else self.price

    def cluster(self, counts: Sequence[int]) -> Cluster:
        """Return a cluster with these numbers of servers; at least one must be positive."""
        groups = tuple(
            ServerGroup(
                count, gpus, kind, nic_gbps=self.nic_gbps, intra_gbps=self.intra_gbps, speed=speed
            )
            for count, gpus, kind, speed in zip(
                counts, self.gpus, self.types, self._speeds, strict=True
            )
            if count
        )
        return Cluster(groups)

    @property
    def _speeds(self) -> tuple[float, ...]:
        return self.speeds or (1.0,) * len(self.types)

    def allowed(self, trace: Trace) -> tuple[Bool, Int64]:
        """Return the types that each set of ``trace`` allows, bool[sets, types], and jobs' sets."""
        sets = trace.type_sets or ((),)
        rows = [[not types or kind in types for kind in self.types] for types in sets]
        none = np.zeros(len(trace), dtype=np.int64)
        return np.array(rows), none if trace.type_set is None else trace.type_set.astype(np.int64)

    def most_useful(self, trace: Trace) -> tuple[int, ...]:
        """Numbers of servers beyond which more are useless: every job finds free ones.

        The peak demand if all jobs started at once, each on servers of its own.
        """
        allowed, type_set = self.allowed(trace)
        most = MAX_SERVERS // len(self.types)
        peaks = (
            _peak(trace, may[type_set], gpus, speed)
            for may, gpus, speed in zip(allowed.T, self.gpus, self._speeds, strict=True)
        )
        return tuple(min(most, peak) for peak in peaks)


def _speeds_over(
    trace: Trace, speeds: Mapping[str, float] | None, types: tuple[str, ...]
) -> tuple[float, ...]:
    """Return the speeds of ``types`` relative to the one the trace's run times refer to."""
    if speeds is None:
        return ()
    given = {name: check_positive(f"speeds[{name!r}]", speed) for name, speed in speeds.items()}
    declared = () if trace.reference_type is None else (trace.reference_type,)
    ran_on = () if trace.ran_on is None else trace.ran_on.names
    known = tuple(filter(None, dict.fromkeys((*types, *declared, *ran_on))))
    for name, speed in given.items():
        if name not in known and speed != 1:  # a type of speed 1 is the reference
            raise ValueError(f"speeds: {name!r} is not a GPU type on offer{nearest(name, known)}")
    one = 1.0 if trace.reference_type is None else given.get(trace.reference_type, 1.0)
    return tuple(given.get(name, 1.0) / one for name in types)


def _peak(trace: Trace, may: Bool, gpus_per_server: int, speed: float) -> int:
    servers: Int64 = -(-trace.gpus[may].astype(np.int64) // gpus_per_server)
    # Jobs run longer than stated on a slow type; a fast type must not lower the peak.
    service_us = np.ceil(trace.service_us[may] / min(speed, 1.0)).astype(np.int64)
    begin_us, end_us = trace.submit_us[may], trace.submit_us[may] + service_us
    change = np.concatenate([servers, -servers])
    # Ends before starts of the same instant, as in the engine.
    order = np.lexsort((change, np.concatenate([begin_us, end_us])))
    return int(np.cumsum(change[order]).max(initial=0))


def _named_types(
    trace: Trace, types: Sequence[str] | None, prices: float | Mapping[str, float] | None
) -> tuple[str, ...]:
    if types is None and isinstance(prices, Mapping):
        return tuple(prices)
    if types is None:
        return tuple(sorted({name for names in trace.type_sets for name in names})) or (ANY_GPU,)
    if isinstance(types, str) or not all(isinstance(kind, str) for kind in types):
        raise TypeError(f"types: expected a list of names, not {types!r}")
    named = tuple(types)
    if not named or len(set(named)) < len(named):
        raise ValueError(f"types: must be one or more names, each once, not {list(named)}")
    return named


def _gpus(gpus_per_server: Any, types: tuple[str, ...]) -> tuple[int, ...]:
    given = gpus_per_server
    if not isinstance(given, Mapping):
        check_integer("gpus_per_server", given, 1, MAX_GPUS_PER_SERVER)
        return (given,) * len(types)
    for kind in {*given} ^ {*types}:
        rule = "is missing" if kind in types else "is not among the types"
        raise ValueError(f"gpus_per_server: GPU type {kind} {rule}")
    for kind in types:
        check_integer(f"gpus_per_server[{kind}]", given[kind], 1, MAX_GPUS_PER_SERVER)
    return tuple(given[kind] for kind in types)


def _on_offer(trace: Trace, kinds: ServerKinds) -> tuple[Trace, list[str]]:
    """Leave out the jobs that may use none of the types, and report how many, by type."""
    allowed, type_set = kinds.allowed(trace)
    can_run: Bool = np.asarray(allowed.any(axis=1))[type_set]
    if can_run.all():
        return trace, []
    lost = ["|".join(trace.type_sets[place]) for place in np.unique(type_set[~can_run])]
    if not can_run.any():
        raise ValueError(
            f"types: {', '.join(kinds.types)}: no job may use any of them; {trace.name} has jobs "
            f"for {', '.join(lost)}"
        )
    left = trace.filter(can_run)
    share = 1 - left.gpu_seconds / trace.gpu_seconds
    number = len(trace) - len(left)
    names = "names" if number == 1 else "name"
    return left, [
        f"{plural(number, 'job')} that {names} {', '.join(sorted(lost))}, not on offer: left out "
        f"({100 * share:.1f}% of the GPU time)"
    ]


Counts = tuple[int, ...]
_Holds = Callable[[Counts], bool]


@dataclass(frozen=True)
class SizingRun:
    """One simulation.

    ``counts``: servers of each type.
    ``values``: the metrics of the goals.
    ``num_without``: jobs that this cluster cannot run, or did not get to run; must be 0.
    ``is_met``: whether the goals are met and every job was run.
    ``wall_s``: wall time, seconds.
    """

    counts: Counts
    values: Mapping[str, float]
    num_without: int
    is_met: bool
    wall_s: float


@dataclass
class SizingRuns:
    """Cached simulations of one trace on clusters of different sizes.

    ``options``: arguments of :func:`gpusched.simulate`, except trace and cluster.
    ``window``: the part of each run that the metrics cover; None: all.
    ``runs``: the runs so far, by their counts, in order.
    """

    trace: Trace
    kinds: ServerKinds
    goals: Goals
    options: Mapping[str, Any]
    stop: threading.Event | None = None
    window: RunWindow | None = None
    runs: dict[Counts, SizingRun] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._allowed, type_set = self.kinds.allowed(self.trace)
        self._widest = np.zeros(len(self._allowed), dtype=np.int64)
        np.maximum.at(self._widest, type_set, self.trace.gpus)

    def run(self, counts: Counts) -> SizingRun:
        """Simulate, unless the result is cached."""
        if counts not in self.runs:
            if is_asked(self.stop):
                raise Cancelled(0, len(self.trace), "jobs", None)
            begun = time.perf_counter()
            values, num_without = self._simulated(counts)
            is_met = num_without == 0 and self.goals.are_met(values)
            wall_s = time.perf_counter() - begun
            self.runs[counts] = SizingRun(counts, values, num_without, is_met, wall_s)
        return self.runs[counts]

    def has_room(self, counts: Counts) -> bool:
        """Whether the largest job of each set of types fits the empty cluster; if not, skip."""
        gpus = self._allowed @ (np.asarray(counts) * np.asarray(self.kinds.gpus))
        return bool((gpus >= self._widest).all())

    def meets(self, counts: Counts, goals: Goals | None = None) -> bool:
        """Whether every job fits, and a run meets the goals, or some of them."""
        if not self.has_room(counts):
            return False
        run = self.run(counts)
        return run.is_met if goals is None else not run.num_without and goals.are_met(run.values)

    def fewest_servers(
        self, goals: Goals | None, guess: int, most: int, neighbours: int
    ) -> Counts | None:
        """Return the fewest servers of the single type that meet the goals, or some of them."""
        least = -(-int(self.trace.gpus.max()) // self.kinds.gpus[0])
        most = max(least, most)
        guess = min(max(guess, least), most)
        found = fewest(lambda count: self.meets((count,), goals), least, guess, most, neighbours)
        return None if found is None else (found,)

    def result(self, counts: Counts) -> Result:
        """Simulate, and return the full result."""
        return simulate(self.trace, self.kinds.cluster(counts), stop=self.stop, **self.options)

    def _simulated(self, counts: Counts) -> tuple[dict[str, float], int]:
        """Return the metrics of the goals, NaN if the window has no job, and the jobs not run."""
        result, window = self.result(counts), self.window
        if window is not None and not window.counted(self.trace).any():
            values = dict.fromkeys(self.goals.metrics, math.nan)
        else:
            cuts = {} if window is None else window.cuts
            values = {key: float(result.metric(key, **cuts)) for key in self.goals.metrics}
        return values, _num_without(result)


def _num_without(result: Result) -> int:
    """Jobs that the cluster rejected, or that never finished without an admission decision."""
    schedule = result.schedule
    status = np.asarray(schedule.status)
    refused = (status == REJECTED) & (np.asarray(schedule.reason) > 0)
    num_without = int(np.count_nonzero(refused))
    if len(schedule.decisions()["job"]) == 0:
        num_without += int(np.count_nonzero(status >= UNFINISHED))
    return num_without


NEIGHBOURS: Final = 3
"""Number of neighbours of an answer, on either side, that are also tried."""


def fewest(
    holds: Callable[[int], bool],
    least: int,
    guess: int,
    most: int,
    neighbours: int = NEIGHBOURS,
    step: int = 1,
) -> int | None:
    """Find the smallest number in ``least..most`` for which ``holds``: bracket, bisect, refine.

    None if it holds neither for ``most`` nor for any number tried on the way.

    ``holds``: called for some numbers, possibly repeatedly, so it should cache. If it is not
        monotone, the answer is the smallest number seen to hold with none of the ``neighbours``
        numbers below it holding.
    ``guess``: where to start, in that range.
    ``neighbours``: number of neighbours of the answer tried on either side; those above only fill
        the cache.
    ``step``: first distance from ``guess``; each next one is twice as large.
    """
    if holds(guess):
        low, high = least - 1, guess
        while high > least:
            at = max(least, high - step)
            if not holds(at):
                low = at
                break
            high, step = at, step * 2
    else:
        low, high = guess, most + 1
        while high > most:
            if low == most:
                return None
            at = min(most, low + step)
            if holds(at):
                high = at
            else:
                low, step = at, step * 2
    while high - low > 1:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle
    found = high
    below = found - 1
    while below >= max(least, found - 1 - neighbours):
        if holds(below):
            found = below
        below -= 1
    for above in range(found + 1, min(most, found + neighbours) + 1):
        holds(above)
    return found


LEAST_BLOCKS: Final = 2
"""With fewer blocks there is nothing to resample."""
FEW_BLOCKS: Final = 8
"""With fewer blocks an interval is rough."""
PART: Final = "resamples"


@dataclass(frozen=True, eq=False)
class SizeConfidence:
    """The servers needed by bootstrap resamples of the trace.

    Attributes
    ----------
    block_s, num_blocks
        Length of a block, seconds, and number of blocks in the trace.
    meets
        Whether the answer meets the goals, bool[resamples].
    The fewest servers that meet them, int64[resamples], -1 if no number does; empty for a mix
    of several types.
    """

    block_s: float
    num_blocks: int
    meets: Bool
    servers: Int64

    @property
    def share(self) -> float:
        """The share of resamples in which the answer meets the goals."""
        return float(np.mean(self.meets))

    @property
    def interval(self) -> tuple[int, int] | None:
        """The 5th and 95th percentile of the servers needed; None if unknown."""
        if not len(self.servers) or (self.servers < 0).any():
            return None
        ordered = np.sort(self.servers)
        return int(nearest_rank(ordered, 5)), int(nearest_rank(ordered, 95))

    def notes(self) -> list[str]:
        """Return the confidence of the answer, one string per sentence."""
        notes = [
            f"sufficient in {self.share:.0%} of {len(self.meets):,} bootstrap resamples "
            f"({self.num_blocks} blocks of {duration(self.block_s)})"
        ]
        if self.interval is not None:
            low, high = self.interval
            notes.append(f"resamples need {low:,} to {high:,} servers (5th to 95th percentile)")
        if self.num_blocks < FEW_BLOCKS:
            few = f"{self.num_blocks} blocks are few"
            notes.append(f"{few}: that range is rough, and probably too narrow")
        return notes

    def share_with(self, servers: int) -> float:
        """The share of resamples for which so many servers suffice; NaN for a mix."""
        if not len(self.servers):
            return np.nan
        return float(np.mean((self.servers >= 0) & (self.servers <= servers)))


def size_confidence(
    runs: SizingRuns, counts: Counts, resamples: int, block_s: float, **how: Any
) -> SizeConfidence | None:
    """Repeat the question for ``resamples`` traces; None if the trace has too few blocks.

    A resample depends only on the seed and its number, not on the number of threads.
    """
    block_us = round(block_s * US_PER_S)
    number = num_blocks(runs.trace, block_us)
    if number < LEAST_BLOCKS or resamples == 0:
        return None

    def ask(index: int) -> tuple[bool, int]:
        rng = np.random.default_rng([runs.options["seed"], index])
        trace = resampled(runs.trace, block_us, rng)
        own = replace(runs, trace=trace, stop=None, runs={})
        meets = own.meets(counts)
        if len(counts) > 1:
            return meets, -1
        found = own.fewest_servers(None, counts[0], own.kinds.most_useful(trace)[0], neighbours=0)
        return meets, -1 if found is None else found[0]

    asked = {f"resample {index}": partial(ask, index) for index in range(resamples)}
    found = in_threads(asked, stop=runs.stop, unit=PART, part=PART, **how)
    meets, servers = zip(*found.values(), strict=True)
    return SizeConfidence(
        block_s,
        number,
        np.array(meets, dtype=np.bool_),
        np.array(() if len(counts) > 1 else servers, dtype=np.int64),
    )


# With more types, not every subset of them is thinned out.
_FEW_KINDS: Final = 4
# Sums of prices are rounded: a tiny difference counts as equal.
_TOLERANCE: Final = 1e-9


class Mix(NamedTuple):
    """The cheapest mix found.

    ``counts``: servers of each type.
    ``is_proven``: whether every cheaper mix is contained in a mix of the same types that failed: if
        more servers of the same types never hurt, no cheaper mix is an answer.
    """

    counts: Counts
    is_proven: bool


def cheapest_mix(
    holds: _Holds, prices: Sequence[float], most: Counts, max_asked: int
) -> Mix | None:
    """Find the cheapest counts for which ``holds``, up to ``most`` of each type.

    For each set of types, the largest mix is thinned out, one type after another by bisection.
    Then the maximal mixes cheaper than the best one are tried: if ``holds`` fails for all of them,
    it fails for every cheaper mix, as each of those is contained in one of them. One for which it
    holds is thinned out in turn, and the search continues below its price. No step adds a new type
    to a mix: a few large servers may keep multi-GPU jobs away from many small ones.

    None if it holds neither for ``most`` nor for all servers of fewer types.

    ``prices``: price of one server of each type; positive.
    ``max_asked``: after so many calls the best mix so far is returned, without a proof.
    """
    answers: dict[Counts, bool] = {}

    def asked(counts: Counts) -> bool:
        if counts not in answers:
            answers[counts] = holds(counts)
        return answers[counts]

    def is_below_a_failure(counts: Counts) -> bool:
        """Whether it failed for at least as many of each of the same types."""
        return any(
            not held
            and all(
                few <= many and (few > 0) == (many > 0)
                for few, many in zip(counts, other, strict=True)
            )
            for other, held in answers.items()
        )

    price = _price(prices)
    supports = list(_supports(most))
    best: Counts | None = None
    for support in supports:
        full = tuple(most[kind] if kind in support else 0 for kind in range(len(most)))
        if asked(full):
            best = min([*filter(None, [best]), *_thinned(asked, full, support, prices)], key=price)
    while best is not None:
        better = None
        for counts in _cheaper(prices, most, supports, price(best)):
            if is_below_a_failure(counts):
                continue
            if len(answers) >= max_asked:
                return Mix(best, is_proven=False)
            if asked(counts):
                better = counts
                break
        if better is None:
            return Mix(best, is_proven=True)
        support = tuple(kind for kind, count in enumerate(better) if count)
        best = min(_thinned(asked, better, support, prices), key=price)
    return None


def _price(prices: Sequence[float]) -> Callable[[Counts], float]:
    return lambda counts: math.fsum(
        price * count for price, count in zip(prices, counts, strict=True)
    )


def _supports(most: Counts) -> Iterator[Counts]:
    """Sets of types: the single ones, all, and if there are few types the others."""
    kinds = [kind for kind, count in enumerate(most) if count]
    sizes = range(1, len(kinds) + 1) if len(kinds) <= _FEW_KINDS else (1, len(kinds))
    for size in sizes:
        yield from itertools.combinations(kinds, size)


def _thinned(
    asked: _Holds, counts: Counts, support: Counts, prices: Sequence[float]
) -> Iterator[Counts]:
    """Remove as many of each type as possible, the most expensive first, or the cheapest."""
    dearest = tuple(sorted(support, key=lambda kind: -prices[kind]))
    for order in dict.fromkeys((dearest, dearest[::-1])):
        left = counts
        for kind in order:

            def with_count(count: int, left: Counts = left, kind: int = kind) -> bool:
                return asked((*left[:kind], count, *left[kind + 1 :]))

            # Halves first: the way down from a large number is long.
            guess = left[kind]
            while guess > 1 and with_count(guess // 2):
                guess //= 2
            found = fewest(with_count, 1, guess, left[kind], neighbours=0)
            assert found is not None, "it holds for the current count"
            left = (*left[:kind], found, *left[kind + 1 :])
        yield left


def _cheaper(
    prices: Sequence[float], most: Counts, supports: Sequence[Counts], price: float
) -> Iterator[Counts]:
    """Every mix cheaper than ``price`` to which no server of its types can be added.

    Those in the middle come first: the best of all rarely has only one type.
    """
    limit = price * (1 - _TOLERANCE)
    for support in supports:
        # The cheapest type fills up, as it has the most possible counts.
        filler = min(support, key=lambda kind: prices[kind])
        others = [kind for kind in support if kind != filler]
        ranges = [range(1, min(most[kind], int(limit / prices[kind])) + 1) for kind in others]
        for chosen in itertools.product(*map(_middle_first, ranges)):
            counts = [0] * len(prices)
            for kind, count in zip(others, chosen, strict=True):
                counts[kind] = count
            left = limit - _price(prices)(tuple(counts))
            counts[filler] = min(most[filler], int(left / prices[filler])) if left > 0 else 0
            if counts[filler] > 0:
                yield tuple(counts)


def _middle_first(numbers: range) -> Iterator[int]:
    """All numbers of a range, the middles of its halves, quarters and so on first."""
    parts = [(0, len(numbers))]
    while parts:
        begin, end = parts.pop(0)
        if begin < end:
            middle = (begin + end) // 2
            yield numbers[middle]
            parts += [(begin, middle), (middle + 1, end)]


@dataclass(frozen=True, eq=False, repr=False)
class Sizing:
    """The fewest servers that meet a goal, or the cheapest mix, from :func:`gpusched.size`.

    Attributes
    ----------
    trace, goals, policy
        The arguments.
    kinds
        The server types on offer.
    counts
        Servers of each type; None if no size was found that meets the goals.
    most
        The largest counts tried.
    runs
        All runs, in order.
    falling
        Goals that more servers do not help: they are missed even with ``most``.
    is_proven
        Whether no cheaper mix meets the goals, provided that more servers never hurt.
    result
        The run of the answer.
    nearest
        Without an answer: the run of the fewest servers, or the cheapest mix, that meet the goals
        not in ``falling``, if there is one.
    confidence
        Servers needed by bootstrap resamples; None without resamples.
    window
        The part of each run that the goals cover; None: all.
    remarks
        Jobs left out and assumptions made, one string per sentence.
    """

    trace: Trace
    goals: Goals
    policy: str
    kinds: ServerKinds
    counts: Counts | None
    most: Counts
    runs: tuple[SizingRun, ...]
    falling: tuple[Goal, ...]
    is_proven: bool
    result: Result | None
    nearest: SizingRun | None = None
    confidence: SizeConfidence | None = None
    window: RunWindow | None = None
    remarks: tuple[str, ...] = ()

    @property
    def servers(self) -> int | None:
        """Total number of servers of the answer."""
        return None if self.counts is None else sum(self.counts)

    @property
    def cluster(self) -> Cluster | None:
        """The answer as a cluster."""
        return None if self.counts is None else self.kinds.cluster(self.counts)

    @property
    def hourly_price(self) -> float | None:
        """Price per hour of the answer; None without an answer or without prices."""
        return None if self.counts is None else self._price(self.counts)

    @property
    def exceptions(self) -> tuple[SizingRun, ...]:
        """Runs that missed the goals with at least as many servers of each type as the answer.

        They show that the metric is not monotone in the servers.
        """
        if self.counts is None:
            return ()
        return tuple(
            run
            for run in self.runs
            if not run.is_met
            and all(few <= many for few, many in zip(self.counts, run.counts, strict=True))
        )

    def table(self) -> polars.DataFrame:
        """Return the runs, sorted by their number of GPUs.

        Returns
        -------
        polars.DataFrame
            ``servers``, those of each type if there are several, ``gpus``, ``hourly_price``
            if there are prices, the metrics of the goals, ``jobs_without`` GPUs, ``is_met``
            and ``wall_s``.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.table()["servers"][0]
        1
        """
        return polars.from_dicts([self._row(run) for run in self.runs]).sort("gpus", "servers")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its runs as plain values for any JSON writer.

        Returns
        -------
        dict
            Unknown values are None.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.to_dict()["servers"]
        1
        """
        confidence = self.confidence
        counts = self.counts
        return {
            "goal": str(self.goals),
            "policy": self.policy,
            **({} if self.window is None else {"window": self.window.cuts}),
            "servers": self.servers,
            "counts": None if counts is None else dict(zip(self.kinds.types, counts, strict=True)),
            "cluster": None if self.cluster is None else str(self.cluster),
            "hourly_price": self.hourly_price,
            "is_proven": self.is_proven,
            "runs": self.table().fill_nan(None).to_dicts(),
            "confidence": None
            if confidence is None
            else {
                "resamples": len(confidence.meets),
                "block_s": confidence.block_s,
                "num_blocks": confidence.num_blocks,
                "share": confidence.share,
                "interval": confidence.interval and list(confidence.interval),
            },
            "notes": self.notes(),
        }

    def __str__(self) -> str:
        if self.cluster is None:
            return f"no size found for {self.goals} under {self.policy}"
        price = self.hourly_price
        cost = "" if price is None else f", {price:,.2f} an hour"
        return f"you need {self.cluster}{cost} for {self.goals} under {self.policy}"

    __repr__ = __str__

    def notes(self) -> list[str]:
        """Return remarks on the answer, one string per sentence.

        Returns
        -------
        list of str
            Its confidence, whether the queue grows, and where more servers did not help.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.notes()
        ['no confidence estimate: no resamples, or too short a trace']
        """
        most = self.kinds.cluster(self.most)
        notes = list(self.remarks)
        notes += [] if self.window is None else [f"metrics cover each run {self.window}"]
        notes += [f"more servers do not help {goal}: {most} miss it" for goal in self.falling]
        if self.counts is None:
            if self.nearest is not None:
                values = ", ".join(f"{key} {v:.4g}" for key, v in self.nearest.values.items())
                notes.append(
                    f"all other goals are met by {self._cluster(self.nearest)}, with {values}"
                )
            return notes
        if self.result is not None:
            cuts = {} if self.window is None else self.window.cuts
            notes += pile_ups({self.policy: float(self.result.metric(GROWTH, **cuts))})
        if len(self.counts) > 1:
            how = (
                "every cheaper mix is contained in one of the same types that missed the goal"
                if self.is_proven
                else "not proven: the maximum number of runs was reached first"
            )
            notes.append(f"cheapest in {plural(len(self.runs), 'run')}: {how}")
        if (missed := self.exceptions) and not self.falling:
            some = ", ".join(map(self._cluster, missed[:3]))
            notes.append(f"not monotone: the goal was also missed with more servers: {some}")
        if self.confidence is None:
            sure = ["no confidence estimate: no resamples, or too short a trace"]
        else:
            sure = self.confidence.notes()
        return notes + sure

    def _cluster(self, run: SizingRun) -> str:
        return str(self.kinds.cluster(run.counts))

    def _price(self, counts: Counts) -> float | None:
        price = self.kinds.price
        if price is None:
            return None
        return sum(one * count for one, count in zip(price, counts, strict=True))

    def _row(self, run: SizingRun) -> dict[str, Any]:
        kinds, row = self.kinds, {"servers": sum(run.counts)}
        if len(run.counts) > 1 or kinds.types != (ANY_GPU,):
            row |= dict(zip(kinds.types, run.counts, strict=True))
        row["gpus"] = sum(n * g for n, g in zip(run.counts, kinds.gpus, strict=True))
        priced = {} if kinds.price is None else {"hourly_price": self._price(run.counts)}
        return {
            **row,
            **priced,
            **run.values,
            "jobs_without": run.num_without,
            "is_met": run.is_met,
            "wall_s": run.wall_s,
        }


MAX_RUNS: Final = 400
"""Number of runs after which the search for the cheapest mix stops without a proof."""
RESAMPLES: Final = 40
WEEK_S: Final = 7 * 86_400.0
# Where the search for the fewest servers starts.
_GUESSED_LOAD: Final = 0.7


def size(
    trace: Trace,
    goal: str | Goals,
    *,
    policy: str | Policy = POLICY,
    types: Sequence[str] | None = None,
    prices: float | Mapping[str, float] | None = None,
    price_per: str = "gpu",
    gpus_per_server: int | Mapping[str, int] = GPUS_PER_SERVER,
    speeds: Mapping[str, float] | None = None,
    nic_gbps: float | None = None,
    intra_gbps: float | None = None,
    placement: str | PlacementChoice = "consolidated",
    predictor: str = "auto",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    max_servers: int | None = None,
    max_runs: int = MAX_RUNS,
    resamples: int = RESAMPLES,
    block_s: float = WEEK_S,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Sizing:
    """Find the fewest servers, or the cheapest mix, with which a trace meets a goal.

    The fewest servers of one type are found by bisection, and their neighbours are run, too: more
    servers do not always help, and the answer reports where they did not. The cheapest mix of
    several types is exact if more servers of the same types never hurt, unless the search reached
    ``max_runs``; the answer reports that. Resampling whole weeks of the trace estimates how certain
    the answer is.

    Parameters
    ----------
    goal
        Such as ``"p95_wait_s < 600"``: metrics of :func:`gpusched.metrics` with ``<``, ``<=``,
        ``>`` or ``>=`` and a number, joined by ``and``. In addition, every job must be run.
    types
        GPU types on offer; default: those of ``prices``, else those that jobs name, else one
        without a name. Jobs that may use none of them are left out with a remark.
    prices
        Price per hour, one for all types or one per type; positive. With several types and no
        prices, the fewest GPUs are found.
    price_per
        What the prices are per: ``"gpu"`` or ``"server"``.
    gpus_per_server
        GPUs per server, one number for all types or one per type.
    speeds
        Speed of each GPU type relative to the one that the trace's run times refer to (which has 1
        or is its ``reference_type``, and need not be on offer); missing types have 1. Without them
        all types count as equally fast, with a remark.
    nic_gbps, intra_gbps
        Bandwidths of all servers, Gbit/s.
    policy, placement, predictor, speed, contention, seed
        As for :func:`gpusched.simulate`; the policy by name or as a :class:`gpusched.Policy`.
    warm_up_s, tail_s
        Measure the goal on a part of each run, as :meth:`gpusched.Result.summary` does. Jobs
        outside it must be run, too.
    max_servers
        Of each type; default: the peak demand, as if no job ever waited.
    max_runs
        Number of runs after which the search for the cheapest mix stops without a proof.
    resamples, block_s
        Number of bootstrap resamples, and the block length, seconds. 0 turns them off.
    threads
        Number of parallel resamples; None: one per CPU.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` of the resamples.
    stop
        Stops the call when it is set.

    Returns
    -------
    Sizing
        The answer, the runs that led to it, and its confidence.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid, or no job may use any of the types; the message names it.
    Cancelled
        If ``stop`` was set, within a second.

    Examples
    --------
    >>> jobs = gs.generate("philly", 300, load=0.9, cluster=gs.Cluster.uniform(4))
    >>> found = gs.size(jobs, "p95_wait_s < 10 min", policy="fifo-skip", resamples=0)
    >>> found.cluster.num_servers == found.servers
    True
    """
    goals = Goals.parse(goal)
    if not isinstance(policy, str | Policy):
        raise TypeError(f"policy: expected a name or a gpusched.Policy, not {policy!r}")
    check_integer("resamples", resamples, 0, 1_000_000)
    check_integer("max_runs", max_runs, 1, 1_000_000)
    if threads is not None:
        check_integer("threads", threads, 1, 1_024)
    block_s = check_positive("block_s", block_s, 1.0, 1e10)
    kinds = ServerKinds.of(
        trace, types, gpus_per_server, prices, price_per, speeds, nic_gbps=nic_gbps,
        intra_gbps=intra_gbps,
    )  # fmt: skip
    trace, remarks = _on_offer(trace, kinds)
    if speeds is not None and trace.profile is None:
        if trace.reference_type is not None:  # to which the speeds are relative
            trace = replace(trace, reference_type=None, ran_on=None)
        trace = restate_for_types(trace, speeds, kinds.types)
    options: dict[str, Any] = {
        "policy": str(Policy.parse(policy)) if isinstance(policy, str) else policy,
        "placement": placement,
        "predictor": predictor,
        "speed": speed,
        "contention": contention,
        "seed": seed,
    }
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    if window is not None:
        goals.check_of_parts()
    runs = SizingRuns(trace, kinds, goals, options, stop, window)
    found = _searched(runs, _most(runs, max_servers), max_runs)
    of_each = kinds.cluster((1,) * len(kinds.types))
    run_on, paces, _ = restate_services(trace, of_each, speed, contention)
    remarks += say_run_times(trace, of_each) if run_on is not trace else []
    remarks += unread_types(run_on, of_each, str(paces))
    remarks += lacking(trace, str(options["policy"]), str(for_trace(predictor, trace)))
    found = replace(found, remarks=tuple(remarks))
    if found.counts is None:
        return found
    sure = size_confidence(
        runs, found.counts, resamples, block_s, threads=threads, progress=progress
    )
    return replace(found, confidence=sure)


def _most(runs: SizingRuns, max_servers: int | None) -> Counts:
    """Return the largest counts to try; ValueError if they cannot hold every job."""
    limit = MAX_SERVERS // len(runs.kinds.types)
    if max_servers is not None:
        check_integer("max_servers", max_servers, 1, limit)
        most: Counts = (max_servers,) * len(runs.kinds.types)
    else:
        most = runs.kinds.most_useful(runs.trace)
    if not runs.has_room(most):
        many = " + ".join(f"{n:,} x {kind}" for n, kind in zip(most, runs.kinds.types, strict=True))
        what = "types" if max_servers is None else "max_servers"
        sets = {"|".join(types) or "any type" for types in runs.trace.type_sets} or {"any type"}
        raise ValueError(
            f"{what}: {many} servers cannot fit the largest job of every set of allowed "
            f"types; {runs.trace.name} has jobs for {', '.join(sorted(sets))}"
        )
    return most


def _searched(runs: SizingRuns, most: Counts, max_runs: int) -> Sizing:
    """Search by the goals that more servers help, then check the rest.

    Goals missed with the most servers, such as a minimum utilisation, do not guide the search:
    more servers cannot meet them, so the fewest for the others are the best candidate.
    """
    roomy = runs.run(most)
    rising = Goals(tuple(g for g in runs.goals.goals if g.is_met(roomy.values[g.metric])))
    falling = tuple(goal for goal in runs.goals.goals if goal not in rising.goals)

    counts: Counts | None
    is_proven = True
    if not rising.goals and runs.goals.goals:
        counts = None
    elif len(most) == 1:
        guess = smallest_cluster(runs.trace, runs.kinds.gpus[0], _GUESSED_LOAD).num_servers
        counts = runs.fewest_servers(rising, guess, most[0], NEIGHBOURS)
    else:
        holds = partial(runs.meets, goals=rising)
        mix = cheapest_mix(holds, runs.kinds.weights, most, max_runs)
        counts, is_proven = (None, False) if mix is None else mix
        if counts is not None:
            _look_around(counts, most, holds)
    nearest = None if counts is None else runs.run(counts)
    if nearest is not None and not nearest.is_met:
        counts = None
    return Sizing(
        trace=runs.trace,
        goals=runs.goals,
        policy=str(runs.options["policy"]),
        window=runs.window,
        kinds=runs.kinds,
        counts=counts,
        most=most,
        runs=tuple(runs.runs.values()),
        falling=falling,
        is_proven=is_proven,
        result=None if counts is None else runs.result(counts),
        nearest=nearest if counts is None else None,
    )


def _look_around(counts: Counts, most: Counts, holds: _Holds) -> None:
    """Run the neighbours of a mix, with one server more or less of a type, for the table."""
    for kind, count in enumerate(counts):
        for other in (count - 1, count + 1):
            if 0 <= other <= most[kind]:
                neighbour = (*counts[:kind], other, *counts[kind + 1 :])
                if any(neighbour):
                    holds(neighbour)
