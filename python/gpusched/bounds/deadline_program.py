"""The linear program over GPU types and time behind :mod:`gpusched.bounds.deadline_bounds`.

Time is cut into cells, cells are joined in pairs, those again in pairs, and so on: the nodes of a
binary tree. A job's window is a partly used cell at either end and the fewest nodes that cover the
rest. Within a node it is not said when a job runs. Each node has a row per GPU type: what its jobs
use and what its children use is at most all its GPU time. The dual prices give the bound, computed
anew here from the prices alone: any prices that are not negative give one, so the tolerances of
the solver do no harm, and prices found for some of the jobs serve for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.supervision import attended
from gpusched.bounds.deadline_rates import Rates
from gpusched.bounds.registry import UnsolvedError

_BISECTIONS: Final = 48
_PARTS: Final = (1.0, 0.8, 0.6, 0.4, 0.2)
_MOST_AT_ONCE: Final = 200_000
_MOST_ITERATIONS: Final = 10_000  # of each solver; some twenty are usual


@dataclass(frozen=True)
class Windows:
    """Jobs with deadlines, each able to meet its own.

    Attributes
    ----------
    begin_s, end_s, work_s, value
        The work is the service to be done in between; shape ``(jobs,)``.
    kind
        Of each job, in ``rates``.
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
    """Cells of time, 2^k of them, and the nodes above: node v has the children 2v and 2v + 1."""

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
        """Cut between submits and deadlines so that about as many of these lie in each cell."""
        times = np.unique(np.concatenate([windows.begin_s, windows.end_s]))
        cells = min(most_cells, len(times) - 1)
        border_s = times[np.rint(np.linspace(0, len(times) - 1, cells + 1)).astype(np.int64)]
        size = 1 << (cells - 1).bit_length()
        # Cells after the end that nobody uses make it a power of two.
        return cls(np.append(border_s, border_s[-1] + 1.0 + np.arange(size - cells)))

    def cover(self, begin_s: Float64, end_s: Float64) -> tuple[Int64, Int64, Float64]:
        """Return the nodes of each window: columns of window, node and seconds there.

        The borders reach from the first begin to the last end.
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
    """Return more value than any schedule has, or as much; extra: exact.

    Parameters
    ----------
    most_cells
        Of time; a finer grid gives a lower bound. Half as many if there are more jobs.
    most_jobs
        If there are more, prices are sought with as many of them on a part of the GPUs.

    Raises
    ------
    ImportError
        If SciPy is not installed.
    UnsolvedError
        If the solver is not done after so many iterations as it may take.
    """
    step = -(-len(windows) // most_jobs)
    tree = TimeTree.over(windows, most_cells if step == 1 else most_cells // 2)
    some = windows.part(slice(step // 2, None, step))
    prices = find_prices(some, tree, len(some) / len(windows))
    if step == 1:
        return value_at(prices, windows, tree)
    # A part of the jobs meets by chance in more places than all of them: lower prices may do.
    return min(value_at(prices * part, windows, tree) for part in _PARTS)


def find_prices(windows: Windows, tree: TimeTree, part: float) -> Float64:
    """Return value per GPU second of each type in each node, shape ``(types, nodes)``.

    ``part``: of the GPUs, which the jobs share. Raises UnsolvedError after too many iterations.
    """
    optimize = _scipy("optimize")
    sparse = _scipy("sparse")
    rates = windows.rates
    job, node, seconds = tree.cover(windows.begin_s, windows.end_s)
    kind = windows.kind[job]
    row, way = np.nonzero(rates.rate[kind] > 0)
    of_kind = kind[row]
    num_jobs, num_rows = len(windows), len(job)
    num_types, num_nodes = len(rates.type_gpus), len(tree.length_s)
    # Variables: the part of the value; of the time in a node, by way; of each node's GPU time.
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
            options={"maxiter": _MOST_ITERATIONS},  # no time: the machine may be busy
        )
    )
    if found.x is None:
        raise UnsolvedError(f"its program was not solved: {found.message}")
    dual = np.maximum(0.0, -found.ineqlin.marginals[first_used:]).reshape(num_types, num_nodes)
    prices: Float64 = dual / np.maximum(capacity, np.finfo(float).tiny)
    prices[:, 0] = 0.0
    return prices


def value_at(prices: Float64, windows: Windows, tree: TimeTree) -> float:
    """Return the dual objective: all GPU time at its price, and what jobs gain beyond theirs.

    A bound whatever the prices are, as long as a node's are not below those of its parent, which
    is seen to here.
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
    """No schedule of a job costs less: by the price of its progress that bounds it best."""
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


def _scipy(module: str) -> Any:
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise ImportError("deadline bound: needs SciPy: pip install 'gpusched[exact]'") from None


def pooled_bound(windows: Windows, most_cells: int) -> float:
    """Return more value than any schedule has, or as much, if all types were one; no SciPy.

    Each job needs at least its least GPU time. What fits between two instants is a polymatroid,
    so to take jobs by value per GPU time, as much of each as fits, is best (Edmonds, 1970).
    """
    demand = least_gpu_time(windows)
    times = np.unique(np.concatenate([windows.begin_s, windows.end_s]))
    cells = min(most_cells, len(times) - 1)
    border = times[np.rint(np.linspace(0, len(times) - 1, cells + 1)).astype(np.int64)]
    first = np.searchsorted(border, windows.begin_s, side="right") - 1
    last = np.searchsorted(border, windows.end_s, side="left")
    # room[a, b]: GPU seconds left between the borders a and b for jobs with windows inside.
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
    """Return the least GPU seconds, of any types, with which each job ends in time."""
    demand = np.empty(len(windows))
    needed = windows.work_s / (windows.end_s - windows.begin_s)
    for kind in np.unique(windows.kind).tolist():
        jobs = windows.kind == kind
        gpus, rate = windows.rates.envelope(kind)
        wide = np.interp(needed[jobs], rate, gpus)
        demand[jobs] = wide * (windows.end_s - windows.begin_s)[jobs]
    return demand
