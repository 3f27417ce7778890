"""One run of a study on a worker: jobs in, a row of the table out."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.files import in_a_line
from gpusched.base.supervision import Cancelled
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly
from gpusched.results.run_remarks import unserved
from gpusched.sweeping.expansion import PlannedRun
from gpusched.sweeping.recipes import Recipe, jobs_of
from gpusched.sweeping.run_context import Batch as Batch
from gpusched.sweeping.run_context import RunContext
from gpusched.sweeping.run_context import batches as batches
from gpusched.sweeping.run_context import side_by_side as side_by_side

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

MOST_TRACES: Final = 4
"""How many a process keeps."""


class RecipeCache:
    """The last few traces by the names of their recipes; calls are safe from several threads."""

    def __init__(self, most: int = MOST_TRACES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._made: OrderedDict[str, Future[Trace]] = OrderedDict()

    def get(self, name: str, make: Callable[[], Trace]) -> Trace:
        """Return the jobs, made now if they are not there; others that want them wait for it."""
        with self._lock:
            known = self._made.get(name)
            if known is not None:
                self._made.move_to_end(name)
            else:
                mine: Future[Trace] = Future()
                self._made[name] = mine
                while len(self._made) > self._most:
                    self._made.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            trace = make()
        except BaseException as error:
            with self._lock:
                self._made.pop(name, None)
            mine.set_exception(error)
            raise
        mine.set_result(trace)
        return trace


Row = dict[str, Any]
SETTINGS: Final = frozenset(
    {"policy", "placement", "predictor", "speed", "contention", "seed", "load", "wall_s"}
)
"""Entries of a summary that are an axis of the study, or stand in a column of their own."""
OFFERED_LOAD: Final = "offered_load"
"""The metric ``load``: the column of that name is what the study asked for."""

QUEUE_GROWTH: Final = "queue_growth"
"""The metric that says where a queue grows: every run has it, since no one run can be believed."""

_cache: Final = RecipeCache()


def run_batch(context: RunContext, batch: Batch) -> list[Row]:
    """Do the runs of a batch one after the other; an error of one is in its row."""
    try:
        trace = trace_of(context, batch.recipe)
    except (KeyboardInterrupt, Cancelled):
        raise
    except Exception as error:
        return [failed_row(name, error) for name, _ in batch.runs]
    return [row_of(context, trace, name, run) for name, run in batch.runs]


def trace_of(context: RunContext, recipe: Recipe) -> Trace:
    """Make the jobs of a recipe, or take those that this process has made."""

    def make() -> Trace:
        cluster = None if recipe.cluster < 0 else context.clusters[recipe.cluster]
        entry, source = context.entries[recipe.trace], context.sources[recipe.trace]
        return jobs_of(entry, source, cluster, recipe)

    return _cache.get(recipe.name, make)


def row_of(context: RunContext, trace: Trace, name: str, run: PlannedRun) -> Row:
    """Do a run, and return its row: metrics, or the error."""
    try:
        begin = time.perf_counter()
        result = result_of(context, trace, run)
        found = result.summary_with((QUEUE_GROWTH, *context.metrics), **context.window)
        row: Row = {key: value for key, value in found.items() if key not in SETTINGS}
        row[OFFERED_LOAD] = found.get("load")
        row["run"] = name
        row["wall_s"] = result.wall_s
        row["total_s"] = time.perf_counter() - begin
        row["warnings"] = [*unserved(result), *result.warnings] or None
        return row
    except (KeyboardInterrupt, Cancelled):
        raise
    except Exception as error:
        return failed_row(name, error)


def result_of(context: RunContext, trace: Trace, run: PlannedRun) -> Result:
    """Do a run."""
    policy, placement, speed, contention, predictor = (
        known[position, run.values]
        for known, position in zip(context.choices, run.choices, strict=True)
    )
    return simulate_quietly(
        trace,
        context.clusters[run.cluster],
        policy=own(policy),
        placement=own(placement),
        predictor=predictor,
        speed=speed,
        contention=contention,
        seed=run.seed,
        max_intervals=context.max_intervals,
    )


def failed_row(name: str, error: BaseException) -> Row:
    """Return the row of a run that failed."""
    said = in_a_line(str(error)) or "no message"
    return {"run": name, "error": f"{type(error).__name__}: {said}"}
