"""Search the options of policies, and judge the best on jobs that it never saw: :func:`tune`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.field_checks import check_integer
from gpusched.base.libraries import need
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.run_warning import warn
from gpusched.base.suggest import nearest
from gpusched.execution.choosing import opened
from gpusched.results.metric_registry import metrics
from gpusched.sweeping.plan import choices_of
from gpusched.sweeping.study import Study
from gpusched.tuning.held_out import Candidate as Candidate
from gpusched.tuning.held_out import best_of, content_of_policy
from gpusched.tuning.held_out import compared as compared
from gpusched.tuning.held_out import replicates as replicates
from gpusched.tuning.held_out import verdicts as verdicts
from gpusched.tuning.search import REDUCTION, Attempt, search
from gpusched.tuning.space import PolicySpace
from gpusched.tuning.trials import HELD_OUT, Runner
from gpusched.tuning.tuning_result import Tuning
from gpusched.tuning.windows import windows_of

if TYPE_CHECKING:
    import polars as pl


def edges(space: PolicySpace, best: Attempt) -> list[str]:
    """Return a sentence for each option of the best trial that lies at an end of its range."""
    options = next(one.options for one in space.policies if one.label == best.label)
    return [
        f"{option} of the best, {best.values[option]!r}, lies at the {end} end of its range "
        f"{what}: a better one may lie beyond"
        for option, what in options.items()
        if (end := what.edge(best.values[option]))
    ]


def failures(found: Sequence[Attempt]) -> list[str]:
    """Return how many trials failed, and why the first did, if any."""
    failed = [one for one in found if one.state == "failed"]
    if not failed:
        return []
    return [f"{len(failed):,} of {len(found):,} trials failed; the first, {failed[0].number}: "
            f"{failed[0].error}"]  # fmt: skip


def trials_frame(found: Sequence[Attempt], space: PolicySpace) -> pl.DataFrame:
    """Return one row per trial, with a column for each option that was searched."""
    import polars as pl

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


_MOST: Final = 1_000_000
_MOST_WINDOWS: Final = 1_000
_MOST_RUNGS: Final = 10


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
    """Search the options of policies for the best of a metric, and judge what is found.

    Optuna proposes; each trial is run on a short window first, and only the better third of the
    trials goes on to the next one. The best few of the search, the default options of their
    policies and the baseline are then run once on jobs that the search never saw. All trials run on
    the same jobs with the same seeds. Equal arguments give equal trials, whatever the executor is.

    Parameters
    ----------
    policy_space
        What there is to choose: a list of policies, one alone, or a mapping or a TOML or JSON file
        with the list as ``space``. Each is a text, or a table with ``policy``, and an option has a
        value, a list of values to choose among, or a range: ``{"low": 0.1, "high": 10, "log":
        True}`` or with a ``step``. ``"tune": ["tau"]`` takes the range of an option from how it was
        registered.
    study
        As for :func:`gpusched.sweep`: its traces, clusters, seeds, warm-up and other axes, over
        all runs of which the mean of the metric counts. Its policies are not searched. Its baseline
        is what all are compared with; without one that is the first policy of the space with
        default options.
    metric
        See :func:`gpusched.metrics`.
    trials
        How many policies the search tries.
    seed
        Of the search.
    held_out
        Seeds of generated jobs that the search never sees, or how many; as many windows are made
        of the later part of a trace that is read or given.
    search_share
        The first part of the jobs of such a trace, which the search may see.
    rungs
        How many windows the search has: each has three times the jobs of the one before, the last
        one all that the search may see. 1: nothing is pruned.
    num_best
        How many of the search are judged on held-out jobs.
    batch
        Trials that are proposed at a time, and run side by side; more than one makes sense where a
        trial alone has too few runs for all cores. It decides which trials there are.
    sampler
        ``"tpe"``, ``"random"`` or a sampler of Optuna.
    pruner
        ``"halving"``, ``"hyperband"``, ``"none"`` or a pruner of Optuna.
    better
        ``"lower"`` or ``"higher"``; None: as the metric was registered.
    level
        Of the intervals.
    folder
        Where finished runs are kept as they come. The same call goes on where it was after an
        interruption, and with more trials.
    executor
        Where runs are done, as for :func:`gpusched.sweep`.
    progress
        Called with a :class:`~gpusched.base.progress.Progress`: trials, in the part ``"search"``,
        then runs, in the part ``"held-out"``.
    stop
        Ends the search when it is set.

    Returns
    -------
    Tuning

    Raises
    ------
    ImportError
        Without Optuna; the message says what to install.
    OSError
        If a file cannot be read, or the folder not be written.
    TypeError, ValueError
        If the space or the study is wrong, the metric is neither better lower nor higher, an
        argument is out of range, the baseline fails or all trials do.
    Cancelled
        If ``stop`` was set; runs that were done are kept in the folder.
    KeyboardInterrupt
        On Ctrl-C, within a second, likewise.

    Warns
    -----
    RunWarning
        If the best one is not better on held-out jobs, not significantly, or by much less than in
        the search, or lies at the end of a range.

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
    need("optuna", "tune", "gpusched[tune]")
    better = _direction(metric, better)
    for name, value, most in (
        ("trials", trials, _MOST), ("batch", batch, _MOST), ("num_best", num_best, _MOST),
        ("rungs", rungs, _MOST_RUNGS),
    ):  # fmt: skip
        check_integer(name, value, 1, most)
    if not 0 < search_share < 1:
        raise ValueError(f"search_share: {search_share!r} must be above 0 and below 1")
    space = PolicySpace.of(policy_space)
    read = Study.of(study)
    shares = [float(REDUCTION) ** (rung + 1 - rungs) for rung in range(rungs)]
    windows = windows_of(read, shares, search_share, _held_out_seeds(read, held_out))
    base = _baseline(read, space)
    tell = progress if progress is not None else _silent
    with opened(executor) as backend:
        runner = Runner(metric, backend, folder, stop)
        num_done = 0

        def told(number: int | None = None) -> None:
            nonlocal num_done
            num_done = num_done if number is None else number
            tell(Progress(num_done, trials, "search"))

        def reference(label: str, choice: Any) -> Candidate:
            """Run what is no trial in the whole search window."""
            score = runner.scores(rungs - 1, windows.rungs[-1], {label: choice}, told)[label]
            if score.value is None and label == base[0]:
                raise ValueError(f"baseline {label}: {score.error}")
            return Candidate(label, choice, None, score.value)

        baseline = reference(*base)
        found = search(
            space,
            rungs,
            lambda rung, policies: runner.scores(rung, windows.rungs[rung], policies, told),
            better=better,
            trials=trials,
            batch=batch,
            seed=seed,
            sampler=sampler,
            pruner=pruner,
            told=told,
        )
        best = best_of(found, baseline, better, num_best)
        candidates = {content_of_policy(one.choice): one for one in best}
        tried = {attempt.number: attempt.label for attempt in found}
        for label in dict.fromkeys(tried[one.trial] for one in best if one.trial is not None):
            default = next(one.fixed for one in space.policies if one.label == label)
            if content_of_policy(default) not in {*candidates, content_of_policy(baseline.choice)}:
                candidates[content_of_policy(default)] = reference(str(default), default)
        candidates.setdefault(content_of_policy(baseline.choice), baseline)
        judged = runner.runs(
            windows.held_out,
            {one.label: one.choice for one in candidates.values()},
            HELD_OUT,
            lambda told: tell(told._replace(part=HELD_OUT)),
        )
    frame, comparison = compared(
        judged.runs, metric, list(candidates.values()), windows.titles,
        baseline=baseline.label, better=better, level=level,
    )  # fmt: skip
    lines = [
        *verdicts(frame, best[0].label, baseline.label, better),
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
                f"metric: {metric} is registered as neither better lower nor higher; give better"
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
            f"{study.baseline!r} is no policy of the study{nearest(study.baseline, list(there))} "
            "- at `$.baseline`"
        )
    return study.baseline, there[study.baseline]


def _silent(_: Progress) -> None:
    pass
