"""How every paper is run: its stages, where the caller wants them, and what they make.

A paper is a :class:`Study`: its :meth:`~Study.plan` names the stages, each a function and the tasks
that it is called with; :func:`run_study` runs them, keeps what is done, and hands it back. The
function is the paper's measure: it gives :class:`Row` objects, the figures of one run.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Final, Protocol, Self, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.base.failures import Failures
from gpusched.base.real_data import VARIABLE
from gpusched.base.replacing import replacing, write_text
from gpusched.base.tables import Table
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import opened
from gpusched.studies.kept_runs import KeptRuns
from gpusched_papers.claims import Comparison, Published
from gpusched_papers.drawing import save
from gpusched_papers.intervals import Interval, mean, reduction

Float64 = NDArray[np.float64]
Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""
Column = str | Callable[[Any], float | None]
"""A figure of a run: its name, or what it is computed by; None counts as 0."""
Task = tuple[Any, ...]
Made = dict[Task, Any]
"""What a stage made of each of its tasks that is done."""
Some = TypeVar("Some", bound="Study")

US_PER_S: Final = 1_000_000
LEAST_SEEDS: Final = 2
"""An interval needs two."""

_place: ContextVar[tuple[Any, KeptRuns | None]] = ContextVar("place", default=("processes", None))
_spent: ContextVar[dict[str, StageTime] | None] = ContextVar("spent", default=None)


class Reproduction(Protocol):
    """What a reproduction gives back; one with ``comparisons()`` is judged as well."""

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All settings, runs and tables as plain values for JSON."""
        ...

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables and all runs; return the files."""
        ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a reproduction; ``reproduction`` is what the finished seeds give, or None."""

    def __init__(self, reproduction: Reproduction | None) -> None:
        super().__init__("interrupted")
        self.reproduction = reproduction


@dataclasses.dataclass
class StageTime:
    """Of the parts of a stage that are done: how many, and their processor time in seconds.

    That of a part that was kept is what it took when it was run.
    """

    parts: int = 0
    processor_s: float = 0.0


@contextmanager
def running(executor: Any = None, folder: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Have the stages run on an executor, and keep what they make in a folder.

    ``executor``: as for :meth:`gpusched_papers.registry.Paper.reproduce`; None: a process per CPU,
        as some of the policies are written in Python, and the time of a process is that of its run.
    ``folder``: what is kept there is not run again. None: nothing is kept.
    """
    kept = None if folder is None else KeptRuns(folder)
    with opened(executor or "processes") as backend:
        token = _place.set((backend, kept))
        try:
            yield
        finally:
            _place.reset(token)


@contextmanager
def measured() -> Iterator[dict[str, StageTime]]:
    """Count the processor time of all parts of the stages that are run here, by stage."""
    spent: dict[str, StageTime] = {}
    token = _spent.set(spent)
    try:
        yield spent
    finally:
        _spent.reset(token)


def run_stage(
    stage: str,
    run: Callable[..., Any],
    tasks: Sequence[Task],
    progress: Progress,
    failures: Failures,
    *,
    name: Callable[[Task], str],
    is_timed: bool = False,
) -> Iterator[tuple[Task, Any]]:
    """Call ``run(*task)`` for every task; yield each with what it made, in any order.

    ``run``: a function of a module that says what it returns: plain values, arrays, rows, data
        classes of them.
    ``progress``: called with the stage, and how many tasks are done, of how many.
    ``failures``: takes the first error of each ``name``; the other tasks go on.
    ``is_timed``: how long it takes is what is asked: nothing else runs at the same time, and it
        runs here.
    """
    progress(stage, 0, len(tasks))
    if not tasks:
        return

    def fail(task: Task, error: Exception) -> None:
        failures.errors.setdefault(name(task), error)

    def count(processor_s: float) -> None:
        if (spent := _spent.get()) is not None:
            time = spent.setdefault(stage, StageTime())
            time.parts += 1
            time.processor_s += processor_s

    where, kept = _place.get()
    with opened("threads:1" if is_timed or (len(tasks) == 1) else where) as backend:
        yield from run_tasks(
            run,
            tasks,
            backend=backend,
            arguments=tuple,
            kept=kept,
            on_failure=fail,
            on_spent=count,
            progress=lambda told: progress(stage, told.done, len(tasks)),
        )


@dataclasses.dataclass(frozen=True)
class Stage:
    """One function and what it is called with.

    Attributes
    ----------
    name
        As people are told of it.
    run
        A function of a module; see :func:`run_stage`.
    tasks
        The arguments of each call.
    take
        Takes what is done, in the order of the tasks, whenever the stage ends.
    part
        What a task is called in errors.
    is_timed
        As for :func:`run_stage`.
    """

    name: str
    run: Callable[..., Any]
    tasks: Sequence[Task]
    take: Callable[[Made], None]
    part: Callable[[Any], str] = lambda task: f"seed {task[-1]}"
    is_timed: bool = False


class Study:
    """A paper's runs, and what follows from them: the base of all reproductions.

    Attributes
    ----------
    paper
        Its name.
    published
        What is known of the paper.
    """

    paper: ClassVar[str]
    published: ClassVar[Published]

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs; an error if it cannot be run here."""
        return cls()

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Return the stages, which put into this object what they make."""
        raise NotImplementedError

    def is_enough(self) -> bool:
        """Whether there are seeds enough for an interval."""
        return len({row.seed for row in self.runs}) > 1

    runs: Any
    """Rows, of all seeds."""

    def comparisons(self) -> list[Comparison]:
        """Return the published figures, each beside ours."""
        raise NotImplementedError

    def tables(self) -> list[Table]:
        """Return the results, ours beside the published ones."""
        raise NotImplementedError

    def data(self) -> dict[str, Any]:
        """Return settings and runs, for JSON."""
        raise NotImplementedError

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of runs.csv; a column for every key."""
        return [row.columns for row in self.runs]

    def figures(self) -> dict[str, Any]:
        """Return figures (Altair) by the name of the file."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return all settings, runs and tables as plain values for JSON."""
        return plain(
            paper=self.paper,
            published=self.published.by_key,
            comparisons=self.comparisons(),
            **self.data(),
            tables=self.tables(),
        )

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables.md, runs.csv and results.json; return the files."""
        figures = self.figures()
        for name, figure in figures.items():
            save(figure, folder / name)
        markdown = "\n".join(table.to_markdown() for table in self.tables())
        write_text(folder / "tables.md", markdown)
        write_rows(self.rows(), folder / "runs.csv")
        text = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        write_text(folder / "results.json", text + "\n")
        return [folder / name for name in (*figures, "tables.md", "runs.csv", "results.json")]


@dataclasses.dataclass
class PairStudy(Study):
    """A study of policies in settings, all of which have the same jobs in the run of a seed.

    ``runs``: a list by seed for every pair of a setting and a policy; none of less than two seeds.
    ``missing``: what was left out because its ``trace`` was not found, or the name of the file.
    """

    runs: dict[tuple[Any, Any], list[Any]] = dataclasses.field(default_factory=dict)
    missing: tuple[Any, ...] = ()

    def pairs(
        self,
        name: str,
        run: Callable[[Any, tuple[Any, ...], int], list[Any]],
        wanted: Mapping[Any, tuple[Any, ...]],
        seeds: Iterable[int],
        part: Callable[[Any], str] = lambda task: f"{task[0]}, seed {task[2]}",
    ) -> Stage:
        """Return the stage that runs all policies of each setting, seed by seed.

        ``run(setting, arms, seed)`` gives a row for each policy.
        """
        tasks = [(setting, arms, seed) for seed in seeds for setting, arms in wanted.items()]

        def take(made: Made) -> None:
            done = by_seed(tasks, made)
            if len(done) > 1:
                self.runs = {
                    (setting, arm): [some[setting, arms, seed][at] for seed, some in done.items()]
                    for setting, arms in wanted.items()
                    for at, arm in enumerate(arms)
                }

        return Stage(name, run, tasks, take, part)

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return bool(self.runs)

    def data(self) -> dict[str, Any]:
        """All runs, and what was not there."""
        return {"runs": self.rows(), "missing": self.left_out}

    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return [row.columns for rows in self.runs.values() for row in rows]

    @property
    def left_out(self) -> list[str]:
        """The files that were not found."""
        return [getattr(of, "trace", of) for of in self.missing]


def by_seed(tasks: Iterable[Task], made: Made, at: int = -1) -> dict[int, Made]:
    """Return what was made, by seed and task, of the seeds of which every task is done.

    ``at``: where the seed stands in a task.
    """
    of: dict[int, list[Task]] = {}
    for task in tasks:
        of.setdefault(task[at], []).append(task)
    return {
        seed: {task: made[task] for task in some}
        for seed, some in sorted(of.items())
        if all(task in made for task in some)
    }


def run_study(
    kind: type[Some], *, seeds: int, quick: bool, exact: bool, progress: Progress
) -> Some:
    """Run all stages of a paper; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    failures = Failures()
    found: Some | None = None
    try:
        found = kind.begin(quick)
        for stage in found.plan(seeds, quick, exact):
            made: Made = {}
            done = run_stage(
                stage.name, stage.run, stage.tasks, progress, failures,
                name=stage.part, is_timed=stage.is_timed,
            )  # fmt: skip
            try:
                for task, one in done:
                    made[task] = one
            finally:
                stage.take({task: made[task] for task in stage.tasks if task in made})
    except KeyboardInterrupt:
        raise Interrupted(found if found and found.is_enough() else None) from None
    shown = found if found.is_enough() else None
    failures.raise_if_any(reproduction=shown, failed=failures.errors)
    return found


def stages_of(kind: type[Study], *, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    """Tell what is run; see :meth:`gpusched_papers.registry.Paper.stages`."""
    return {stage.name: len(stage.tasks) for stage in kind().plan(seeds, quick, exact)}


@dataclasses.dataclass(init=False)
class Row:
    """The figures of one run: an attribute each, a column in files."""

    columns: dict[str, Any]

    def __init__(self, **columns: Any) -> None:
        self.columns = columns

    def __getattr__(self, name: str) -> Any:
        if name == "columns" or name.startswith("__"):  # as a copy is made
            raise AttributeError(name)
        try:
            return self.columns[name]
        except KeyError:
            raise AttributeError(f"a run has no {name}") from None


@dataclasses.dataclass(frozen=True)
class Arm:
    """A policy, and what tables call it.

    ``placement``: empty: that of the setting.
    ``slot``: its parameter for the length of a slot, where it has one.
    ``keeps_widths``: whether jobs keep their own widths under it.
    """

    name: str
    policy: str
    placement: str = ""
    slot: str = ""
    keeps_widths: bool = True

    def text(self, setting: Any) -> str:
        """Return the policy with the slot of the setting, 0: its own."""
        if not (self.slot and setting.slot_s):
            return self.policy
        mark = "," if ":" in self.policy else ":"
        return f"{self.policy}{mark}{self.slot}={setting.slot_s:g}"


class Arms(dict[str, Arm]):
    """The policies of a paper by name, as its file has them under ``arms``.

    A text is the policy; a table has the attributes of :class:`Arm`.
    """

    def __init__(self, file: Mapping[str, Any]) -> None:
        self._sets: Mapping[str, list[str]] = file.get("sets", {})
        for name, told in file["arms"].items():
            self[name] = Arm(name, told) if isinstance(told, str) else Arm(name, **told)

    def some(self, name: str) -> tuple[Arm, ...]:
        """Return those that the file names under ``sets``."""
        return tuple(self[one] for one in self._sets[name])


def about(setting: Any, arm: Arm, seed: int, jobs: int, **more: Any) -> dict[str, Any]:
    """Return the columns that say what was run: the setting, its place first, and the policy."""
    of = {field.name: getattr(setting, field.name) for field in dataclasses.fields(setting)}
    named = {key: getattr(value, "name", value) for key, value in ({"place": None} | of).items()}
    what = {"arm": arm.name, "policy": arm.text(setting), **more}
    return {**named, **what, "seed": seed, "jobs": jobs}


class Runs:
    """Runs by setting and policy: of each pair a row for every seed, so that columns are pairs.

    Attributes
    ----------
    figure
        The column that is meant where none is named.
    """

    figure: ClassVar[str] = ""

    def __init__(self, rows: Mapping[tuple[Any, Any], Sequence[Any]]) -> None:
        self._rows = rows
        self.num_seeds = max((len(some) for some in rows.values()), default=0)

    def has(self, setting: Any, *arms: Any) -> bool:
        """Whether it was run with all of these."""
        return all((setting, arm) in self._rows for arm in arms)

    def settings(self, *arms: Any) -> list[Any]:
        """Return those in which all of these policies were run, as they come."""
        return [of for of in dict.fromkeys(of for of, _ in self._rows) if self.has(of, *arms)]

    def arms(self, settings: Iterable[Any], of: Iterable[Any]) -> list[Any]:
        """Return the policies of some that were run in some settings."""
        there = list(settings)
        return [arm for arm in of if any(self.has(setting, arm) for setting in there)]

    def values(self, setting: Any, arm: Any, column: Column = "") -> Float64:
        """Return one value per seed."""
        column = column or self.figure
        of = (lambda row: getattr(row, column)) if isinstance(column, str) else column
        return np.array([of(row) or 0.0 for row in self._rows[setting, arm]])

    def mean(self, setting: Any, arm: Any, column: Column = "") -> Interval:
        """Return the mean over the seeds."""
        return mean(self.values(setting, arm, column))

    def over(self, settings: Iterable[Any], arm: Any, column: Column = "") -> float:
        """Return the mean over settings of the means over the seeds."""
        return float(np.mean([self.mean(setting, arm, column).value for setting in settings]))

    def below(self, setting: Any, arm: Any, other: Any, column: Column = "") -> Interval:
        """Return by what part one is below another on the same jobs."""
        return reduction(self.values(setting, arm, column), self.values(setting, other, column))

    def mean_in(self, settings: Iterable[Any], arm: Any, column: Column = "") -> list[Interval]:
        """Return the mean in each setting."""
        return [self.mean(setting, arm, column) for setting in settings]

    def means(
        self, settings: Iterable[Any], arm: Any, column: Column = ""
    ) -> list[Interval | None]:
        """Return the mean in each setting; None where it was not run."""
        return [self.mean(s, arm, column) if self.has(s, arm) else None for s in settings]


def by_columns(rows: Iterable[Any], *columns: str) -> dict[tuple[Any, ...], list[Any]]:
    """Return rows by some of their columns, of each group in the order of the seeds."""
    of: dict[tuple[Any, ...], list[Any]] = {}
    for row in sorted(rows, key=lambda row: row.seed):
        of.setdefault(tuple(getattr(row, column) for column in columns), []).append(row)
    return of


def simulate(trace: gs.Trace, cluster: gs.Cluster, **options: Any) -> gs.Result:
    """Run once; what a run warns of is known here, and not shown for each of thousands."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        return gs.simulate(trace, cluster, **options)


def timed(trace: gs.Trace, cluster: gs.Cluster, **options: Any) -> tuple[gs.Result, float, float]:
    """Run once; return also its processor time, in all and per instant (arrivals and finishes)."""
    before_s = time.process_time()
    result = simulate(trace, cluster, **options)
    spent_s = time.process_time() - before_s
    instants = np.union1d(result.trace.submit_us, result.schedule.finish_us)
    return result, spent_s, spent_s / len(instants)


def with_left_out(tables: Sequence[Table], files: Iterable[str]) -> list[Table]:
    """Return the tables; a note below the first one names the files that were not found."""
    names = ", ".join(files)
    if not names:
        return list(tables)
    note = f"Left out: {names} (not in the folder that --data or {VARIABLE} names)."
    first = msgspec.structs.replace(tables[0], notes=(*tables[0].notes, note))
    return [first, *tables[1:]]


def write_rows(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write rows as CSV, a column for every key."""
    import polars as pl

    frame = pl.from_dicts(list(rows), infer_schema_length=None)
    with replacing(path) as partial:
        frame.write_csv(partial)


def plain(**values: Any) -> dict[str, Any]:
    """Return the values by name as :func:`finite` gives them."""
    return {name: finite(value) for name, value in values.items()}


def finite(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not have, and texts for keys.

    Rows and objects of data classes become dictionaries.
    """
    if isinstance(value, Row):
        return finite(value.columns)
    if isinstance(value, Table):
        told = {"title": value.title, "headings": value.headings, "rows": value.texts}
        return finite(told | {"notes": value.notes})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return finite(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
