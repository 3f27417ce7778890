"""Search the options of policies, and test the best on held-out jobs: :func:`tune`."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from gpusched.base.field_checks import check_integer
from gpusched.base.libraries import need
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.base.tables import BEST, Cell, Column, Table, Value, html_page, table, text_column
from gpusched.base.wording import plural
from gpusched.plugins.policy import Policy
from gpusched.results import shown_metrics
from gpusched.results.metric_registry import metrics
from gpusched.results.same_jobs import MOST_LEFT, OTHERS, UNSERVED
from gpusched.studies import paper_tables
from gpusched.studies.compared_runs import ComparedRuns, compare_runs
from gpusched.studies.executors import Backend, opened
from gpusched.studies.plan import choice_content, choices_of
from gpusched.studies.space import PolicySpace
from gpusched.studies.study import Study
from gpusched.studies.sweep import run_study
from gpusched.studies.sweep_result import SweepResult
from gpusched.studies.verdicts import change_text
from gpusched.studies.windows import Windows, windows_of

SEARCH: Final = "search"
HELD_OUT: Final = "held-out"
"""Subfolders of a tuning."""
REDUCTION: Final = 3
"""Growth of the jobs from window to window; one trial in so many moves on."""
# A gain that shrinks below this share of what the search saw was mostly luck.
_KEPT: Final = 0.5
_MOST: Final = 1_000_000
_MOST_WINDOWS: Final = 1_000
_MOST_RUNGS: Final = 10
_SAMPLERS: Final = ("tpe", "random")
_PRUNERS: Final = ("halving", "hyperband", "none")
_STATES: Final = {"finished": "COMPLETE", "pruned": "PRUNED", "failed": "FAIL"}


@dataclass(frozen=True, eq=False, repr=False)
class Tuning:
    """The result of :func:`gpusched.tune`.

    Attributes
    ----------
    study, space, metric, better
        The arguments; ``better`` is ``"lower"`` or ``"higher"``.
    best
        The best policy in the whole search window; held-out jobs do not affect the choice.
    baseline
        Label of the policy that all are compared with.
    trials
        One row per trial: ``trial``, ``policy``, ``state`` (``"finished"``, ``"pruned"`` or
        ``"failed"``), ``value`` (the mean of the metric over all runs in the whole search window;
        null unless it finished), ``values`` (per window, the shortest first), ``num_runs``,
        ``error``, and a column for each searched option.
    held_out
        One row for each of the best few, the default options of their policies and the baseline:
        ``trial`` (null if it is not a trial), ``search_value`` and ``search_ratio`` (to the
        baseline) in the whole search window, then for the held-out jobs the columns of
        :class:`~gpusched.studies.ComparedRuns`: ``typical``, ``low``, ``high``, ``ratio`` to the
        baseline with its interval (for shares ``difference``), paired, and ``p_adjusted``.
    compared
        The comparison on held-out jobs.
    runs
        All held-out runs.
    windows
        What was searched and held out of each trace, one string per sentence.
    warnings
        Caveats of the best policy, one string per sentence.
    folder
        Folder of the saved runs; None: not saved.
    """

    study: Study
    space: PolicySpace
    metric: str
    better: str
    best: Policy
    baseline: str
    trials: pl.DataFrame
    held_out: pl.DataFrame
    compared: ComparedRuns
    runs: SweepResult
    windows: tuple[str, ...]
    warnings: tuple[str, ...]
    folder: str | None = None

    def __repr__(self) -> str:
        return f"Tuning({self.study.name!r}: {self.metric}, best {self.best}, {self.counts})"

    @property
    def counts(self) -> str:
        """The number of trials by state, in words."""
        states = self.trials["state"]
        parts = [
            f"{number:,} {state}"
            for state in ("pruned", "failed")
            if (number := int((states == state).sum()))
        ]
        told = plural(len(states), "trial")
        return f"{told} ({', '.join(parts)})" if parts else told

    @property
    def default_value(self) -> float | None:
        """The metric of the baseline in the whole search window."""
        found: float | None = self.held_out.filter(policy=self.baseline)["search_value"][0]
        return found

    @property
    def recommended(self) -> str:
        """The best policy if the interval of its gain on held-out jobs excludes no gain; else the
        baseline."""
        row = self.held_out.filter(policy=str(self.best))
        is_best = len(row) and is_certain(self.compared, row.row(0, named=True))
        return str(self.best) if is_best else self.baseline

    @property
    def shown(self) -> Table:
        """Search and held-out results next to each other, the best policy first."""
        kind, label = shown_metrics.kind_of(self.metric), shown_metrics.label_of(self.metric)
        columns = [
            text_column("policy"),
            Column("trial"),
            Column(f"search: {label}", kind=kind, key="search_value", short="search:"),
            Column("ratio", key="search_ratio"),
            *paper_tables.typical_columns(self.compared, "held out:"),
            *paper_tables.change_columns(self.compared),
        ]
        rows: list[list[Value | Cell]] = []
        for place, row in enumerate(self.held_out.iter_rows(named=True)):
            is_base = row["policy"] == self.baseline
            origin = "default" if row["trial"] is None else str(row["trial"])
            if is_base:
                origin = "baseline" if row["trial"] is None else f"{origin}, baseline"
            rows.append(
                [
                    Cell(row["policy"], BEST * (not place)),
                    origin,
                    row["search_value"],
                    "" if is_base else row["search_ratio"],
                    row["typical"],
                    (row["low"], row["high"]),
                    *paper_tables.change_cells(self.compared, row),
                ]
            )
        return table("", columns, rows)

    @property
    def rows(self) -> tuple[list[str], list[list[str]]]:
        """Headings and rows of the table, as strings."""
        return list(self.shown.headings), [*map(list, self.shown.texts)]

    def table(self) -> str:
        """Format search and held-out results as a Markdown table.

        ``compared.table("latex")`` has the held-out part for a paper.

        Returns
        -------
        str
            Ends in a line break; caveats are below the table.

        Examples
        --------
        >>> found = gs.tune({"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}, {
        ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
        ...     "clusters": [{"servers": 2, "gpus": 8}],
        ... }, "mean_jct_s", trials=4, held_out=3)
        >>> found.table().startswith("| policy")
        True
        """
        notes = [f"{self.counts}; {self.windows[0]}", *self.windows[1:], *self.warnings]
        return self.shown.to_markdown() + "\n" + "\n".join(notes) + "\n"

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        from html import escape

        told = "".join(f"<p>{escape(line)}</p>" for line in (*self.windows, *self.warnings))
        return html_page(repr(self), self.shown.to_html(), told)


class Score(NamedTuple):
    """The mean of the metric over the runs of a policy in a window; None with an error.

    ``unserved`` is the largest share of the requested GPU time that a run did not finish.
    """

    value: float | None
    error: str | None
    num_runs: int
    unserved: float = 0.0


@dataclass
class Attempt:
    """A trial: its choices and its outcome.

    ``label``, ``values``: name of the policy in the space, and its options.
    ``policy``: none if the values cannot be combined.
    ``scores``: one per window so far.
    """

    number: int
    label: str
    values: dict[str, Any]
    policy: Policy | None = None
    scores: list[float] = field(default_factory=list)
    state: Literal["finished", "pruned", "failed"] | None = None
    error: str | None = None
    num_runs: int = 0

    def take(self, score: Score) -> bool:
        """Add the score in a window, and return whether it has a value."""
        self.num_runs += score.num_runs
        if score.value is None:
            self.state, self.error = "failed", score.error
            return False
        self.scores.append(score.value)
        return True


@dataclass(frozen=True)
class Candidate:
    """A policy to be tested on held-out jobs.

    ``trial``: its number; None for the baseline and for default options.
    ``search_value``: the metric in the whole search window; None if it did not run there, or
        failed.
    """

    label: str
    choice: Any
    trial: int | None
    search_value: float | None

    @property
    def content(self) -> bytes:
        """The policy itself, whatever its label; explicit defaults do not count."""
        return choice_content("policy", self.choice)


@dataclass
class Runner:
    """Runs policies on the same jobs, and reports progress in trials."""

    windows: Windows
    metric: str
    backend: Backend
    folder: str | os.PathLike[str] | None
    stop: threading.Event | None
    trials: int
    progress: OnProgress | None
    num_done: int = 0
    _known: dict[tuple[int, str], Score] = field(default_factory=dict)
    _most_unserved: float = math.inf

    def tell(self, _: object = None) -> None:
        """Report how many trials are done."""
        if self.progress is not None:
            self.progress(Progress(self.num_done, self.trials, SEARCH))

    def scores(self, rung: int, policies: Mapping[str, Any]) -> dict[str, Score]:
        """Return the scores of policies, by their labels, in a window, with a cache."""
        left = {label: p for label, p in policies.items() if (rung, label) not in self._known}
        if left:
            done = self._runs(self.windows.rungs[rung], left, SEARCH, self.tell).runs
            for label in left:
                own = done.filter(done["policy"] == label)
                self._known[rung, label] = score_of(own, self.metric)
        found = {label: self._known[rung, label] for label in policies}
        for label, score in found.items():
            if score.unserved > self._most_unserved and rung == len(self.windows.rungs) - 1:
                lost = f"does not finish {score.unserved:.1%} of the requested GPU time"
                found[label] = score._replace(value=None, error=f"{lost}: more than the baseline")
        return found

    def reference(self, label: str, choice: Any, what: str = "") -> Candidate:
        """Run a non-trial policy in the whole search window; raise ValueError if it fails."""
        score = self.scores(len(self.windows.rungs) - 1, {label: choice})[label]
        if what:
            if score.value is None:
                raise ValueError(f"{what} {label}: {score.error}")
            self._most_unserved = score.unserved + MOST_LEFT
        return Candidate(label, choice, None, score.value)

    def held_out(self, candidates: Sequence[Candidate]) -> SweepResult:
        """Run candidates on the held-out jobs."""
        tell = self.progress or self.tell
        policies = {one.label: one.choice for one in candidates}
        return self._runs(
            self.windows.held_out, policies, HELD_OUT, lambda now: tell(now._replace(part=HELD_OUT))
        )

    def _runs(
        self, study: Study, policies: Mapping[str, Any], part: str, progress: OnProgress
    ) -> SweepResult:
        entries = tuple({"policy": choice, "label": label} for label, choice in policies.items())
        return run_study(
            msgspec.structs.replace(study, policies=entries, baseline=None, metrics=(self.metric,)),
            folder=None if self.folder is None else Path(self.folder) / part,
            executor=self.backend,
            only=None,
            progress=progress,
            stop=self.stop,
            has_same_jobs=part == HELD_OUT,  # during the search, later trials are unknown
        )


def values_of(runs: pl.DataFrame, metric: str) -> pl.Series:
    """Return a metric of runs, null if undefined."""
    if metric not in runs.columns:
        return pl.Series(metric, [None] * len(runs), pl.Float64)
    return runs[metric].cast(pl.Float64, strict=False).fill_nan(None)


def score_of(runs: pl.DataFrame, metric: str) -> Score:
    """Return the mean of a metric over the runs of a policy."""
    errors, values = runs["error"].drop_nulls(), values_of(runs, metric)
    if len(errors):
        return Score(None, errors[0], len(runs))
    if values.null_count() or values.is_infinite().any():
        return Score(None, f"{metric} is undefined for some of its runs", len(runs))
    unserved = values_of(runs, UNSERVED).max() if metrics()[metric].is_of_finished else 0.0
    return Score(math.fsum(values) / len(values), None, len(runs), float(unserved or 0.0))  # type: ignore[arg-type]


def search(
    space: PolicySpace,
    runner: Runner,
    *,
    better: str,
    batch: int,
    seed: int,
    sampler: Any,
    pruner: Any,
) -> list[Attempt]:
    """Search a space, from the default options on; equal arguments give equal trials.

    ``batch``: number of trials proposed at a time, each without knowing the others' results.
    """
    import optuna
    from optuna.trial import TrialState

    num_rungs = len(runner.windows.rungs)
    with _quietly():
        study = optuna.create_study(
            sampler=sampler_of(sampler, seed, batch),
            pruner=pruner_of(pruner, num_rungs),
            direction="minimize" if better == "lower" else "maximize",
            study_name="gpusched",  # Hyperband derives its brackets from the name
        )
    default = space.default_trial()
    if default is not None and isinstance(sampler, str):  # others have their own plan
        study.enqueue_trial(default)
    is_over: list[bool] = []
    # A sampler that has nothing left to try stops the search.
    study.stop = lambda: is_over.append(True)  # type: ignore[method-assign]
    done: list[Attempt] = []
    while len(done) < runner.trials and not is_over:
        asked = [study.ask() for _ in range(min(batch, runner.trials - len(done)))]
        attempts = [_attempt(space, trial) for trial in asked]
        for rung in range(num_rungs):
            running = [pair for pair in zip(attempts, asked, strict=True) if pair[0].state is None]
            found = runner.scores(rung, {str(one.policy): one.policy for one, _ in running})
            for one, trial in running:
                if not one.take(found[str(one.policy)]):
                    continue
                if rung == num_rungs - 1:
                    one.state = "finished"
                    continue
                trial.report(one.scores[-1], REDUCTION**rung)
                if trial.should_prune():
                    one.state = "pruned"
        for one, trial in zip(attempts, asked, strict=True):
            value = one.scores[-1] if one.state == "finished" else None
            study.tell(trial, value, state=TrialState[_STATES[one.state or "failed"]])
        done += attempts
        runner.num_done = len(done)
        runner.tell()
    return done


def _attempt(space: PolicySpace, trial: Any) -> Attempt:
    one, values = space.draw(trial)
    made = Attempt(trial.number, one.label, values)
    try:
        made.policy = Policy(one.fixed.name, **(one.fixed.parameters | dict(values)))
    except (TypeError, ValueError) as error:
        made.state, made.error = "failed", f"{type(error).__name__}: {error}"
    return made


def sampler_of(sampler: Any, seed: int, batch: int) -> Any:
    """Return an Optuna sampler unchanged, or the one of that name."""
    from optuna import samplers

    made: tuple[Callable[[], Any], ...] = (
        partial(samplers.TPESampler, seed=seed, constant_liar=batch > 1),
        partial(samplers.RandomSampler, seed=seed),
    )
    return _named("sampler", sampler, samplers.BaseSampler, dict(zip(_SAMPLERS, made, strict=True)))


def pruner_of(pruner: Any, num_rungs: int) -> Any:
    """Return an Optuna pruner unchanged, or the one of that name."""
    from optuna import pruners

    how: dict[str, Any] = {"min_resource": 1, "reduction_factor": REDUCTION}
    most = REDUCTION ** (num_rungs - 1)
    made: tuple[Callable[[], Any], ...] = (
        partial(pruners.SuccessiveHalvingPruner, **how),
        partial(pruners.HyperbandPruner, max_resource=most, **how),
        pruners.NopPruner,
    )
    if num_rungs == 1:
        made = (pruners.NopPruner,) * 3
    return _named("pruner", pruner, pruners.BasePruner, dict(zip(_PRUNERS, made, strict=True)))


def _named(what: str, given: Any, kind: type, made: Mapping[str, Callable[[], Any]]) -> Any:
    if isinstance(given, kind):
        return given
    if not isinstance(given, str):
        raise TypeError(f"{what}: expected a name or an Optuna {what}, not {given!r}")
    if given not in made:
        raise ValueError(f"{what}: unknown {given!r}{nearest(given, list(made))}")
    with warnings.catch_warnings():  # Optuna warns that an argument may change
        warnings.simplefilter("ignore")
        return made[given]()


@contextmanager
def _quietly() -> Iterator[None]:
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


def best_of(
    found: Sequence[Attempt], baseline: Candidate, better: str, number: int
) -> list[Candidate]:
    """Return the best finished policies, the best one first.

    Of several with the same value only the first is included: they are likely the same policy,
    differing in an option without effect.
    """
    done = [one for one in found if one.state == "finished"]
    if not done:
        errors = [one.error for one in found if one.error]
        raise ValueError(f"no trial of {len(found):,} finished: {errors[0]}")
    sign = 1 if better == "lower" else -1
    done.sort(key=lambda one: (sign * one.scores[-1], one.number))
    distinct: dict[float, Candidate] = {}
    for one in done:
        value = one.scores[-1]
        made = Candidate(str(one.policy), one.policy, one.number, value)
        if made.content == baseline.content:
            made = replace(made, label=baseline.label)
        distinct.setdefault(value, made)
    return list(distinct.values())[:number]


def replicates(runs: pl.DataFrame, metric: str, titles: Mapping[str, str]) -> pl.DataFrame:
    """Return one row per policy and seed: the mean over all other axes, null if one is missing."""
    value = pl.col(metric)
    whole_mean = pl.when(value.is_not_null().all()).then(value.mean()).otherwise(None)
    shares = [pl.col(key).max() for key in (UNSERVED, OTHERS) if key in runs.columns]
    return (
        runs.with_columns(values_of(runs, metric), pl.col("trace").replace(dict(titles)))
        .group_by("policy", "seed", maintain_order=True)
        .agg(whole_mean.alias(metric), *shares)
    )


def compared(
    runs: pl.DataFrame,
    metric: str,
    candidates: Sequence[Candidate],
    titles: Mapping[str, str],
    *,
    baseline: str,
    better: str,
    level: float,
) -> tuple[pl.DataFrame, ComparedRuns]:
    """Compare candidates on the held-out jobs.

    The frame has each one's search result, then the columns of the comparison.
    """
    found = compare_runs(
        replicates(runs, metric, titles),
        metric,
        axis="policy",
        baseline=baseline,
        level=level,
        better=better,  # type: ignore[arg-type]
    )
    base = next(one.search_value for one in candidates if one.label == baseline)
    seen = pl.DataFrame(
        {
            "policy": [one.label for one in candidates],
            "trial": [one.trial for one in candidates],
            "search_value": [one.search_value for one in candidates],
            "search_ratio": [
                one.search_value / base if one.search_value is not None and base else None
                for one in candidates
            ],
        },
        schema={
            "policy": pl.String, "trial": pl.Int64, "search_value": pl.Float64,
            "search_ratio": pl.Float64,
        },
    )  # fmt: skip
    return seen.join(found.frame, on="policy", how="left", maintain_order="left"), found


def is_certain(found: ComparedRuns, row: Mapping[str, Any]) -> bool:
    """Whether a row is better than the baseline over its whole interval."""
    end = row[f"{found.scale}_{'high' if found.better == 'lower' else 'low'}"]
    return end is not None and row["level"] >= found.level and _gain(found, end) > 0


def _gain(found: ComparedRuns, change: float) -> float:
    gain = (1.0 if found.scale == "ratio" else 0.0) - change
    return gain if found.better == "lower" else -gain


def verdicts(found: ComparedRuns, held_out: pl.DataFrame, best: str) -> list[str]:
    """Return warnings about the best policy, one string per sentence."""
    baseline = found.baseline
    if best == baseline:
        return [f"the search found nothing better than {baseline}"]
    row, base = (held_out.filter(policy=name).row(0, named=True) for name in (best, baseline))
    change, is_ratio = row[found.scale], found.scale == "ratio"
    if change is None:
        return [f"{best}: unknown gain on held-out jobs; its runs failed, or have no value"]

    def text(gain: float) -> str:
        return f"{gain:.1%}" if is_ratio else change_text(found.metric, gain).lstrip("+")

    gain, keep = _gain(found, change), f"keep {baseline}"
    if gain <= 0:
        way = "more" if (found.better == "lower") else "less"
        worse = f", it is {text(-gain)} {way}" if gain else ""
        return [f"{best} is not better than {baseline} on held-out jobs{worse}: the gain in the "
        f"search was chance; {keep}"]  # fmt: skip
    lines = []
    if not is_certain(found, row):
        lines.append(
            f"{best}: the gain on held-out jobs, {text(gain)}, is not certain: it may be chance; "
            f"{keep}"
        )
    seen = None
    if row["search_value"] is not None and base["search_value"] is not None:
        first, second = row["search_value"], base["search_value"]
        seen = _gain(found, first / second if is_ratio else first - second)
    if seen is not None and gain < _KEPT * seen:
        lines.append(
            f"{best}: the gain on held-out jobs, {text(gain)}, is much smaller than in the search, "
            f"{text(seen)}: the search overfitted; use more jobs or more seeds"
        )
    return lines


def edges(space: PolicySpace, best: Attempt) -> list[str]:
    """Return a message for each option of the best trial at an end of its range."""
    options = next(one.options for one in space.policies if one.label == best.label)
    return [
        f"{option} of the best, {best.values[option]!r}, is at the {end} end of its range "
        f"{what}: widen the range"
        for option, what in options.items()
        if (end := what.edge(best.values[option]))
    ]


def failures(found: Sequence[Attempt]) -> list[str]:
    """Return how many trials failed, and the error of the first, if any."""
    failed = [one for one in found if one.state == "failed"]
    if not failed:
        return []
    return [f"{len(failed):,} of {len(found):,} trials failed; the first, {failed[0].number}: "
            f"{failed[0].error}"]  # fmt: skip


def trials_frame(found: Sequence[Attempt], space: PolicySpace) -> pl.DataFrame:
    """Return one row per trial, with a column for each searched option."""
    columns = [
        pl.Series("trial", [one.number for one in found], pl.Int64),
        pl.Series(
            "policy", [None if a.policy is None else str(a.policy) for a in found], pl.String
        ),
        pl.Series("state", [one.state for one in found], pl.String),
        pl.Series(
            "value",
            [one.scores[-1] if one.state == "finished" else None for one in found],
            pl.Float64,
        ),
        pl.Series("values", [one.scores for one in found], pl.List(pl.Float64)),
        pl.Series("num_runs", [one.num_runs for one in found], pl.Int64),
        pl.Series("error", [one.error for one in found], pl.String),
    ]
    for (label, option), title in space.columns.items():
        values = [one.values[option] if one.label == label else None for one in found]
        columns.append(pl.Series(title, [list(v) if isinstance(v, tuple) else v for v in values]))
    return pl.DataFrame(columns)


def tune(
    policy_space: Any,
    study: Study | Mapping[str, Any] | str | os.PathLike[str],
    metric: str,
    *,
    trials: int = 50,
    seed: int = 0,
    held_out: int | Sequence[int] = 10,
    search_share: float = 0.5,
    rungs: int = 3,
    num_best: int = 3,
    batch: int = 1,
    sampler: Any = "tpe",
    pruner: Any = "halving",
    better: str | None = None,
    level: float = 0.95,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Tuning:
    """Search the options of policies for the best metric, and test the result on held-out jobs.

    Optuna proposes trials. Each runs on a short window first, and only the better third moves on to
    the next one. The best few, the default options of their policies and the baseline then run once
    on jobs that the search never saw. All trials have the same jobs and seeds. Equal arguments give
    equal trials with any executor.

    Parameters
    ----------
    policy_space
        The search space: a list of policies, a single one, or a mapping or a TOML or JSON file with
        the list as ``space``. Each is a string, or a table with ``policy``, and an option has a
        value, a list of values to choose from, or a range: ``{"low": 0.1, "high": 10, "log":
        True}`` or with a ``step``. ``"tune": ["tau"]`` derives the range of an option from how it
        is registered.
    study
        As for :func:`gpusched.sweep`: its traces, clusters, seeds, warm-up and other axes make the
        runs over which the metric is averaged. Its policies are not searched. All are compared with
        its baseline, by default the first policy of the space with default options.
    metric
        See :func:`gpusched.metrics`.
    trials
        Number of policies that the search tries.
    seed
        Seed of the search.
    held_out
        Seeds of generated jobs that the search never sees, or their number; for a trace that is
        read or given, the later part is cut into as many windows.
    search_share
        First part of the jobs of such a trace, used by the search.
    rungs
        Number of search windows: each has three times the jobs of the one before, the last one all
        search jobs. 1: no pruning.
    num_best
        Number of policies from the search to test on held-out jobs.
    batch
        Number of trials proposed at a time and run in parallel; use more than one if a single trial
        has too few runs for all cores. It affects which trials are made.
    sampler
        ``"tpe"``, ``"random"`` or an Optuna sampler.
    pruner
        ``"halving"``, ``"hyperband"``, ``"none"`` or an Optuna pruner.
    better
        ``"lower"`` or ``"higher"``; None: as the metric is registered.
    level
        Coverage of the intervals.
    folder
        Folder for finished runs. The same call resumes there after an interruption, or with more
        trials.
    executor
        Executor of the runs, as for :func:`gpusched.sweep`.
    progress
        Called with a :class:`~gpusched.base.progress.Progress`: trials, in the part ``"search"``,
        then runs, in the part ``"held-out"``.
    stop
        Stops the search when it is set.

    Returns
    -------
    Tuning

    Raises
    ------
    ImportError
        Without Optuna; the message says what to install.
    OSError
        If a file cannot be read, or the folder cannot be written.
    TypeError, ValueError
        If the space or the study is invalid, the metric is neither better lower nor higher, an
        argument is out of range, or the baseline or all trials fail.
    Cancelled
        If ``stop`` was set; finished runs are saved in the folder.
    KeyboardInterrupt
        On Ctrl-C, within a second; finished runs are saved, too.

    Warns
    -----
    RunWarning
        If the best policy is not better on held-out jobs, not significantly so, or by much less
        than in the search, or is at the end of a range.

    Examples
    --------
    >>> study = {
    ...     "name": "tuned", "seeds": [1, 2], "traces": [{"generate": "philly", "jobs": 90}],
    ...     "clusters": [{"servers": 2, "gpus": 8}],
    ... }
    >>> space = {"policy": "las", "period_s": {"low": 10, "high": 3600, "log": True}}
    >>> found = gs.tune(space, study, "mean_jct_s", trials=4, held_out=3)
    >>> found.best.name, len(found.trials), found.held_out["num_seeds"].max()
    ('las', 4, 3)
    """
    need("optuna", "tune", "gpusched-core[tune]")
    better = _direction(metric, better)
    for name, value, most in (
        ("trials", trials, _MOST), ("batch", batch, _MOST), ("num_best", num_best, _MOST),
        ("rungs", rungs, _MOST_RUNGS),
    ):  # fmt: skip
        check_integer(name, value, 1, most)
    sampler_of(sampler, seed, batch)  # a wrong name is found before anything is run
    pruner_of(pruner, rungs)
    if not 0 < search_share < 1:
        raise ValueError(f"search_share: {search_share!r} must be above 0 and below 1")
    space = PolicySpace.of(policy_space)
    read = Study.of(study)
    shares = [float(REDUCTION) ** (rung + 1 - rungs) for rung in range(rungs)]
    windows = windows_of(read, shares, search_share, _held_out_seeds(read, held_out))
    with opened(executor) as backend:
        runner = Runner(windows, metric, backend, folder, stop, trials, progress)
        baseline = runner.reference(*_baseline(read, space), "baseline")
        found = search(
            space, runner, better=better, batch=batch, seed=seed, sampler=sampler, pruner=pruner
        )
        best = best_of(found, baseline, better, num_best)
        candidates = {one.content: one for one in best}
        tried = {attempt.number: attempt.label for attempt in found}
        for label in dict.fromkeys(tried[one.trial] for one in best if one.trial is not None):
            fixed = next(one.fixed for one in space.policies if one.label == label)
            default = choice_content("policy", fixed)
            if default not in {*candidates, baseline.content}:
                candidates[default] = runner.reference(str(fixed), fixed)
        candidates.setdefault(baseline.content, baseline)
        judged = runner.held_out(list(candidates.values()))
    frame, comparison = compared(
        judged.runs, metric, list(candidates.values()), windows.titles,
        baseline=baseline.label, better=better, level=level,
    )  # fmt: skip
    lines = [
        *verdicts(comparison, frame, best[0].label),
        *edges(space, next(a for a in found if a.number == best[0].trial)),
        *failures(found),
    ]
    warn(lines, stacklevel=2)
    return Tuning(
        study=read,
        space=space,
        metric=metric,
        better=better,
        best=best[0].choice,
        baseline=baseline.label,
        trials=trials_frame(found, space),
        held_out=frame,
        compared=comparison,
        runs=judged,
        windows=windows.notes,
        warnings=tuple(dict.fromkeys([*lines, *comparison.warnings, *judged.warnings])),
        folder=None if folder is None else os.fspath(folder),
    )


def _direction(metric: str, better: str | None) -> str:
    known = metrics()
    if metric not in known:
        raise ValueError(f"metric: unknown metric {metric!r}{nearest(str(metric), list(known))}")
    if better is None:
        better = known[metric].better
        if better == "neutral":
            raise ValueError(
                f"metric: {metric} is registered as neither better lower nor higher; set better"
            )
    if better not in ("lower", "higher"):
        raise ValueError(f"better: {better!r} must be 'lower' or 'higher'")
    return better


def _held_out_seeds(study: Study, held_out: int | Sequence[int]) -> tuple[int, ...]:
    if isinstance(held_out, Sequence) and not isinstance(held_out, str):
        return tuple(held_out)
    check_integer("held_out", held_out, 1, _MOST_WINDOWS)
    first = max(study.seeds) + 1
    return tuple(range(first, first + held_out))


def _baseline(study: Study, space: PolicySpace) -> tuple[str, Any]:
    if study.baseline is None:
        policy = space.policies[0].fixed
        return str(policy), policy
    there = {one.label: one.choice for one in choices_of(study, "policy")}
    if study.baseline not in there:
        raise ValueError(
            f"{study.baseline!r}: not a policy of the study{nearest(study.baseline, list(there))} "
            "- at `$.baseline`"
        )
    return study.baseline, there[study.baseline]
