"""Run a study: :func:`sweep`, and :func:`estimate` its cost beforehand."""

from __future__ import annotations

import heapq
import os
import resource
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice, zip_longest
from pathlib import Path
from typing import Any, Final, Self

from gpusched.base.files import in_a_line
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress, Progress, watched
from gpusched.base.run_warning import warn
from gpusched.base.supervision import Cancelled
from gpusched.base.wording import duration, plural
from gpusched.engine.prepare import check_memory, of_jobs
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly
from gpusched.engine.type_speeds import say_run_times
from gpusched.model.cluster import Cluster
from gpusched.results.metric_registry import metrics
from gpusched.results.result import Result
from gpusched.results.run_remarks import free_restarts, unserved
from gpusched.results.run_window import RunWindow
from gpusched.results.same_jobs import Apart, say_left
from gpusched.results.shown_metrics import GROWTH
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import opened
from gpusched.studies.plan import (
    OFFERED_LOAD,
    Plan,
    PlannedRun,
    Recipe,
    choices_of,
    expand,
    is_native,
    jobs_of,
    source_of,
    unreadable,
)
from gpusched.studies.run_store import (
    RUNS,
    STUDY,
    RunStore,
    claim,
    frame_of,
    write_plan,
)
from gpusched.studies.study import ROLES, Study, StudyTrace, warm_up_time
from gpusched.studies.sweep_result import SweepResult
from gpusched.traces.workload import Trace

Row = dict[str, Any]

# Runs of a batch are saved together: it should take some hundredths of a second, or be one run.
_BATCH_JOBS: Final = 40_000
_MOST_RUNS: Final = 64
MOST_TRACES: Final = 4
"""Traces that a process keeps."""
_SETTINGS: Final = frozenset(
    {"policy", "placement", "predictor", "speed", "contention", "seed", "load", "wall_s"}
)
"""Entries of a summary that are an axis of the study, or have their own column."""

# Finished runs are written at once if nothing was written for this long, else that much later; on
# a slow disk later still, so that writing takes at most this share of the time.
_WRITE_SECONDS: Final = 0.2
_WRITE_SHARE: Final = 0.05

_PYTHON_ROLES: Final = ("policy", "placement")
_LONG_S: Final = 5.0
_HINT: Final = (
    'written in Python, which threads run one at a time; gs.sweep(..., executor="processes") runs '
    'one for each CPU, from a script whose main part is under `if __name__ == "__main__":`'
)

_PILOT_JOBS: Final = 20_000
_PILOT_SECONDS: Final = 15.0
_LEAST_BYTES_PER_JOB: Final = 400.0
_KIB: Final = 1_024  # of ru_maxrss
_GIB: Final = 2**30


def sweep(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    only: str | None = None,
    progress: OnProgress | bool | None = None,
    stop: threading.Event | None = None,
) -> SweepResult:
    """Run a study, skipping runs already saved in ``folder``.

    Parameters
    ----------
    study
        A :class:`gpusched.Study`, a mapping of its fields, or a TOML or JSON file.
    folder
        Folder for finished runs, as Parquet files. Runs saved there are not repeated, whether they
        come from an interrupted or killed call or from a smaller study; failed runs are. None:
        nothing is saved.
    executor
        None or ``"threads"``: one thread per CPU; ``"threads:4"``, ``"processes"``,
        ``"processes:4"``, ``"dask:ADDRESS"``, ``"ray"``, ``"ray:ADDRESS"``; any
        ``concurrent.futures.Executor`` or a ``distributed.Client``. Use processes for policies
        written in Python, of which only one runs at a time in threads.
    only
        Run only those whose names start with this prefix.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` (done, total), in runs, about ten
        times a second and at the end, in the caller's thread. True: a progress bar in a terminal or
        a notebook.
    stop
        Stops the sweep when it is set.

    Returns
    -------
    SweepResult
        One row per run; a failed run has its error instead of metrics.

    Raises
    ------
    OSError
        If a file cannot be read, or the folder cannot be written.
    TypeError, ValueError
        If the study is invalid, or the folder belongs to another one; the message has the path of
        the field.
    Cancelled
        If ``stop`` was set; finished runs are saved in the folder.
    KeyboardInterrupt
        On Ctrl-C, within a second; finished runs are saved, too.

    Warns
    -----
    RunWarning
        If files of the folder are damaged, runs cannot be saved for lack of a stable digest, or
        policies written in Python run for long in threads by default.

    Examples
    --------
    >>> result = gs.sweep({
    ...     "name": "loads", "seeds": [1, 2], "policies": ["fifo", "srtf"],
    ...     "traces": [{"generate": "philly", "jobs": 100, "loads": [0.7, 0.9]}],
    ...     "clusters": [{"servers": 8, "gpus": 8}],
    ... })
    >>> len(result.runs), result.num_failed
    (8, 0)
    """
    return run_study(
        study, folder=folder, executor=executor, only=only, progress=progress, stop=stop
    )


def run_study(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None,
    executor: Any,
    only: str | None,
    progress: OnProgress | bool | None,
    stop: threading.Event | None,
    has_same_jobs: bool = True,
) -> SweepResult:
    """Run it; ``has_same_jobs``: measure policies by the jobs that all of them finish."""
    read = Study.of(study)
    plan = expand(read) if only is None else expand(read).only(only)
    store = None
    if folder is not None:
        claim(folder, read)
        store = RunStore(folder)
        store.tidy()
        warn(unreadable(plan), stacklevel=3)
        if only is None:
            write_plan(folder, read, plan.names)
    gathered = _Gathered(plan, store)
    with (
        store.writing() if store is not None else nullcontext(),
        watched(progress, read.title or read.name, "runs") as told,
    ):
        try:
            _do(plan, [(None, plan.left(gathered.done))], gathered, executor, told, stop)
            if has_same_jobs and (again := _again(plan, gathered.frame()[0])):
                _do(plan, again, gathered, executor, told, stop)
        except Cancelled:
            total = len(plan.by_name)
            raise Cancelled(min(gathered.num_done, total), total, "runs") from None
        finally:
            gathered.write()
    frame, damaged = gathered.frame()
    warn(damaged, stacklevel=3)
    where = None if folder is None else os.fspath(folder)
    table = plan.table(frame, _repeat_line(study, folder))
    return SweepResult(read, table, where, tuple(damaged))


def _repeat_line(study: Any, folder: str | os.PathLike[str] | None) -> str:
    """Return the command that repeats a run, with ``{run}`` for its name."""
    if isinstance(study, str | os.PathLike):
        return f"gpusched sweep {os.fspath(study)} --only {{run}}"
    if folder is not None and (Path(folder) / STUDY).exists():
        return f"gpusched sweep {Path(folder) / STUDY} --only {{run}}"
    return 'gs.sweep(study, only="{run}")'


Part = tuple[Apart | None, Sequence[tuple[str, PlannedRun]]]
"""All runs of some jobs, measured without those listed."""


def _again(plan: Plan, kept: pl.DataFrame) -> list[Part]:
    """Return runs to measure again, without the jobs that compared runs do not finish."""
    names = {*kept["run"]}
    return [
        (apart, runs)
        for alike, apart in plan.compared(kept)
        if (runs := [(name, plan.by_name[name]) for name in alike if apart.name(name) not in names])
    ]


def _do(
    plan: Plan,
    parts: Sequence[Part],
    gathered: _Gathered,
    executor: Any,
    progress: OnProgress | None,
    stop: threading.Event | None,
) -> None:
    left = [one for _, runs in parts for one in runs]
    total = len(plan.by_name)
    num_before = total - len(left) - gathered.num_kept

    def tell(_: object = None) -> None:
        gathered.write(is_due=True)
        if progress is not None:  # counts only saved runs
            progress(Progress(num_before + gathered.num_kept, total))

    def lose(batch: Batch, error: Exception) -> None:
        """A batch that killed its worker is repeated run by run: only one is to blame."""
        if len(batch.runs) > 1:
            queue.extendleft(replace(batch, runs=(run,)) for run in reversed(batch.runs))
        else:
            gathered.add([_failed_row(batch.kept_name(batch.runs[0][0]), error)])

    if left:
        context = RunContext.of(plan)
        python_time = PythonTime(plan, executor)
        in_order = (
            replace(batch, apart=apart)
            for apart, runs in parts
            for batch in batches(runs, [context.num_jobs(run) for _, run in runs])
        )
        with opened(executor) as backend:
            if backend.shares_memory:
                warn(context.remarks([run for _, run in left], backend.num_slots), stacklevel=4)
            queue = _Queue(side_by_side(in_order, min(backend.num_slots, MOST_TRACES)))
            shared = backend.share(context)
            for batch, rows in run_tasks(
                run_batch,
                queue,
                backend=backend,
                arguments=lambda batch: (shared, batch),
                on_failure=lose,
                progress=tell,
                stop=stop,
            ):
                gathered.add(rows)
                python_time.add(batch, rows)
    elif stop is not None and stop.is_set():
        raise Cancelled(total, total, "runs")
    gathered.write()
    tell()


class _Gathered:
    """Rows of finished runs: those saved before, and new ones waiting to be saved."""

    def __init__(self, plan: Plan, store: RunStore | None) -> None:
        self._plan = plan
        self._store = store
        self._rows: list[Row] = []
        self._due = 0.0
        self.num_kept = 0
        self.done: set[str] = set() if store is None else plan.done_in(store.read())

    @property
    def num_done(self) -> int:
        """Number of finished runs, including those not saved yet."""
        rows = len(self._rows)
        return len(self.done) + (rows if self._store is None else self.num_kept + rows)

    def add(self, rows: list[Row]) -> None:
        """Add the rows of finished runs."""
        self._rows += rows
        if self._store is None:
            self.num_kept += len(rows)
        self.write(is_due=True)

    def write(self, *, is_due: bool = False) -> None:
        """Save new rows; ``is_due``: only if nothing was saved for a while."""
        if self._store is None or not self._rows:
            return
        begin = time.monotonic()
        if is_due and begin < self._due:
            return
        self._store.add_frame(self._plan.labelled(self._rows))
        self.num_kept += len(self._rows)
        self._rows = []
        end = time.monotonic()
        self._due = end + max(_WRITE_SECONDS, (end - begin) / _WRITE_SHARE)

    def frame(self) -> tuple[pl.DataFrame, list[str]]:
        """Return all rows, and messages on damaged files of the folder."""
        if self._store is not None:
            return self._store.read(), self._store.damaged
        if not self._rows:
            return pl.DataFrame(schema={"run": pl.String}), []
        return frame_of(self._rows), []


@dataclass(frozen=True)
class RunContext:
    """The data that the runs of a study share.

    ``sources``: the traces that are read or given, by their positions in the study.
    ``choices``: per role the resolved choices, by (position, positions of values).
    ``warm_up_cut``, ``tail_s``, ``metrics``, ``max_intervals``, ``kill_invalid_depend``,
        ``priority_age_s``: of the study; ``metrics`` are those that summaries do not include by
        default.
    """

    entries: tuple[StudyTrace, ...]
    sources: tuple[Trace | None, ...]
    clusters: tuple[Cluster, ...]
    choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...]
    warm_up_cut: str | float
    tail_s: float | None
    metrics: tuple[str, ...]
    max_intervals: int | None
    kill_invalid_depend: bool
    priority_age_s: float | None

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Read the files of a study, and collect the data its runs need."""
        study, known_metrics = plan.study, metrics()
        choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...] = tuple({} for _ in ROLES)
        for run in plan.runs:
            for role, known in enumerate(choices):
                key = (run.choices[role], run.values)
                if key not in known:
                    choice = plan.choice(run, role)
                    known[key] = str(choice) if is_native(choice) else choice
        return cls(
            study.traces,
            tuple(map(source_of, study.traces)),
            plan.clusters,
            choices,
            study.warm_up_cut,
            study.tail_s,
            tuple(key for key in study.metrics if not known_metrics[key].is_default),
            study.max_intervals,
            study.kill_invalid_depend,
            study.priority_age_s,
        )

    def window(self, trace: Trace) -> RunWindow | None:
        """Return the part of a run that is measured; None: the whole."""
        warm_up_s = warm_up_time(self.warm_up_cut, trace.submit_s) if len(trace) else 0.0
        return RunWindow.of(warm_up_s, self.tail_s)

    def num_jobs(self, run: PlannedRun) -> int:
        """Return an upper estimate of the number of jobs of a run."""
        if run.recipe.jobs is not None:
            return run.recipe.jobs
        source = self.sources[run.recipe.trace]
        return 0 if source is None else len(source)

    def remarks(self, runs: Iterable[PlannedRun], num_slots: int) -> list[str]:
        """Warn if the largest runs, one per worker, need much of the available memory.

        None is refused: they may not coincide, and each is checked before it starts.
        """
        largest = heapq.nlargest(num_slots, map(self.num_jobs, runs))
        try:
            return check_memory(sum(map(of_jobs, largest)), largest[0], len(largest))
        except MemoryError as error:
            return [str(error)]

    def jobs(self, recipe: Recipe) -> Trace:
        """Make the jobs of a recipe."""
        cluster = None if recipe.cluster < 0 else self.clusters[recipe.cluster]
        return jobs_of(self.entries[recipe.trace], self.sources[recipe.trace], cluster, recipe)

    def result(self, trace: Trace, run: PlannedRun) -> Result:
        """Execute a run."""
        policy, placement, speed, contention, predictor = (
            known[position, run.values]
            for known, position in zip(self.choices, run.choices, strict=True)
        )
        entry, cluster = self.entries[run.recipe.trace], self.clusters[run.cluster]
        outages = None
        if entry.mtbf_s is not None:
            from gpusched.traces.outages import drawn_for

            outages = drawn_for(trace, cluster, entry.mtbf_s, entry.repair_s, run.seed)
        return simulate_quietly(
            trace,
            cluster,
            policy=own(policy),
            placement=own(placement),
            predictor=predictor,
            speed=speed,
            contention=contention,
            seed=run.seed,
            outages=outages,
            max_intervals=self.max_intervals,
            kill_invalid_depend=self.kill_invalid_depend,
            priority_age_s=self.priority_age_s,
        )


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs on the same jobs, executed by one worker in a row.

    ``runs``: each with its name.
    ``apart``: jobs that are not measured; None: the runs are measured for the first time.
    """

    recipe: Recipe
    runs: tuple[tuple[str, PlannedRun], ...]
    apart: Apart | None = None

    def __str__(self) -> str:
        return f"{self.runs[0][0]}+{len(self.runs)}"

    def kept_name(self, run: str) -> str:
        """Return the name of a run's row."""
        return run if self.apart is None else self.apart.name(run)


def batches(runs: Sequence[tuple[str, PlannedRun]], num_jobs: Sequence[int]) -> Iterator[Batch]:
    """Divide runs, in the order of their jobs, into batches.

    ``num_jobs``: approximate number of jobs of each run.
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
    """Interleave the batches of several recipes.

    Workers that start on different jobs neither wait for each other to generate them nor repeat
    work.
    """
    by_recipe = (list(some) for _, some in groupby(left, key=lambda batch: batch.recipe.name))
    while together := list(islice(by_recipe, most_recipes)):
        for turn in zip_longest(*together):
            yield from (batch for batch in turn if batch is not None)


class _Queue(deque[Batch]):
    """Batches to do: taken in order; some come back when all are taken."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Batch:
        if not self:
            raise StopIteration
        return self.popleft()


class _RecipeCache:
    """A small thread-safe cache of traces, by the names of their recipes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: OrderedDict[str, Future[Trace]] = OrderedDict()

    def get(self, name: str, make: Callable[[], Trace]) -> Trace:
        """Return the jobs, generated now if needed; other threads wait for them."""
        with self._lock:
            known = self._made.get(name)
            if known is not None:
                self._made.move_to_end(name)
            else:
                mine: Future[Trace] = Future()
                self._made[name] = mine
                while len(self._made) > MOST_TRACES:
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


_cache: Final = _RecipeCache()


def run_batch(context: RunContext, batch: Batch) -> list[Row]:
    """Execute the runs of a batch one after the other; an error of one is in its row."""
    try:
        trace = _cache.get(batch.recipe.name, partial(context.jobs, batch.recipe))
    except (KeyboardInterrupt, Cancelled):
        raise
    except Exception as error:
        return [_failed_row(batch.kept_name(name), error) for name, _ in batch.runs]
    return [
        row_of(context, trace, batch.kept_name(name), run, batch.apart) for name, run in batch.runs
    ]


def row_of(
    context: RunContext, trace: Trace, name: str, run: PlannedRun, apart: Apart | None = None
) -> Row:
    """Execute a run, and return its row: metrics, or the error.

    With ``apart``, only metrics of finished jobs, without those.
    """
    try:
        begin = time.perf_counter()
        result = context.result(trace, run)
        if apart is not None:
            return {"run": name} | apart.measured(result, context.window(trace), context.metrics)
        window = context.window(trace)
        if window is None:
            found = whole = result.summary_with((GROWTH, *context.metrics))
        else:
            of_parts = [key for key in context.metrics if metrics()[key].is_of_parts]
            whole = result._of_whole(context.metrics)
            found = whole | result.summary_with((GROWTH, *of_parts), **window.cuts)
        row: Row = {key: value for key, value in found.items() if key not in _SETTINGS}
        row[OFFERED_LOAD] = whole.get("load")
        row |= say_left(result, window)
        row["run"] = name
        row["wall_s"] = result.wall_s
        row["total_s"] = time.perf_counter() - begin
        lines = [*unserved(result), *free_restarts(result), *result.warnings]
        if context.entries[run.recipe.trace].throughputs is not None:
            lines += trace.notes
        if result.trace is not trace:
            lines += say_run_times(trace, result.cluster)
        row["warnings"] = lines or None
        return row
    except (KeyboardInterrupt, Cancelled):
        raise
    except Exception as error:
        return _failed_row(name, error)


def _failed_row(name: str, error: BaseException) -> Row:
    """Return the row of a failed run."""
    said = in_a_line(str(error)) or "no message"
    return {"run": name, "error": f"{type(error).__name__}: {said}"}


def python_parts(study: Study) -> list[str]:
    """Return the labels of the policies and placements written in Python."""
    found = (one for role in _PYTHON_ROLES for one in choices_of(study, role))
    return [label for label, choice in found if not is_native(choice)]


class PythonTime:
    """Time that runs in threads spent in Python; warns once when it is long.

    ``executor``: the user's argument: with an explicit choice of threads there is no warning.
    """

    def __init__(self, plan: Plan, executor: Any) -> None:
        self._named = plan.named[: len(_PYTHON_ROLES)]
        self._parts = frozenset(python_parts(plan.study)) if executor is None else frozenset()
        self._spent_s = 0.0

    def add(self, batch: Batch, rows: list[Row]) -> None:
        """Add the seconds of runs that did not fail."""
        for (_, run), row in zip(batch.runs, rows, strict=True):
            labels = {some[at].label for some, at in zip(self._named, run.choices, strict=False)}
            if labels & self._parts:
                self._spent_s += row.get("wall_s") or 0.0
        if self._parts and self._spent_s > _LONG_S:
            warn([f"{', '.join(sorted(self._parts))}: {_HINT}"], stacklevel=5)
            self._parts = frozenset()


@dataclass(frozen=True)
class SweepEstimate:
    """The estimated cost of a study, from :func:`gpusched.estimate`.

    ``num_runs``, ``num_kept``: numbers of all runs, and of those saved in the folder.
    ``num_jobs``: total number of jobs of the runs left.
    ``runs_s``: time of all runs left, one after the other, seconds.
    ``wall_s``: time of the same on ``num_slots`` workers, seconds.
    ``memory_bytes``: approximate peak memory.
    ``pilots``: seconds per thousand jobs, by policy tried.
    ``errors``: errors of the runs that were tried.
    """

    num_runs: int
    num_kept: int
    num_jobs: int
    num_slots: int
    runs_s: float
    wall_s: float
    memory_bytes: float
    pilots: Mapping[str, float]
    errors: tuple[str, ...] = ()

    def __str__(self) -> str:
        kept = f", {self.num_kept:,} of them saved" if self.num_kept else ""
        return (
            f"{plural(self.num_runs, 'run')}{kept}; {plural(self.num_jobs, 'job')} to simulate, "
            f"about {duration(self.wall_s)} on {plural(self.num_slots, 'worker')}, "
            f"{self.memory_bytes / _GIB:.1f} GiB of memory"
        )


def estimate(
    study: Study, *, folder: Path, num_slots: int | None = None, has_processes: bool = False
) -> SweepEstimate:
    """Try each policy of a study once, on a few jobs, and estimate the cost of all runs.

    Times are assumed proportional to the number of jobs, which is too low for policies whose
    decisions get slower with the queue.

    ``folder``: runs saved there are not counted.
    ``num_slots``: number of parallel runs; None: one per CPU.
    ``has_processes``: whether each of them is in its own process.
    """
    plan = expand(study)
    done = plan.done_in(RunStore(folder).read()) if (folder / RUNS).is_dir() else set()
    left = plan.left(done)
    slots = num_slots or len(os.sched_getaffinity(0))
    if not left:
        return SweepEstimate(len(plan.by_name), len(done), 0, slots, 0.0, 0.0, _resident(), {})
    context = RunContext.of(plan)
    base = _resident()
    found = _try_each_policy(context, left, base)
    mean = sum(found.seconds.values()) / max(1, len(found.seconds))
    jobs = [context.num_jobs(run) for _, run in left]
    of_recipes = {run.recipe.name: number for (_, run), number in zip(left, jobs, strict=True)}
    runs_s = sum(
        number * found.seconds.get(run.choices[0], mean)
        for (_, run), number in zip(left, jobs, strict=True)
    )
    columns = (column for trace in context.sources if trace for column in vars(trace).values())
    memory = base * (1 + (slots if has_processes else 0))
    memory += sum(getattr(column, "nbytes", 0) for column in columns)
    memory += found.bytes_per_job * max(jobs) * min(slots, len(left))
    return SweepEstimate(
        len(plan.by_name),
        len(done),
        sum(jobs),
        slots,
        runs_s,
        (runs_s + found.making_s * sum(of_recipes.values())) / min(slots, len(left)),
        memory,
        {plan.named[0][at].label: 1e3 * seconds for at, seconds in found.seconds.items()},
        tuple(found.errors),
    )


@dataclass
class _Tried:
    """Measured time per job: seconds by policy, generation of jobs, and memory."""

    seconds: dict[int, float]
    errors: list[str]
    making_s: float = 0.0
    bytes_per_job: float = _LEAST_BYTES_PER_JOB


def _try_each_policy(
    context: RunContext, left: Sequence[tuple[str, PlannedRun]], base: float
) -> _Tried:
    """Run the first jobs of the longest run of each policy, those on the same jobs first."""
    longest: dict[int, tuple[str, PlannedRun]] = {}
    for name, run in left:
        known = longest.get(run.choices[0])
        if known is None or (run.recipe.load or 0) > (known[1].recipe.load or 0):
            longest[run.choices[0]] = name, run
    found, made = _Tried({}, []), ""
    trace: Trace | None = None
    began = time.perf_counter()
    for policy, (name, run) in longest.items():
        if found.seconds and time.perf_counter() - began > _PILOT_SECONDS:
            break
        begin = time.perf_counter()
        try:
            if trace is None or made != run.recipe.name:
                most = None if run.recipe.jobs is None else min(run.recipe.jobs, _PILOT_JOBS)
                whole = context.jobs(replace(run.recipe, jobs=most))
                made, trace = run.recipe.name, whole.head(_PILOT_JOBS)
                found.making_s = (time.perf_counter() - begin) / len(whole)
        except (ValueError, TypeError, OSError) as error:
            found.errors.append(str(error))
            continue
        row_of(context, trace.head(min(len(trace), 100)), name, run)  # imports what it needs
        begin = time.perf_counter()
        row = row_of(context, trace, name, run)
        took_s = time.perf_counter() - begin
        if row.get("error"):
            found.errors.append(f"{name}: {row['error']}")
            continue
        found.seconds[policy] = took_s / len(trace)
        if len(trace) >= _PILOT_JOBS // 2:
            grown = (_resident() - base) / len(trace)
            found.bytes_per_job = max(found.bytes_per_job, grown)
    return found


def _resident() -> float:
    """Peak memory of this process, bytes."""
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _KIB)
