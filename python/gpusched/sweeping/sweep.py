"""Do the runs of a study that are not done yet: :func:`sweep`."""

from __future__ import annotations

import heapq
import os
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.progress import OnProgress, Progress, watched
from gpusched.base.run_warning import warn
from gpusched.base.supervision import Cancelled
from gpusched.engine.prepare import check_memory, of_jobs
from gpusched.execution.choosing import opened
from gpusched.execution.driver import run_tasks
from gpusched.sweeping.expansion import PlannedRun
from gpusched.sweeping.planned import PlannedStudy, names_of
from gpusched.sweeping.python_parts import PythonTime as PythonTime
from gpusched.sweeping.run_names import unreadable
from gpusched.sweeping.run_store import RunStore, frame_of
from gpusched.sweeping.running import (
    MOST_TRACES,
    Row,
    RunContext,
    context_of,
    failed_row,
    jobs_of_run,
)
from gpusched.sweeping.running import Batch as Batch
from gpusched.sweeping.running import batches as batches
from gpusched.sweeping.running import run_batch as run_batch
from gpusched.sweeping.running import side_by_side as side_by_side
from gpusched.sweeping.study import Study
from gpusched.sweeping.study_folder import STUDY, claim, write_plan
from gpusched.sweeping.sweep_result import SweepResult

if TYPE_CHECKING:
    import polars as pl


def remarks(runs: Iterable[PlannedRun], context: RunContext, num_slots: int) -> list[str]:
    """Say if the largest runs, as many as there are workers, need much of the memory that there is.

    None is refused: they may not come together, and each is looked at before it begins.
    """
    largest = heapq.nlargest(num_slots, (jobs_of_run(context, run) for run in runs))
    if not largest:
        return []
    try:
        return check_memory(sum(map(of_jobs, largest)), largest[0], len(largest))
    except MemoryError as error:
        return [str(error)]


# Finished runs are written at once if nothing was written for so long, else that much later; on a
# slow disk so much later that writing takes no more than this part of the time.
_WRITE_SECONDS: Final = 0.2
_WRITE_SHARE: Final = 0.05


def sweep(
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    only: str | None = None,
    progress: OnProgress | bool | None = None,
    stop: threading.Event | None = None,
) -> SweepResult:
    """Do all runs of a study, those that are kept in a folder apart.

    Parameters
    ----------
    study
        A :class:`gpusched.Study`, a mapping of its fields, or a TOML or JSON file.
    folder
        Where finished runs are kept as they come, in Parquet files. What is there is not run
        again, be it of a call that was interrupted or killed, or of a study that had fewer runs;
        runs that failed are. None: nothing is kept.
    executor
        None or ``"threads"``: a thread per CPU; ``"threads:4"``, ``"processes"``,
        ``"processes:4"``, ``"dask:ADDRESS"``, ``"ray"``, ``"ray:ADDRESS"``; any
        ``concurrent.futures.Executor`` or a ``distributed.Client``. Processes suit policies that
        are written in Python, which hold each other up in threads.
    only
        Do only the runs whose names begin so.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` (done, total), in runs, about ten
        times a second and once at the end, in the thread of the caller. True: a bar with the time
        left, in a terminal or a notebook.
    stop
        Ends the sweep when it is set.

    Returns
    -------
    SweepResult
        One row per run; a run that failed has its error in place of metrics.

    Raises
    ------
    OSError
        If a file cannot be read, or the folder not be written.
    TypeError, ValueError
        If the study is wrong, or the folder that of another one; the message has the path of the
        field.
    Cancelled
        If ``stop`` was set; runs that were done are kept in the folder.
    KeyboardInterrupt
        On Ctrl-C, within a second, likewise.

    Warns
    -----
    RunWarning
        If files of the folder are damaged, runs cannot be told from others and so not be kept, or
        threads, which nobody asked for, are long in policies that are written in Python.

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
    read = Study.of(study)
    planned = PlannedStudy.of(read, only)
    store = None
    if folder is not None:
        claim(folder, read)
        store = RunStore(folder)
        store.tidy()
        warn(unreadable(planned.expansion), stacklevel=2)
        if only is None:
            write_plan(folder, read, planned.names)
    gathered = _Gathered(planned, store)
    with (
        store.writing() if store is not None else nullcontext(),
        watched(progress, read.title or read.name, "runs") as told,
    ):
        try:
            _do(planned, gathered, executor, told, stop)
        except Cancelled:
            raise Cancelled(gathered.num_done, len(planned.by_name), "runs") from None
        finally:
            gathered.write()
    frame, damaged = gathered.frame()
    warn(damaged, stacklevel=2)
    where = None if folder is None else os.fspath(folder)
    table = planned.table(frame, repeat_line(study, folder))
    return SweepResult(read, table, where, tuple(damaged))


def repeat_line(study: Any, folder: str | os.PathLike[str] | None) -> str:
    """Return the line that repeats a run, with ``{run}`` for its name."""
    if isinstance(study, str | os.PathLike):
        return f"gpusched sweep {os.fspath(study)} --only {{run}}"
    if folder is not None and (Path(folder) / STUDY).exists():
        return f"gpusched sweep {Path(folder) / STUDY} --only {{run}}"
    return 'gs.sweep(study, only="{run}")'


def _do(
    planned: PlannedStudy,
    gathered: _Gathered,
    executor: Any,
    progress: OnProgress | None,
    stop: threading.Event | None,
) -> None:
    left = planned.left(gathered.done)
    total = len(planned.by_name)

    def tell(_: object = None) -> None:
        gathered.write(is_due=True)
        if progress is not None:  # of what cannot be lost any more
            progress(Progress(total - len(left) + gathered.num_kept, total))

    if left:
        context = context_of(planned.expansion)
        python_time = PythonTime(planned.expansion.study, executor)
        in_order = batches(left, [jobs_of_run(context, run) for _, run in left])
        with opened(executor) as backend:
            if backend.shares_memory:
                warn(remarks([run for _, run in left], context, backend.num_slots), stacklevel=3)
            queue = _Batches(side_by_side(in_order, min(backend.num_slots, MOST_TRACES)))
            shared = backend.share(context)
            for batch, rows in run_tasks(
                run_batch,
                queue,
                backend=backend,
                arguments=partial(_arguments, shared),
                on_failure=partial(_lost, queue, gathered),
                progress=tell,
                stop=stop,
            ):
                gathered.add(rows)
                times = [row.get("wall_s") for row in rows]
                done = [run for _, run in batch.runs]
                python_time.add(planned.expansion, zip(done, times, strict=True))
    elif stop is not None and stop.is_set():
        raise Cancelled(total, total, "runs")
    gathered.write()
    tell()


def _arguments(shared: Any, batch: Batch) -> tuple[Any, ...]:
    return shared, batch


def _lost(queue: _Batches, gathered: _Gathered, batch: Batch, error: Exception) -> None:
    """A batch that ended its worker is done again run by run: only one of them is to blame."""
    if len(batch.runs) > 1:
        queue.again(Batch(batch.recipe, (run,)) for run in batch.runs)
    else:
        gathered.add([failed_row(batch.runs[0][0], error)])


class _Batches:
    """Batches that are left; some may come back when all others have been taken."""

    def __init__(self, left: Iterator[Batch]) -> None:
        self._left = left
        self._again: deque[Batch] = deque()

    def __iter__(self) -> _Batches:
        return self

    def __next__(self) -> Batch:
        if self._again:
            return self._again.popleft()
        return next(self._left)

    def again(self, some: Iterator[Batch]) -> None:
        self._again.extend(some)


class _Gathered:
    """Rows of finished runs: those that were kept, and those that came, on their way there."""

    def __init__(self, planned: PlannedStudy, store: RunStore | None) -> None:
        self._planned = planned
        self._store = store
        self._rows: list[Row] = []
        self._due = 0.0
        self.num_kept = 0
        self.done: set[str] = set()
        if store is not None:
            self.done = names_of(store.read(), planned.names)

    @property
    def num_done(self) -> int:
        """How many runs of the study are done, also those that are not kept yet."""
        rows = len(self._rows)
        return len(self.done) + (rows if self._store is None else self.num_kept + rows)

    def add(self, rows: list[Row]) -> None:
        """Take the rows of finished runs."""
        self._rows += rows
        if self._store is None:
            self.num_kept += len(rows)
        self.write(is_due=True)

    def write(self, *, is_due: bool = False) -> None:
        """Write what has not been; ``is_due``: if nothing was for a while."""
        if self._store is None or not self._rows:
            return
        begin = time.monotonic()
        if is_due and begin < self._due:
            return
        self._store.add_frame(self._planned.labelled(self._rows))
        self.num_kept += len(self._rows)
        self._rows = []
        end = time.monotonic()
        self._due = end + max(_WRITE_SECONDS, (end - begin) / _WRITE_SHARE)

    def frame(self) -> tuple[pl.DataFrame, list[str]]:
        """Return all rows, and what was found in the folder that is none."""
        import polars as pl

        if self._store is not None:
            return self._store.read(), self._store.damaged
        if not self._rows:
            return pl.DataFrame(schema={"run": pl.String}), []
        return frame_of(self._rows), []
