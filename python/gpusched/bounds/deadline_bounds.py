"""Upper bounds on the deadlines that any schedule can meet: the certificate of a deadline policy.

They come from a linear program over GPU types and time. Time is divided into cells, the leaves of
a binary tree. A job's window is covered by a partly used cell at either end and the fewest nodes
in between; the time of a job within a node is free. Each node has one constraint per GPU type: the
use by its jobs and its children is at most its GPU time. The bound is recomputed from the dual
prices alone. Any non-negative prices give a valid bound, so solver tolerances do no harm, and
prices found for some of the jobs are valid for all.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, FrozenColumns, Int64
from gpusched.base.libraries import need
from gpusched.base.supervision import attended
from gpusched.base.ticks import US_PER_S
from gpusched.base.units import WHOLE_GPU
from gpusched.bounds.registry import DEADLINES_MET, UnsolvedError, known_bounds
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import SpeedChoice
from gpusched.specs.case import iteration_limits, job_columns, least_costs
from gpusched.traces.job_columns import NOT_GIVEN
from gpusched.traces.workload import Trace

_MEASURED: Final = "table"
_Point = tuple[float, float]
"""GPUs, and the service per second on them."""


@dataclass(frozen=True)
class Rates:
    """Rates of jobs by GPU type and number. Jobs of one kind have the same rates.

    ``type_gpus``: GPUs of each type, shape ``(types,)``; a single pool if types are
        indistinguishable.
    ``kind``: kind of each job, shape ``(jobs,)``; -1: it can never run.
    ``type``, ``gpus``, ``rate``: configurations, shape ``(kinds, most)``. The rate is service per
        second, 0 for padding. Time-sharing between them and idleness achieves the highest rate on
        any number of GPUs of one type; configurations that add nothing are omitted.
    """

    type_gpus: Int64
    kind: Int64
    type: Int64
    gpus: Float64
    rate: Float64

    def envelope(self, kind: int) -> tuple[Float64, Float64]:
        """Return GPUs of any type and the highest service per second on them, ascending."""
        used = self.rate[kind] > 0
        points = zip(self.gpus[kind][used].tolist(), self.rate[kind][used].tolist(), strict=True)
        hull = np.array([(0.0, 0.0), *concave_hull(list(points))])
        return hull[:, 0], hull[:, 1]


def rates_of(trace: Trace, cluster: Cluster, speed: SpeedChoice) -> Rates:
    """Return the highest rates of any placement.

    A job on several types counts as if each GPU were part of a job on its type only, which is
    never slower, so single-type configurations suffice.
    """
    if speed.name == _MEASURED:
        return _measured(trace, cluster, speed)
    parts = least_costs(trace, cluster, speed=speed)
    width = trace.gpus.astype(np.float64)
    if trace.share_milli is not None:
        width *= trace.share_milli / WHOLE_GPU
    if parts["time"].min() < 1 or parts["gpu_time"].min() < 1:
        points = np.stack([width * parts["gpu_time"] / parts["time"], 1 / parts["time"]], axis=1)
        kinds, kind = np.unique(points, axis=0, return_inverse=True)
        ways = [[(0, [(float(gpus), float(rate))])] for gpus, rate in kinds]
        return _gathered(ways, np.array([cluster.num_gpus]), kind.reshape(-1))
    columns = job_columns(trace, cluster, uses_estimates=False)
    masks = _masks(columns, len(trace), len(cluster.gpu_types))
    rows, kind = np.unique(np.stack([width, masks], axis=1), axis=0, return_inverse=True)
    ways = [
        [(t, [(float(gpus), 1.0)]) for t in range(len(cluster.gpu_types)) if int(mask) >> t & 1]
        for gpus, mask in rows
    ]
    return _gathered(ways, _type_gpus(cluster), kind.reshape(-1))


def concave_hull(points: list[_Point]) -> list[_Point]:
    """Return the corners of the concave hull of (0, 0) and the points, ascending."""
    hull: list[_Point] = [(0.0, 0.0)]
    for gpus, rate in sorted(points, key=lambda point: (point[0], -point[1])):
        if rate <= hull[-1][1]:
            continue
        while len(hull) > 1:
            (x, y), (before_x, before_y) = hull[-1], hull[-2]
            if (y - before_y) * (gpus - x) > (rate - y) * (x - before_x):
                break
            hull.pop()
        hull.append((gpus, rate))
    return hull[1:]


def _measured(trace: Trace, cluster: Cluster, speed: SpeedChoice) -> Rates:
    columns = job_columns(trace, cluster, uses_estimates=False, speed=speed.name)
    ideal_s = iteration_limits(trace, cluster, speed=speed)["low"]
    can_run = np.isfinite(ideal_s)
    masks = _masks(columns, len(trace), len(cluster.gpu_types))
    least, most = columns.get("min_gpus"), columns.get("max_gpus")
    nobody = np.zeros(len(trace), dtype=np.int64)
    facts = [columns["profile"], trace.gpus, masks]
    facts += [nobody if least is None else least, nobody if most is None else most]
    table = np.stack([np.asarray(fact, dtype=np.int64) for fact in facts], axis=1)
    kinds, first, kind = np.unique(table[can_run], axis=0, return_index=True, return_inverse=True)
    tables = _Tables(columns, len(cluster.gpu_types), cluster.num_gpus)
    ways = [
        tables.ways(profile, own, mask, low, high, 1 / ideal)
        for (profile, own, mask, low, high), ideal in zip(
            kinds.tolist(), ideal_s[can_run][first].tolist(), strict=True
        )
    ]
    of_job = np.full(len(trace), -1)
    of_job[can_run] = kind.reshape(-1)
    return _gathered(ways, _type_gpus(cluster), of_job)


class _Tables:
    """The columns of the speed ``table``, as the core reads them."""

    def __init__(self, columns: dict[str, Any], num_types: int, num_gpus: int) -> None:
        self.counts = columns["table_counts"]
        shape = (-1, num_types, len(self.counts))
        self.packed = columns["throughput"].reshape(shape)
        spread = columns.get("spread_throughput")
        self.best = self.packed
        if spread is not None and len(spread):
            self.best = np.maximum(self.packed, spread.reshape(shape))
        self.widest = min(int(self.counts[-1]), num_gpus)

    def ways(
        self, profile: int, own: int, mask: int, least: int, most: int, ideal: float
    ) -> list[tuple[int, list[_Point]]]:
        """Return the corners for each allowed type, with rates relative to ``ideal``."""
        widest = min(self.widest, most or self.widest)
        # Corners of the piecewise linear curve; the job's own number may be capped.
        corners = {own - 1, own, own + 1, *self.counts.tolist(), widest}
        widths = sorted({max(least, 1), *(n for n in corners if max(least, 1) <= n <= widest)})
        found = []
        for gpu_type in range(self.best.shape[1]):
            if not mask >> gpu_type & 1:
                continue
            points = []
            for width in widths:
                rate = self._at(profile, gpu_type, width) / ideal
                if rate > 0:
                    points.append((float(width), min(rate, 1.0) if width == own else rate))
            found.append((gpu_type, concave_hull(points)))
        return found

    def _at(self, profile: int, gpu_type: int, width: int) -> float:
        """Interpolate between known numbers, in the better of the tables."""
        above = int(np.searchsorted(self.counts, width))
        if above == len(self.counts):
            return 0.0
        curve = self.best[profile, gpu_type]
        if self.counts[above] == width:
            return float(curve[above])
        if above == 0 or curve[above] == 0 or curve[above - 1] == 0:
            return 0.0
        return float(np.interp(width, self.counts, curve))


def _gathered(
    ways: list[list[tuple[int, list[_Point]]]], type_gpus: AnyArray, kind: AnyArray
) -> Rates:
    """Put the configurations of all kinds into arrays."""
    flat = [[(t, gpus, rate) for t, corners in way for gpus, rate in corners] for way in ways]
    most = max((len(row) for row in flat), default=0) or 1
    table = np.zeros((len(flat), most, 3))
    for row, cells in zip(table, flat, strict=True):
        if cells:
            row[: len(cells)] = cells
    return Rates(
        np.asarray(type_gpus, dtype=np.int64),
        np.asarray(kind, dtype=np.int64),
        table[:, :, 0].astype(np.int64),
        table[:, :, 1],
        table[:, :, 2],
    )


def _type_gpus(cluster: Cluster) -> Int64:
    count = np.bincount(cluster.server_type, cluster.server_gpus, len(cluster.gpu_types))
    return count.astype(np.int64)


def _masks(columns: dict[str, Any], num_jobs: int, num_types: int) -> Int64:
    """Return a bit for each type that a job may use."""
    every = (1 << num_types) - 1
    if "type_set" not in columns:
        return np.full(num_jobs, every, dtype=np.int64)
    masks = np.array([mask & every for mask in columns["type_masks"].tolist()], dtype=np.int64)
    found: Int64 = masks[columns["type_set"]]
    return found


_BISECTIONS: Final = 48
_PARTS: Final = (1.0, 0.8, 0.6, 0.4, 0.2)
_MOST_AT_ONCE: Final = 200_000
_MOST_ITERATIONS: Final = 10_000  # of each solver; about twenty are usual


@dataclass(frozen=True)
class Windows:
    """Jobs with deadlines that each could meet alone.

    ``begin_s``, ``end_s``, ``work_s``, ``value``: window, service in it, and value; shape
        ``(jobs,)``.
    ``kind``: kind of each job in ``rates``.
    """

    begin_s: Float64
    end_s: Float64
    work_s: Float64
    value: Float64
    kind: Int64
    rates: Rates

    def __len__(self) -> int:
        return len(self.kind)

    def part(self, jobs: Any) -> Windows:
        """Return some of the jobs."""
        return Windows(
            self.begin_s[jobs], self.end_s[jobs], self.work_s[jobs], self.value[jobs],
            self.kind[jobs], self.rates,
        )  # fmt: skip


class TimeTree:
    """2^k cells of time, and the nodes above them: node v has children 2v and 2v + 1."""

    def __init__(self, border_s: Float64) -> None:
        self.border_s = border_s
        self.num_cells = len(border_s) - 1
        length = np.zeros(2 * self.num_cells)
        length[self.num_cells :] = np.diff(border_s)
        for node in range(self.num_cells - 1, 0, -1):
            length[node] = length[2 * node] + length[2 * node + 1]
        self.length_s = length

    @classmethod
    def over(cls, windows: Windows, most_cells: int) -> TimeTree:
        """Divide time so that each cell has about as many submits and deadlines."""
        times = np.unique(np.concatenate([windows.begin_s, windows.end_s]))
        cells = min(most_cells, len(times) - 1)
        border_s = times[np.rint(np.linspace(0, len(times) - 1, cells + 1)).astype(np.int64)]
        size = 1 << (cells - 1).bit_length()
        # Unused cells after the end fill up to a power of two.
        return cls(np.append(border_s, border_s[-1] + 1.0 + np.arange(size - cells)))

    def cover(self, begin_s: Float64, end_s: Float64) -> tuple[Int64, Int64, Float64]:
        """Return the nodes of each window: columns window, node and seconds in it.

        The cells reach from the first begin to the last end.
        """
        first = np.searchsorted(self.border_s, begin_s, side="right") - 1
        first = np.clip(first, 0, self.num_cells - 1)
        last = np.searchsorted(self.border_s, end_s, side="left") - 1
        last = np.clip(last, first, self.num_cells - 1)
        row = np.arange(len(begin_s))
        found = [
            (row, first + self.num_cells, np.minimum(end_s, self.border_s[first + 1]) - begin_s)
        ]
        more = last > first
        found.append((row[more], last[more] + self.num_cells, (end_s - self.border_s[last])[more]))
        left, right = first + 1 + self.num_cells, last + self.num_cells
        while (left < right).any():
            inside = left < right
            for is_taken, node in (
                (inside & (left % 2 == 1), left),
                (inside & (right % 2 == 1), right - 1),
            ):
                found.append((row[is_taken], node[is_taken], self.length_s[node[is_taken]]))
            left, right = (left + 1) // 2, right // 2
        columns = [np.concatenate(parts) for parts in zip(*found, strict=True)]
        order = np.argsort(columns[0], kind="stable")
        window, node, seconds = (column[order] for column in columns)
        return window, node, seconds


def upper_bound(windows: Windows, *, most_cells: int, most_jobs: int) -> float:
    """Return an upper bound on the value of any schedule (extra: exact).

    ``most_cells``: most cells of time; more cells give a tighter bound. Half as many with more
        jobs.
    ``most_jobs``: with more jobs, prices are computed for this many of them on a share of the GPUs.
    """
    step = -(-len(windows) // most_jobs)
    tree = TimeTree.over(windows, most_cells if step == 1 else most_cells // 2)
    some = windows.part(slice(step // 2, None, step))
    prices = find_prices(some, tree, len(some) / len(windows))
    if step == 1:
        return value_at(prices, windows, tree)
    # A sample of jobs collides by chance more often than all jobs, so lower prices may be better.
    return min(value_at(prices * part, windows, tree) for part in _PARTS)


def find_prices(windows: Windows, tree: TimeTree, part: float) -> Float64:
    """Return the price per GPU second of each type in each node, shape ``(types, nodes)``.

    ``part``: share of the GPUs for these jobs. Raises UnsolvedError after too many iterations.
    """
    need("scipy", "deadline bound", "gpusched-core[exact]")
    from scipy import optimize, sparse

    rates = windows.rates
    job, node, seconds = tree.cover(windows.begin_s, windows.end_s)
    kind = windows.kind[job]
    row, way = np.nonzero(rates.rate[kind] > 0)
    of_kind = kind[row]
    num_jobs, num_rows = len(windows), len(job)
    num_types, num_nodes = len(rates.type_gpus), len(tree.length_s)
    # Variables: share of the value; of a node's time, by configuration; of a node's GPU time.
    share = np.arange(num_jobs)
    run = num_jobs + np.arange(len(row))
    used = (num_jobs + len(row) + np.arange(num_types * num_nodes)).reshape(num_types, num_nodes)
    capacity = part * rates.type_gpus[:, None] * tree.length_s[None, :]
    progress = rates.rate[of_kind, way] * seconds[row] / windows.work_s[job[row]]
    types = rates.type[of_kind, way]
    load = rates.gpus[of_kind, way] * seconds[row] / capacity[types, node[row]]
    first_time, first_used = num_jobs, num_jobs + num_rows
    child = np.arange(2, num_nodes)
    relative = tree.length_s[child] / tree.length_s[child // 2]
    entries = [(share, share, np.ones(num_jobs)), (job[row], run, -progress)]
    entries += [(first_time + row, run, np.ones(len(run)))]
    entries += [(first_time + np.arange(num_rows), job, -np.ones(num_rows))]
    entries += [(first_used + types * num_nodes + node[row], run, load)]
    for gpu_type in range(num_types):
        begin = first_used + gpu_type * num_nodes
        entries.append((begin + child // 2, used[gpu_type, child], relative))
        entries.append((begin + np.arange(num_nodes), used[gpu_type], -np.ones(num_nodes)))
    rows, columns, values = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    shape = (first_used + num_types * num_nodes, int(used[-1, -1]) + 1)
    cost = np.zeros(shape[1])
    cost[:num_jobs] = -windows.value
    upper = np.ones(shape[1])
    upper[run] = np.inf
    matrix = sparse.csr_array((values, (rows, columns)), shape=shape)
    found = attended(
        lambda: optimize.linprog(
            cost,
            A_ub=matrix,
            b_ub=np.zeros(shape[0]),
            bounds=np.stack([np.zeros(shape[1]), upper], axis=1),
            method="highs-ipm",
            options={"maxiter": _MOST_ITERATIONS},  # not time, which depends on the machine
        )
    )
    if found.x is None:
        raise UnsolvedError(f"the linear program was not solved: {found.message}")
    dual = np.maximum(0.0, -found.ineqlin.marginals[first_used:]).reshape(num_types, num_nodes)
    prices: Float64 = dual / np.maximum(capacity, np.finfo(float).tiny)
    prices[:, 0] = 0.0
    return prices


def value_at(prices: Float64, windows: Windows, tree: TimeTree) -> float:
    """Return the dual objective: the price of all GPU time, plus the jobs' gains above their costs.

    A valid bound for any prices with a node's not below its parent's, which is enforced here.
    """
    own = np.zeros_like(prices)
    prices = prices.copy()
    own[:, 1] = prices[:, 1]
    for node in range(2, prices.shape[1]):
        above = prices[:, node // 2]
        prices[:, node] = np.maximum(prices[:, node], above)
        own[:, node] = prices[:, node] - above
    all_gpus = float((own @ tree.length_s) @ windows.rates.type_gpus)
    step = max(1, _MOST_AT_ONCE // max(1, int(windows.rates.rate.shape[1]) * 12))
    gain = 0.0
    for begin in range(0, len(windows), step):
        some = windows.part(slice(begin, begin + step))
        gain += float(np.maximum(0.0, some.value - _least_costs(prices, some, tree)).sum())
    return all_gpus + gain


def _least_costs(prices: Float64, windows: Windows, tree: TimeTree) -> Float64:
    """Return a lower bound on each job's cost, by the best price of its progress."""
    rates = windows.rates
    job, node, seconds = tree.cover(windows.begin_s, windows.end_s)
    kind = windows.kind[job]
    rate = rates.rate[kind]
    price = np.where(rate > 0, rates.gpus[kind] * prices[rates.type[kind], node[:, None]], 0.0)
    first = np.searchsorted(job, np.arange(len(windows)))
    dearest = np.max(price / np.where(rate > 0, rate, np.inf), axis=1)
    low = np.zeros(len(windows))
    high = 1e3 * np.maximum.reduceat(dearest, first)
    rows = np.arange(len(job))
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        profit = middle[job, None] * rate - price
        best = np.argmax(profit, axis=1)
        runs = profit[rows, best] > 0
        done = np.add.reduceat(np.where(runs, rate[rows, best] * seconds, 0.0), first)
        enough = done >= windows.work_s
        high, low = np.where(enough, middle, high), np.where(enough, low, middle)
    costs = [
        at * windows.work_s
        - np.add.reduceat(
            np.maximum(0.0, (at[job, None] * rate - price).max(axis=1)) * seconds, first
        )
        for at in (low, high)
    ]
    least: Float64 = np.maximum(*costs)
    return least


def pooled_bound(windows: Windows, most_cells: int) -> float:
    """Return an upper bound on the value of any schedule with all types as one, without SciPy.

    Each job needs at least its least GPU time. The feasible GPU times form a polymatroid, so the
    greedy algorithm by value per GPU time is optimal (Edmonds, 1970).
    """
    demand = least_gpu_time(windows)
    times = np.unique(np.concatenate([windows.begin_s, windows.end_s]))
    cells = min(most_cells, len(times) - 1)
    border = times[np.rint(np.linspace(0, len(times) - 1, cells + 1)).astype(np.int64)]
    first = np.searchsorted(border, windows.begin_s, side="right") - 1
    last = np.searchsorted(border, windows.end_s, side="left")
    # room[a, b]: GPU seconds left between boundaries a and b for jobs with windows inside.
    gpus = float(windows.rates.type_gpus.sum())
    room = np.where(border[None, :] > border[:, None], gpus * (border - border[:, None]), np.inf)
    density: AnyArray = windows.value / demand
    total = 0.0
    for job in np.argsort(-density, kind="stable").tolist():
        around = room[: first[job] + 1, last[job] :]
        fits = min(float(demand[job]), max(0.0, float(around.min())))
        if fits > 0:
            around -= fits
            total += fits * float(density[job])
    return total


def least_gpu_time(windows: Windows) -> Float64:
    """Return the fewest GPU seconds, of any types, with which each job meets its deadline."""
    demand = np.empty(len(windows))
    needed = windows.work_s / (windows.end_s - windows.begin_s)
    for kind in np.unique(windows.kind).tolist():
        jobs = windows.kind == kind
        gpus, rate = windows.rates.envelope(kind)
        wide = np.interp(needed[jobs], rate, gpus)
        demand[jobs] = wide * (windows.end_s - windows.begin_s)[jobs]
    return demand


# With more jobs, a summary has the first bound only.
_MOST_JOBS: Final = 100_000
# Exceeds the roundings to microseconds at each change of GPUs.
_ROUNDING: Final = 1e-9
_ROUNDING_S: Final = 2e-5


@dataclass(frozen=True)
class DeadlineJobs:
    """The jobs that could meet their deadlines alone.

    ``windows``: submit, deadline, work, value and rates of each.
    ``has_values``: whether to bound the value of the deadlines instead of their number.
    ``is_brief``: whether it is for a summary, which may take about a second.
    """

    windows: Windows
    has_values: bool
    is_brief: bool

    def safe(self, bound: float) -> float:
        """Return the bound with a margin for rounding; numbers of deadlines are integers."""
        raised = bound * (1 + 1e-9) + 1e-9
        return raised if self.has_values else float(np.floor(raised))


@dataclass(frozen=True, eq=False)
class DeadlineBound(FrozenColumns):
    """Upper bounds on any schedule; see :func:`deadline_bound`.

    Attributes
    ----------
    bounds
        By name: ``alone``, jobs that could meet their deadlines alone; ``pooled``, GPU time of all
        types as one; ``typed``, GPU time by type. In deadlines, or in their value.
    num_deadlines
        Number of jobs with a deadline.
    total
        Value of meeting all deadlines: ``num_deadlines``, or the sum of values.
    is_possible
        Which jobs could meet their deadlines alone, shape ``(jobs,)``.
    unsolved
        Names of bounds omitted because they reached their limit of iterations.
    """

    bounds: dict[str, float]
    num_deadlines: int
    total: float
    is_possible: Bool = field(repr=False)
    unsolved: tuple[str, ...] = ()

    @property
    def best(self) -> tuple[str, float]:
        """Name and value of the lowest bound; the first of equals."""
        name = min(self.bounds, key=self.bounds.__getitem__)
        return name, self.bounds[name]

    @property
    def name(self) -> str:
        """Name of the lowest bound."""
        return self.best[0]

    @property
    def met(self) -> float:
        """The lowest bound on the deadlines met, or on their value."""
        return self.best[1]

    @property
    def dsr(self) -> float:
        """The lowest bound over ``total``; NaN without deadlines."""
        return self.met / self.total if self.total else float("nan")


def deadline_bound(
    trace: Trace,
    cluster: Cluster,
    *,
    speed: str | SpeedChoice | None = None,
    values: bool = False,
) -> DeadlineBound:
    """Compute upper bounds on the deadlines that any schedule of ``trace`` can meet.

    They hold for every policy, placement and restart cost, even if jobs change their number and
    type of GPUs at any time. Jobs without a deadline are omitted.

    Parameters
    ----------
    speed
        The rates of the jobs. Types are distinguished only for ``table`` and for speeds with a
        fixed number of GPUs. None: ``table`` if the jobs have throughputs or the types of the
        cluster have speeds (then ``trace`` must be that of a result), else ``fixed``.
    values
        Bound the value of the deadlines met instead of their number.

    Returns
    -------
    DeadlineBound
        ``dsr``, as a share of the jobs with deadlines, and ``name``, the bound.

    Raises
    ------
    ValueError
        If the speed is unknown, or the trace or the cluster lacks what it needs.

    Notes
    -----
    ``pooled`` needs only NumPy. ``typed`` is a linear program that distinguishes types, numbers of
    GPUs and time, and is omitted without SciPy (extra: exact). It chooses for each job how long it
    runs on which GPUs and when. It relaxes that a deadline is met entirely or not at all, that a
    job gets all its GPUs together, and the order within a cell of time. Its solver may take 10,000
    iterations (about twenty are usual); beyond, it is omitted and named in ``unsolved``. No bound
    depends on the machine's speed.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 0], [10, 10], [8, 8], deadline_s=[10, 10])
    >>> gs.bounds.deadline_bound(trace, gs.Cluster.uniform(1, 8)).dsr
    0.5
    """
    if trace.deadline_us is None:
        return DeadlineBound(
            {next(iter(known_bounds(DEADLINES_MET))): 0.0},
            0,
            0.0,
            np.zeros(len(trace), dtype=np.bool_),
        )
    if speed is None:
        is_measured = any(profile.throughput for profile in trace.profiles)
        speed = _MEASURED if is_measured or cluster.has_speeds else "fixed"
    windows, is_possible = _possible(trace, cluster, speed, values)
    found = _Bounds(DeadlineJobs(windows, values, is_brief=False))
    found.compute_down_to(-1.0)
    has_deadline = trace.deadline_us != NOT_GIVEN
    total = float(_value(trace, values)[has_deadline].sum())
    num_deadlines = int(np.count_nonzero(has_deadline))
    return DeadlineBound(found.bounds, num_deadlines, total, is_possible, tuple(found.unsolved))


def dsr_bound(
    trace: Trace, cluster: Cluster, *, speed: str | SpeedChoice, met: int = 0
) -> tuple[float, str]:
    """Return an upper bound on the deadline satisfactory ratio (DSR), and its name.

    The lowest of the bounds of :func:`deadline_bound` that are affordable: beyond 10,000 possible
    jobs no ``typed``, and ``pooled`` on a coarser grid; beyond 100,000 only ``alone``. Cached for a
    trace, a cluster and a speed while the trace exists.

    NaN and an empty name if no job has a deadline.

    ``met``: deadlines met by some schedule. A bound equal to it is the lowest, so no others are
        computed. The result is the same for all schedules.
    """
    deadline_us = trace.deadline_us
    num_deadlines = 0 if deadline_us is None else np.count_nonzero(deadline_us != NOT_GIVEN)
    if num_deadlines == 0:
        return float("nan"), ""
    of_trace = _certificates.setdefault(trace, {})
    found = of_trace.get((cluster, str(speed)))
    if found is None:
        windows, _ = _possible(trace, cluster, speed, False)
        jobs = DeadlineJobs(windows, has_values=False, is_brief=True)
        found = of_trace[cluster, str(speed)] = _Bounds(jobs)
    found.compute_down_to(met)
    name = min(found.bounds, key=found.bounds.__getitem__)
    return float(found.bounds[name] / num_deadlines), name


class _Bounds:
    """Bounds on the value of the deadlines met, each computed when it may be the lowest."""

    def __init__(self, jobs: DeadlineJobs) -> None:
        self.bounds: dict[str, float] = {}
        self.unsolved: list[str] = []
        self._left = list(known_bounds(DEADLINES_MET).values())
        self._jobs: DeadlineJobs | None = jobs
        self._lock = threading.Lock()

    def compute_down_to(self, met: float) -> None:
        """Compute bounds until one equals ``met``, or none is left."""
        with self._lock:
            jobs = self._jobs
            while jobs is not None and self._left:
                if self.bounds and (not len(jobs.windows) or min(self.bounds.values()) <= met):
                    return
                bound = self._left.pop(0)
                try:
                    value = bound.compute(jobs)
                except UnsolvedError:
                    self.unsolved.append(bound.name)
                    continue
                if value is not None:
                    self.bounds[bound.name] = float(value)
                if jobs.is_brief and len(jobs.windows) > _MOST_JOBS:
                    break  # do not keep a copy of a trace of millions
            self._jobs = None


_certificates: weakref.WeakKeyDictionary[Trace, dict[tuple[Cluster, str], _Bounds]] = (
    weakref.WeakKeyDictionary()
)


def _value(trace: Trace, values: bool) -> Float64:
    if values and trace.value is not None:
        return np.asarray(trace.value, dtype=np.float64)
    return np.ones(len(trace))


def _possible(
    trace: Trace, cluster: Cluster, speed: str | SpeedChoice, values: bool
) -> tuple[Windows, Bool]:
    """Return the jobs that could meet their deadlines alone, and their mask."""
    rates = rates_of(trace, cluster, SpeedChoice.parse(speed) if isinstance(speed, str) else speed)
    deadline_us = np.asarray(trace.deadline_us)
    work_s = np.maximum(trace.service_us / US_PER_S * (1 - _ROUNDING) - _ROUNDING_S, 0.5 / US_PER_S)
    length_s = (deadline_us - trace.submit_us) / US_PER_S
    greatest = np.zeros(len(trace))
    can_run = rates.kind >= 0
    greatest[can_run] = rates.rate.max(axis=1)[rates.kind[can_run]]
    is_possible: Bool = (
        (deadline_us != NOT_GIVEN) & (length_s > 0) & (work_s <= length_s * greatest)
    )
    origin_us = int(trace.submit_us[0])
    windows = Windows(
        (trace.submit_us - origin_us) / US_PER_S,
        (deadline_us - origin_us) / US_PER_S,
        work_s,
        _value(trace, values),
        rates.kind,
        rates,
    )
    return windows.part(is_possible), is_possible
