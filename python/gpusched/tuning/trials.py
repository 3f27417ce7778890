"""What becomes of policies in a window of the search: one figure each, worked out once."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from gpusched.base.progress import Progress
from gpusched.execution.choosing import Backend
from gpusched.sweeping.study import Study
from gpusched.sweeping.sweep import sweep
from gpusched.sweeping.sweep_result import SweepResult

if TYPE_CHECKING:
    import polars as pl

SEARCH: Final = "search"
HELD_OUT: Final = "held-out"
"""Folders in that of a tuning."""


@dataclass(frozen=True)
class Score:
    """The mean of the metric over all runs of a policy in a window; None with what went wrong."""

    value: float | None
    error: str | None = None
    num_runs: int = 0


class Runner:
    """Does the runs of policies, all on the same jobs.

    Parameters
    ----------
    folder
        Where finished runs are kept; None: nowhere.
    """

    def __init__(
        self,
        metric: str,
        backend: Backend,
        folder: str | os.PathLike[str] | None,
        stop: threading.Event | None,
    ) -> None:
        self._metric = metric
        self._backend = backend
        self._folder = None if folder is None else Path(folder)
        self._stop = stop
        self._known: dict[tuple[int, str], Score] = {}

    def scores(
        self, rung: int, study: Study, policies: Mapping[str, Any], tell: Callable[[], None]
    ) -> dict[str, Score]:
        """Return what policies, by their labels, achieve in a window of the search."""
        left = {label: p for label, p in policies.items() if (rung, label) not in self._known}
        if left:
            done = self.runs(study, left, SEARCH, lambda _: tell())
            for label in left:
                own = done.runs.filter(done.runs["policy"] == label)
                self._known[rung, label] = score_of(own, self._metric)
        return {label: self._known[rung, label] for label in policies}

    def runs(
        self,
        study: Study,
        policies: Mapping[str, Any],
        part: str,
        progress: Callable[[Progress], None],
    ) -> SweepResult:
        """Do all runs of a study with these policies."""
        entries = tuple({"policy": choice, "label": label} for label, choice in policies.items())
        return sweep(
            msgspec.structs.replace(
                study, policies=entries, baseline=None, metrics=(self._metric,)
            ),
            folder=None if self._folder is None else self._folder / part,
            executor=self._backend,
            progress=progress,
            stop=self._stop,
        )


def score_of(runs: pl.DataFrame, metric: str) -> Score:
    """Return the mean of a metric over the runs of a policy."""
    errors = runs["error"].drop_nulls()
    if len(errors):
        return Score(None, errors[0], len(runs))
    values = _numbers(runs[metric].to_list() if metric in runs.columns else [None])
    if any(value is None for value in values):
        return Score(None, f"{metric} is not defined for each of its runs", len(runs))
    return Score(math.fsum(value or 0.0 for value in values) / len(values), None, len(runs))


def _numbers(values: Iterable[Any]) -> Sequence[float | None]:
    return [
        float(value) if isinstance(value, int | float) and math.isfinite(value) else None
        for value in values
    ]
