"""How many servers a workload needs to reach a goal: :func:`size`."""

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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpusched.base.arrays import Bool, Int64, nearest_rank
from gpusched.base.defaults import GPUS_PER_SERVER, POLICY
from gpusched.base.field_checks import check_integer, check_positive
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
from gpusched.results.run_remarks import lacking, unread_types
from gpusched.results.run_window import RunWindow
from gpusched.results.shown_metrics import GROWTH
from gpusched.schedules.schedule import REJECTED, UNFINISHED
from gpusched.studies.threaded_runs import in_threads
from gpusched.studies.verdicts import pile_ups
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.resampling import num_blocks, resampled

if TYPE_CHECKING:
    import polars

    from gpusched.results.result import Result
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
"""Which metrics have a unit, and what a number of it is multiplied and divided by."""
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
        """Read one goal; errors as for :meth:`Goals.parse`."""
        found, told = _GOAL.fullmatch(text), f"goal: {text.strip()!r}"
        if found is None:
            raise ValueError(f"{told} is not of the form METRIC < NUMBER (or <=, >, >=)")
        try:
            metric = METRICS.find(found["metric"])
        except ValueError as error:
            raise ValueError(f"goal: {error}") from None
        if metric.unit == "text":
            raise ValueError(f"goal: {metric.key} is a text, and has no bound")
        try:
            kind, times, over = _UNITS[found["unit"]]
            bound = float(found["bound"])
        except (KeyError, ValueError):
            said = (found["bound"] + found["unit"]).strip()
            raise ValueError(f"{told}: {said!r} is no number") from None
        if not math.isfinite(bound):
            raise ValueError(f"{told}: the bound must be finite")
        if kind not in ("", metric.unit):
            what = "time" if kind == "s" else "ratio"
            raise ValueError(f"{told}: {found['metric']} is no {what}")
        return cls(metric.key, found["operator"], bound * times / over)

    def is_met(self, value: float) -> bool:
        """Whether ``value`` meets the bound; NaN, which is undefined, never does."""
        return not math.isnan(value) and _OPERATORS[self.operator](value, self.bound)

    def __str__(self) -> str:
        is_time = METRICS.find(self.metric).unit == "s" and self.bound >= 60
        said = f" ({duration(self.bound)})" if is_time else ""
        return f"{self.metric} {self.operator} {self.bound:g}{said}"


@dataclass(frozen=True)
class Goals:
    """Goals that shall all be met.

    Attributes
    ----------
    goals
        One or more.
    """

    goals: tuple[Goal, ...]

    @classmethod
    def parse(cls, text: str | Goals) -> Goals:
        """Read goals that are joined by ``and``.

        A time may have a unit (``10 min``: s, min, h or d), a ratio a percent sign.

        Returns
        -------
        Goals
            What was read; goals that were read before are returned as they are.

        Raises
        ------
        ValueError
            If a metric is unknown (the nearest is suggested) or a text, or the rest is no
            comparison with a number in a unit of the metric.
        TypeError
            If it is not text.
        """
        if isinstance(text, Goals):
            return text
        if not isinstance(text, str):
            raise TypeError(f"goal: expected text, not {text!r}")
        parts = re.split(r"\band\b", text, flags=re.IGNORECASE)
        return cls(tuple(Goal.parse(part) for part in parts))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, each once, in their order."""
        return tuple(dict.fromkeys(goal.metric for goal in self.goals))

    def check_of_parts(self) -> None:
        """Raise ValueError if a goal means nothing of a part of a run, such as its makespan."""
        for key in self.metrics:
            if not METRICS.find(key).is_of_parts:
                raise ValueError(
                    f"goal: {key} is of whole runs, and has no value after a warm-up or before "
                    "a tail"
                )

    def are_met(self, values: Mapping[str, float]) -> bool:
        """Whether the values of the metrics meet all goals."""
        return all(goal.is_met(values[goal.metric]) for goal in self.goals)

    def __str__(self) -> str:
        return " and ".join(map(str, self.goals))


ANY_GPU = "gpu"
"""The type of GPUs where none is named."""


@dataclass(frozen=True)
class ServerKinds:
    """One kind of server for each GPU type.

    Attributes
    ----------
    types
        The GPU types.
    gpus
        GPUs of a server of each.
    price
        Of an hour of such a server; None where no prices were given.
    nic_gbps, intra_gbps
        As in :class:`~gpusched.model.cluster.ServerGroup`, of all.
    speeds
        Of the GPUs of each; empty: all are equally fast.
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
        """Check what :func:`gpusched.size` was given; errors as there."""
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
            raise ValueError("prices: must be more than 0 to look for the cheapest")
        units = gpus if price_per == "gpu" else (1,) * len(named)
        per_server = tuple(price[kind] * count for kind, count in zip(named, units, strict=True))
        return cls(named, gpus, per_server, **bandwidths, speeds=fast)

    @property
    def weights(self) -> tuple[float, ...]:
        """What is to be least: the price of a server of each, or without prices its GPUs."""
        return tuple(map(float, self.gpus)) if self.price is None else self.price

    def cluster(self, counts: Sequence[int]) -> Cluster:
        """Return so many servers of each; there must be one at least."""
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
        """Return which types each set of ``trace`` allows, bool[sets, types], and jobs' sets."""
        sets = trace.type_sets or ((),)
        rows = [[not types or kind in types for kind in self.types] for types in sets]
        none = np.zeros(len(trace), dtype=np.int64)
        return np.array(rows), none if trace.type_set is None else trace.type_set.astype(np.int64)

    def most_useful(self, trace: Trace) -> tuple[int, ...]:
        """Servers of each beyond which no more can be of use: every job finds some to itself.

        The most at one time if all jobs ran at once, each on servers of its own.
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
    """Return the speeds of ``types`` over the one on which the trace's run times are stated."""
    if speeds is None:
        return ()
    given = {name: check_positive(f"speeds[{name!r}]", speed) for name, speed in speeds.items()}
    declared = () if trace.reference_type is None else (trace.reference_type,)
    ran_on = () if trace.ran_on is None else trace.ran_on.names
    known = tuple(filter(None, dict.fromkeys((*types, *declared, *ran_on))))
    for name, speed in given.items():
        if name not in known and speed != 1:  # a type of speed 1 is the reference
            raise ValueError(f"speeds: no GPUs on offer are {name!r}{nearest(name, known)}")
    one = 1.0 if trace.reference_type is None else given.get(trace.reference_type, 1.0)
    return tuple(given.get(name, 1.0) / one for name in types)


def _peak(trace: Trace, may: Bool, gpus_per_server: int, speed: float) -> int:
    servers: Int64 = -(-trace.gpus[may].astype(np.int64) // gpus_per_server)
    # On a slow type longer than stated; on a fast one no job may hold more at one time.
    service_us = np.ceil(trace.service_us[may] / min(speed, 1.0)).astype(np.int64)
    begin_us, end_us = trace.submit_us[may], trace.submit_us[may] + service_us
    change = np.concatenate([servers, -servers])
    # Ends before beginnings of the same instant, as in the engine.
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
        rule = "has none" if kind in types else "is not among the types"
        raise ValueError(f"gpus_per_server: GPU type {kind} {rule}")
    for kind in types:
        check_integer(f"gpus_per_server[{kind}]", given[kind], 1, MAX_GPUS_PER_SERVER)
    return tuple(given[kind] for kind in types)


def _on_offer(trace: Trace, kinds: ServerKinds) -> tuple[Trace, list[str]]:
    """Leave out the jobs that may use none of the types, and say how many that are, by types.

    Raises
    ------
    ValueError
        If no job is left.
    """
    allowed, type_set = kinds.allowed(trace)
    can_run: Bool = np.asarray(allowed.any(axis=1))[type_set]
    if can_run.all():
        return trace, []
    lost = ["|".join(trace.type_sets[place]) for place in np.unique(type_set[~can_run])]
    if not can_run.any():
        raise ValueError(
            f"types: {', '.join(kinds.types)}: no job may use one of them; {trace.name} has jobs "
            f"for {', '.join(lost)}"
        )
    left = trace.filter(can_run)
    share = 1 - left.gpu_seconds / trace.gpu_seconds
    number = len(trace) - len(left)
    names = "names" if number == 1 else "name"
    return left, [
        f"{plural(number, 'job')} that {names} {', '.join(sorted(lost))}, not on offer: left out, "
        f"{100 * share:.1f}% of the GPU time"
    ]


Counts = tuple[int, ...]
_Holds = Callable[[Counts], bool]


@dataclass(frozen=True)
class SizingRun:
    """One simulation.

    Attributes
    ----------
    counts
        Servers of each kind.
    values
        The metrics of the goals.
    num_without
        Jobs that this cluster cannot run, or did not get to run: there must be none.
    is_met
        Whether the goals are met, and every job was run.
    wall_s
        Time that it took, seconds.
    """

    counts: Counts
    values: Mapping[str, float]
    num_without: int
    is_met: bool
    wall_s: float


@dataclass
class SizingRuns:
    """Runs of one trace on clusters of other sizes, each made once.

    Attributes
    ----------
    options
        Of :func:`gpusched.simulate`, but for trace and cluster.
    window
        The part of each run that the metrics are of; None: all of it.
    runs
        Those so far, by their counts, in their order.
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
        """Simulate, unless that was done before."""
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
        """Whether the widest job of each set of types has GPUs for itself: if not, no run shows."""
        gpus = self._allowed @ (np.asarray(counts) * np.asarray(self.kinds.gpus))
        return bool((gpus >= self._widest).all())

    def meets(self, counts: Counts, goals: Goals | None = None) -> bool:
        """Whether there is room for every job, and a run meets the goals, or some of them."""
        if not self.has_room(counts):
            return False
        run = self.run(counts)
        return run.is_met if goals is None else not run.num_without and goals.are_met(run.values)

    def fewest_servers(
        self, goals: Goals | None, guess: int, most: int, neighbours: int
    ) -> Counts | None:
        """Return the fewest servers of the one kind that meet the goals, or some of them."""
        least = -(-int(self.trace.gpus.max()) // self.kinds.gpus[0])
        most = max(least, most)
        guess = min(max(guess, least), most)
        found = fewest(lambda count: self.meets((count,), goals), least, guess, most, neighbours)
        return None if found is None else (found,)

    def result(self, counts: Counts) -> Result:
        """Simulate, and return all of it."""
        return simulate(self.trace, self.kinds.cluster(counts), stop=self.stop, **self.options)

    def _simulated(self, counts: Counts) -> tuple[dict[str, float], int]:
        """Return the metrics of the goals, NaN if the window has no job, and the jobs without."""
        result, window = self.result(counts), self.window
        if window is not None and not window.counted(self.trace).any():
            values = dict.fromkeys(self.goals.metrics, math.nan)
        else:
            cuts = {} if window is None else window.cuts
            values = {key: float(result.metric(key, **cuts)) for key in self.goals.metrics}
        return values, _num_without(result)


def _num_without(result: Result) -> int:
    """Jobs that the cluster refused, or left waiting though the policy had promised nothing."""
    schedule = result.schedule
    status = np.asarray(schedule.status)
    refused = (status == REJECTED) & (np.asarray(schedule.reason) > 0)
    num_without = int(np.count_nonzero(refused))
    if len(schedule.decisions()["job"]) == 0:
        num_without += int(np.count_nonzero(status >= UNFINISHED))
    return num_without


NEIGHBOURS: Final = 3
"""How many numbers on either side of an answer are looked at."""


def fewest(
    holds: Callable[[int], bool],
    least: int,
    guess: int,
    most: int,
    neighbours: int = NEIGHBOURS,
    step: int = 1,
) -> int | None:
    """Find the least number in ``least..most`` for which ``holds``: bracket, bisect, look around.

    Parameters
    ----------
    holds
        Asked for some numbers, and for none twice if it keeps its answers. Where it is not
        monotone, the answer is the least number that was seen to hold with none of the
        ``neighbours`` numbers below it holding.
    guess
        Where to begin, in that range.
    neighbours
        Of the answer, asked for on either side; above only so that ``holds`` has seen them.
    step
        The first one away from ``guess``; each is twice the one before.

    Returns
    -------
    int or None
        None if it does not hold for ``most``, nor for the numbers asked for on the way to it.
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
"""With fewer there is nothing to draw from."""
FEW_BLOCKS: Final = 8
"""Below so many an interval is a rough one."""
PART: Final = "resamples"


@dataclass(frozen=True, eq=False)
class SizeConfidence:
    """What traces need that the same weeks could have made.

    Attributes
    ----------
    block_s, num_blocks
        Length of a block, seconds, and how many the trace has.
    meets
        Whether the answer meets the goals, bool[resamples].
    servers
        The fewest servers that meet them, int64[resamples], -1 where no number does; empty for
        a mix of several types.
    """

    block_s: float
    num_blocks: int
    meets: Bool
    servers: Int64

    @property
    def share(self) -> float:
        """The share of resamples whose goals the answer meets."""
        return float(np.mean(self.meets))

    @property
    def interval(self) -> tuple[int, int] | None:
        """The 5th and the 95th percentile of the servers needed; None if that is not known."""
        if not len(self.servers) or (self.servers < 0).any():
            return None
        ordered = np.sort(self.servers)
        return int(nearest_rank(ordered, 5)), int(nearest_rank(ordered, 95))

    def notes(self) -> list[str]:
        """Return how sure the answer is, a sentence each."""
        notes = [
            f"in {self.share:.0%} of {len(self.meets):,} traces of the same {self.num_blocks} "
            f"blocks of {duration(self.block_s)}, drawn again, that is enough"
        ]
        if self.interval is not None:
            low, high = self.interval
            notes.append(f"they need {low:,} to {high:,} servers (5th to 95th percentile)")
        if self.num_blocks < FEW_BLOCKS:
            few = f"{self.num_blocks} blocks are few"
            notes.append(f"{few}: that range is rough, and likely too narrow")
        return notes

    def share_with(self, servers: int) -> float:
        """The share of resamples for which so many servers are enough; NaN for a mix."""
        if not len(self.servers):
            return np.nan
        return float(np.mean((self.servers >= 0) & (self.servers <= servers)))


def size_confidence(
    runs: SizingRuns, counts: Counts, resamples: int, block_s: float, **how: Any
) -> SizeConfidence | None:
    """Ask again of ``resamples`` traces; None if the trace has too few blocks to draw from.

    A resample depends on the seed and its number only, and so not on the number of threads.
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


# Of more kinds, not every set of them is thinned out.
_FEW_KINDS: Final = 4
# Sums of prices are rounded: what is cheaper by less is as dear.
_TOLERANCE: Final = 1e-9


class Mix(NamedTuple):
    """The cheapest mix that was found.

    Attributes
    ----------
    counts
        Of each kind.
    is_proven
        Whether every cheaper mix lies below one of the same kinds for which it does not hold: if
        it holds for more of its kinds wherever it holds for less, none of them is an answer.
    """

    counts: Counts
    is_proven: bool


def cheapest_mix(
    holds: _Holds, prices: Sequence[float], most: Counts, max_asked: int
) -> Mix | None:
    """Find the counts of least price for which ``holds``, up to ``most`` of each kind.

    For each set of kinds, the largest mix of them is thinned out, one kind after another by
    bisection. Then the greatest mixes are asked for that are cheaper than the best one: if it
    holds for none of them, it holds for no cheaper mix, as each of those lies below one of them.
    One for which it does hold is thinned out in turn, and the rest is asked again below its
    price. Kinds are added to a mix in none of this: a few large servers may keep gangs from many
    small ones.

    Parameters
    ----------
    prices
        Of one of each kind, more than 0.
    max_asked
        After so many questions the best mix so far is returned, without a proof.

    Returns
    -------
    Mix or None
        None if it does not hold for ``most``, nor for all there is of fewer kinds.
    """
    answers: dict[Counts, bool] = {}

    def asked(counts: Counts) -> bool:
        if counts not in answers:
            answers[counts] = holds(counts)
        return answers[counts]

    def is_below_a_failure(counts: Counts) -> bool:
        """Whether it did not hold for as many or more of each of the same kinds."""
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
    """Sets of kinds: the single ones, all, and where there are few kinds the others."""
    kinds = [kind for kind, count in enumerate(most) if count]
    sizes = range(1, len(kinds) + 1) if len(kinds) <= _FEW_KINDS else (1, len(kinds))
    for size in sizes:
        yield from itertools.combinations(kinds, size)


def _thinned(
    asked: _Holds, counts: Counts, support: Counts, prices: Sequence[float]
) -> Iterator[Counts]:
    """Take away of each kind as many as can be spared, the dearest first, or the cheapest."""
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
            assert found is not None, "it holds for the count that it has"
            left = (*left[:kind], found, *left[kind + 1 :])
        yield left


def _cheaper(
    prices: Sequence[float], most: Counts, supports: Sequence[Counts], price: float
) -> Iterator[Counts]:
    """Every mix cheaper than ``price`` to which nothing of its kinds can be added.

    Those in the middle come first: the best of all is not often made of one kind.
    """
    limit = price * (1 - _TOLERANCE)
    for support in supports:
        # The cheapest kind fills up: there are the most counts of it.
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
    """All numbers of a range, the middles of its halves, quarters and so on before the rest."""
    parts = [(0, len(numbers))]
    while parts:
        begin, end = parts.pop(0)
        if begin < end:
            middle = (begin + end) // 2
            yield numbers[middle]
            parts += [(begin, middle), (middle + 1, end)]


@dataclass(frozen=True, eq=False, repr=False)
class Sizing:
    """The fewest servers that meet a goal, or the cheapest mix of them.

    Attributes
    ----------
    trace, goals, policy
        What was asked.
    kinds
        The servers that there are to choose from.
    counts
        Servers of each kind; None if no number of servers was found that meets the goals.
    most
        The largest counts that were looked at.
    runs
        All runs, in their order.
    falling
        Goals that more servers do not bring nearer: they are missed with ``most``.
    is_proven
        Whether no cheaper mix meets the goals, if more servers never hurt.
    result
        The run of the answer.
    nearest
        Without an answer: the run of the fewest servers, or the cheapest mix, that meet the goals
        that are not ``falling``, if there are such.
    confidence
        What the same weeks, drawn again, would have needed; None if they were not.
    window
        The part of each run that the goals are of; None: all of it.
    remarks
        Which jobs were left out, and what was taken for granted, a sentence each.
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
        """All servers of the answer."""
        return None if self.counts is None else sum(self.counts)

    @property
    def cluster(self) -> Cluster | None:
        """The answer as a cluster."""
        return None if self.counts is None else self.kinds.cluster(self.counts)

    @property
    def hourly_price(self) -> float | None:
        """What an hour of the answer costs; None without an answer or without prices."""
        return None if self.counts is None else self._price(self.counts)

    @property
    def exceptions(self) -> tuple[SizingRun, ...]:
        """Runs that missed the goals with as many servers of each kind as the answer, or more.

        That is what shows that the metric is not monotone in the servers.
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
        """Return the runs from the fewest GPUs to the most.

        Returns
        -------
        polars.DataFrame
            ``servers``, those of each type if there are several, ``gpus``, ``hourly_price``
            where there are prices, the metrics of the goals, ``jobs_without`` GPUs, ``is_met``
            and ``wall_s``.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.table()["servers"][0]
        1
        """
        import polars as pl

        return pl.from_dicts([self._row(run) for run in self.runs]).sort("gpus", "servers")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its runs as plain values that any JSON writer takes.

        Returns
        -------
        dict
            What is not known is None.

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
            return f"no number of servers was found with {self.goals} under {self.policy}"
        price = self.hourly_price
        cost = "" if price is None else f", {price:,.2f} an hour"
        return f"you need {self.cluster}{cost} for {self.goals} under {self.policy}"

    __repr__ = __str__

    def notes(self) -> list[str]:
        """Return what is to be known of the answer, a sentence each.

        Returns
        -------
        list of str
            How sure it is, whether jobs pile up, and where more servers did not help.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.notes()
        ['how sure that is was not looked at: no resamples, or too short a trace']
        """
        most = self.kinds.cluster(self.most)
        notes = list(self.remarks)
        notes += [] if self.window is None else [f"metrics: of the runs {self.window}"]
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
                "every cheaper one lies below a mix of the same types that missed the goal"
                if self.is_proven
                else "not proven: the most runs were made before every cheaper mix was ruled out"
            )
            notes.append(f"cheapest of {plural(len(self.runs), 'run')}: {how}")
        if (missed := self.exceptions) and not self.falling:
            some = ", ".join(map(self._cluster, missed[:3]))
            notes.append(f"not monotone: the goal was missed with more servers, too: {some}")
        if self.confidence is None:
            sure = ["how sure that is was not looked at: no resamples, or too short a trace"]
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
"""Runs after which the search for the cheapest mix ends without a proof."""
RESAMPLES: Final = 40
WEEK_S: Final = 7 * 86_400.0
# Where the search for the fewest servers begins.
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
    """Find the fewest servers, or the cheapest mix of types, with which ``trace`` meets a goal.

    The fewest servers of one type are found by bisection, and their neighbours are run, too: more
    servers do not always help, and the answer says where they did not. The cheapest mix of several
    types is exact if more servers of the same types never hurt: every cheaper mix lies below one
    that was run and failed; where that took too many runs, the answer says so. How sure the answer
    is shows in traces that are made of the same weeks, drawn again with replacement.

    Parameters
    ----------
    goal
        Such as ``"p95_wait_s < 600"``: any metrics of :func:`gpusched.metrics` with ``<``, ``<=``,
        ``>`` or ``>=`` and a number, joined by ``and``. Every job must be run, too.
    types
        GPU types that servers may have; default: those of ``prices``, or else those that jobs name,
        or one without a name. Jobs that may use none of them are left out, which is said.
    prices
        Of an hour, for all types or each; more than 0. Without prices, of several types the fewest
        GPUs are sought.
    price_per
        Of what an hour is priced: ``"gpu"`` or ``"server"``.
    gpus_per_server
        GPUs of each server, for all types or each.
    speeds
        How many times as fast a GPU of each type is as that on which the run times of the trace are
        stated (which has 1 or is its ``reference_type``, and need not be on offer); types that are
        left out have 1. Without them all types count as equally fast, which is said.
    nic_gbps, intra_gbps
        Bandwidths of all servers, Gbit/s.
    policy, placement, predictor, speed, contention, seed
        As for :func:`gpusched.simulate`; the policy by its name or as a :class:`gpusched.Policy`.
    warm_up_s, tail_s
        Measure a part of each run, as :meth:`gpusched.Result.summary` does: the goal is of it.
        Every job must be run all the same.
    max_servers
        Of each type; default: as many as would be busy at once if no job ever waited.
    max_runs
        After so many runs the search for the cheapest mix ends without a proof.
    resamples, block_s
        How many traces of weeks drawn again, and the length of a "week", seconds. 0 draws none.
    threads
        Resamples at a time; None takes one per CPU.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` of the resamples.
    stop
        Ends the call when it is set.

    Returns
    -------
    Sizing
        The answer, the runs that led to it, and how sure it is.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong, or no job may use one of the types; the message names it.
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
        if trace.reference_type is not None:  # which the speeds of kinds are over
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
    """Return the largest counts that are looked at; ValueError if they hold not every job."""
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
            f"{what}: {many} servers have no room for the widest job of every set of allowed "
            f"types; {runs.trace.name} has jobs for {', '.join(sorted(sets))}"
        )
    return most


def _searched(runs: SizingRuns, most: Counts, max_runs: int) -> Sizing:
    """Search by the goals that more servers bring nearer, then look at the rest.

    Goals that are missed with the most servers, such as a least utilisation, do not guide the
    search: more servers cannot meet them, so that the fewest for the others are all there is.
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
    """Run the mixes with one server more or less of a kind, so that the table has them."""
    for kind, count in enumerate(counts):
        for other in (count - 1, count + 1):
            if 0 <= other <= most[kind]:
                neighbour = (*counts[:kind], other, *counts[kind + 1 :])
                if any(neighbour):
                    holds(neighbour)
