"""What the runs of a study share, and one of them on a worker: jobs in, a row of the table out."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.files import in_a_line
from gpusched.base.supervision import Cancelled
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly
from gpusched.plugins.policy import Choice
from gpusched.results.run_remarks import unserved
from gpusched.sweeping.expansion import Expansion, PlannedRun
from gpusched.sweeping.recipes import Recipe, jobs_of, source_of
from gpusched.sweeping.run_names import extra_metrics
from gpusched.sweeping.spec_parts import ROLES, StudyTrace

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

# Runs of a batch are kept together: it is to take some hundredths of a second, or be one run.
_BATCH_JOBS: Final = 40_000
_MOST_RUNS: Final = 64


@dataclass(frozen=True)
class RunContext:
    """What the runs of a study share.

    Attributes
    ----------
    sources
        The traces that are read or were given, by their positions in the study.
    choices
        Per role what its positions stand for, by (position, positions of values).
    warm_up_s, tail_s, metrics, max_intervals
        Of the study; ``metrics`` are those that no summary has without being asked.
    """

    entries: tuple[StudyTrace, ...]
    sources: tuple[Trace | None, ...]
    clusters: tuple[Cluster, ...]
    choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...]
    warm_up_s: float
    tail_s: float | None
    metrics: tuple[str, ...]
    max_intervals: int | None

    @property
    def window(self) -> dict[str, float | None]:
        """The part of each run that is measured, as arguments of ``Result.summary``."""
        return {"warm_up_s": self.warm_up_s, "tail_s": self.tail_s}


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs on the same jobs that one worker does in a row.

    Attributes
    ----------
    runs
        Each with its name.
    """

    recipe: Recipe
    runs: tuple[tuple[str, PlannedRun], ...]

    def __str__(self) -> str:
        return f"{self.runs[0][0]}+{len(self.runs)}"


def context_of(plan: Expansion) -> RunContext:
    """Read the files of a study, and gather what its runs need.

    Raises
    ------
    OSError, ValueError, TypeError
        If a trace cannot be read.
    """
    study = plan.study
    choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...] = tuple({} for _ in ROLES)
    for run in plan.runs:
        for role, known in enumerate(choices):
            key = (run.choices[role], run.values)
            if key not in known:
                choice = plan.choice(run, role)
                is_native = isinstance(choice, Choice) and choice.info.is_native
                known[key] = str(choice) if is_native else choice
    return RunContext(
        study.traces,
        tuple(map(source_of, study.traces)),
        plan.clusters,
        choices,
        study.warm_up_s,
        study.tail_s,
        tuple(extra_metrics(study)),
        study.max_intervals,
    )


def batches(runs: Sequence[tuple[str, PlannedRun]], num_jobs: Sequence[int]) -> Iterator[Batch]:
    """Cut runs, in the order of their jobs, into batches.

    Parameters
    ----------
    num_jobs
        About how many jobs each run has.
    """
    held: list[tuple[str, PlannedRun]] = []
    total = 0
    for one, jobs in zip(runs, num_jobs, strict=True):
        is_other = held and held[0][1].recipe.name != one[1].recipe.name
        if held and (is_other or total + jobs > _BATCH_JOBS or len(held) == _MOST_RUNS):
            yield Batch(held[0][1].recipe, tuple(held))
            held, total = [], 0
        held.append(one)
        total += jobs
    if held:
        yield Batch(held[0][1].recipe, tuple(held))


def side_by_side(left: Iterable[Batch], most_recipes: int) -> Iterator[Batch]:
    """Deal out the batches of some recipes in turn.

    Workers that go on to other jobs at a time neither wait until one of them has made those, nor
    find out the same of them twice.
    """
    by_recipe = (list(some) for _, some in groupby(left, key=lambda batch: batch.recipe.name))
    while together := list(islice(by_recipe, most_recipes)):
        for turn in zip_longest(*together):
            yield from (batch for batch in turn if batch is not None)


def jobs_of_run(context: RunContext, run: PlannedRun) -> int:
    """Return about how many jobs a run has: no fewer than that."""
    if run.recipe.jobs is not None:
        return run.recipe.jobs
    source = context.sources[run.recipe.trace]
    return 0 if source is None else len(source)


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
