"""The results of a study: one row per run, comparisons and tables."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.libraries import polars as pl
from gpusched.base.replacing import replacing
from gpusched.base.tables import Cell, Column, Table, Value, html_page, table, text_column
from gpusched.base.wording import plural
from gpusched.results.metric_registry import Metric, metrics
from gpusched.results.same_jobs import OTHERS
from gpusched.results.shown_metrics import (
    CLAIRVOYANT,
    GROWTH,
    GROWTH_NOTE,
    SEES_TRUTH,
    column_of,
    main_metrics,
)
from gpusched.studies.hodges_lehmann import signed_rank, typical
from gpusched.studies.paper_tables import axis_text
from gpusched.studies.plan import RUN_KEYS, choices_of
from gpusched.studies.study import Study, warm_up_time
from gpusched.studies.verdicts import growth_mark

if TYPE_CHECKING:
    from gpusched.studies.compared_runs import ComparedRuns

_SHOWN_ROWS: Final = 20
_MOST_METRICS: Final = 6
# From this load on, a queue builds up that the first jobs do not see.
_BUSY: Final = 0.8


@dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The results of a study, from :func:`gpusched.sweep`.

    Attributes
    ----------
    study
        The study.
    runs
        One row per run: ``run`` (its name), a column per axis, the metrics of
        ``Result.summary()`` (job metrics over the jobs that all compared policies finish),
        ``unserved_share`` and ``others_share`` (shares of the GPU time of jobs that the run does
        not finish, and that only some of the policies do), ``offered_load`` (the metric ``load``;
        the column ``load`` is the load requested), ``wall_s`` (of the simulation) and ``total_s``
        (with its summary), ``clairvoyant``, ``warnings``, and for a failed run ``error`` and
        ``repeat``, a command that repeats it. Runs that were not done have neither metrics nor an
        error.
    folder
        Folder of the saved runs; None: not saved.
    damaged
        One message per file of the folder that was ignored.
    """

    study: Study
    runs: pl.DataFrame
    folder: str | None = None
    damaged: tuple[str, ...] = ()

    def __repr__(self) -> str:
        where = "" if self.folder is None else f" in {self.folder}"
        failed = f", {self.num_failed:,} failed" if self.num_failed else ""
        return (
            f"SweepResult({self.study.name!r}: {self.num_done:,} of "
            f"{plural(len(self.runs), 'run')}{failed}{where})"
        )

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def num_failed(self) -> int:
        """Number of failed runs."""
        return len(self.runs) - int(self.runs["error"].null_count())

    @property
    def num_done(self) -> int:
        """Number of finished runs, including failed ones."""
        return len(self.runs) - int(self.runs["wall_s"].null_count()) + self.num_failed

    @property
    def finished(self) -> pl.DataFrame:
        """The rows of the runs that succeeded."""
        return self.runs.filter(self.runs["wall_s"].is_not_null())

    def compare(
        self,
        metric: str | None = None,
        *,
        by: Sequence[str] | None = None,
        axis: str = "policy",
        baseline: str | None = None,
        **options: Any,
    ) -> ComparedRuns:
        """Compare the values of an axis by a metric, with intervals over the seeds.

        Parameters
        ----------
        metric
            A column of :attr:`runs`; None: the first metric of the study, or ``mean_jct_s``.
        by
            Axes that make settings; None: all with more than one value.
        axis, baseline
            The axis to compare, and its baseline; None: policies with the study's baseline, or the
            first one.
        options
            Of :func:`gpusched.studies.compare_runs`: ``level``, ``better``, ``warm_up_s``.

        Returns
        -------
        ComparedRuns
            With ``frame`` and ``table()``.

        Raises
        ------
        ValueError
            If there is no such column, or no run succeeded.

        Examples
        --------
        >>> swept = gs.sweep({
        ...     "name": "small", "seeds": [1, 2], "policies": ["fifo", "sjf"],
        ...     "traces": [{"generate": "philly", "jobs": 50}],
        ...     "clusters": [{"servers": 2, "gpus": 8}],
        ... })
        >>> swept.compare("mean_wait_s").frame["policy"].to_list()
        ['fifo', 'sjf']
        """
        from gpusched.studies.compared_runs import compare_runs

        if not len(self.finished):
            raise ValueError(f"study {self.study.name}: no run was done, or all failed")
        if metric is None:
            metric = self.study.metrics[0] if self.study.metrics else "mean_jct_s"
        if baseline is None and axis == "policy":
            baseline = self.study.baseline or choices_of(self.study, "policy")[0].label
        if by is None:
            by = [key for key in differing_axes(self.study, self.runs) if key != axis]
        options.setdefault("warm_up_s", None if self._has_warm_up else 0.0)
        return compare_runs(self.runs, metric, axis=axis, by=by, baseline=baseline, **options)

    @property
    def warnings(self) -> list[str]:
        """Caveats of the table, one string per sentence."""
        return [
            *self.damaged, *self._failures(), *self._unstable(), *self._other_jobs(), *self._told(),
        ]  # fmt: skip

    @property
    def _has_warm_up(self) -> bool:
        return warm_up_time(self.study.warm_up_cut, np.arange(2.0)) > 0

    def _failures(self) -> list[str]:
        failed = self.runs.filter(self.runs["error"].is_not_null())
        if not len(failed):
            return []
        return [
            f"{self.num_failed:,} of {plural(len(self.runs), 'run')} failed: {failed['error'][0]}; "
            f"to repeat: {failed['repeat'][0]}"
        ]

    def _unstable(self) -> list[str]:
        """Warn of growing queues and of runs without a warm-up."""
        load = pl.col("offered_load")
        over = self.finished.filter(load >= 1)
        most = over.group_by("trace", "cluster", maintain_order=True).agg(load.max())
        lines = [
            f"{trace} on {cluster}: overloaded (load {offered:.2f}): the queue grows without "
            "bound, so all metrics depend on the length of the trace"
            for trace, cluster, offered in most.iter_rows()
        ]
        busy = self.finished.filter(load.is_between(_BUSY, 1, closed="left"))
        has_queue = "mean_wait_s" in busy.columns and bool((busy["mean_wait_s"] > 0).any())
        if not self._has_warm_up and has_queue:
            lines.append(
                f"no warm-up at load {_BUSY:g} or more: metrics include the start on an empty "
                "cluster; set warm_up"
            )
        return lines

    def _other_jobs(self) -> list[str]:
        """Warn where policies finish different jobs, so that metrics cover the common ones."""
        if OTHERS not in self.runs.columns:
            return []
        some = self.finished.filter(pl.col(OTHERS) > 0)
        most = some.group_by("trace", "cluster", maintain_order=True).agg(pl.col(OTHERS).max())
        return [
            f"{trace} on {cluster}: job metrics cover the jobs that every policy finishes; others "
            f"have up to {100 * share:.3g}% of the GPU time"
            for trace, cluster, share in most.iter_rows()
        ]

    def _told(self) -> list[str]:
        """The warnings of the runs, with their policies."""
        runs = self.runs.select("warnings", "policy").drop_nulls("warnings")
        policies: dict[str, list[str]] = {}
        for texts, policy in runs.iter_rows():
            for text in texts:
                policies.setdefault(text, []).append(policy)
        several = self.runs["policy"].n_unique()
        lines = []
        for text, named in policies.items():
            own = list(dict.fromkeys(named))
            whose = "" if len(own) == several > 1 else f"{', '.join(own)}: "
            lines.append(f"{whose}{text} ({plural(len(named), 'run')})")
        return lines

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :attr:`runs` as one Parquet file.

        Returns
        -------
        None
            The file is there, with all its rows, when this returns.

        Raises
        ------
        OSError
            If it cannot be written; an existing file is then unchanged.

        Examples
        --------
        >>> swept = gs.sweep({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 50}],
        ...     "clusters": [{"servers": 2, "gpus": 8}],
        ... })
        >>> swept.to_parquet("runs.parquet")
        >>> import polars
        >>> polars.read_parquet("runs.parquet").height
        1
        """
        with replacing(path) as partial:
            self.runs.write_parquet(partial)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export :attr:`runs` as an Arrow stream, such as for ``pyarrow.table(result)``."""
        return self.runs.__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """Return the shown metrics of typical runs as a table, for notebooks."""
        shown = overview(self.study, self.runs)
        rows: list[Sequence[Value | Cell]] = [*shown.rows[:_SHOWN_ROWS]]
        if len(shown.rows) > len(rows):
            more = f"{len(shown.rows) - len(rows):,} more"
            rows.append(["...", more, *[""] * (len(shown.columns) - 2)])
        return html_page(repr(self), table("", shown.columns, rows).to_html())


def differing_axes(study: Study, runs: pl.DataFrame) -> list[str]:
    """Return the axes with more than one value, in the order of the columns, without seeds."""
    extra = [axis.title for axis in study.parameters]
    left_out = {"seed"}
    if all(len(entry.numbers_of_jobs) == 1 for entry in study.traces):
        left_out.add("jobs")  # determined by the other axes, or drawn with the seed
    axes = [key for key in (*RUN_KEYS, *extra) if key not in left_out]
    return [key for key in axes if runs[key].n_unique() > 1]


def shown_metrics(study: Study, runs: pl.DataFrame) -> list[Metric]:
    """Return the metrics of the study, else the main ones."""
    known = metrics()
    if study.metrics:
        return [known[key] for key in study.metrics]
    return [m for m in main_metrics() if m.key in runs.columns][:_MOST_METRICS]


def overview(study: Study, runs: pl.DataFrame, chosen: Sequence[Metric] | None = None) -> Table:
    """Format metrics of typical runs by all axes that vary; a note lists the others.

    None means the metrics of the study, else the main ones.
    """
    done = runs.filter(pl.col("wall_s").is_not_null())
    order = [key for key in differing_axes(study, runs) if key != "policy"] + ["policy"]
    if not len(done):
        return table("", [*map(text_column, order)], [])
    wanted = shown_metrics(study, runs) if chosen is None else chosen
    chosen = [metric for metric in wanted if metric.key in done.columns]
    groups = done.partition_by(order, maintain_order=True)
    values = [[_middle(done, of, metric) for metric in chosen] for of in groups]
    shown = [at for at in range(len(chosen)) if any(row[at] is not None for row in values)]
    marks = [
        growth_mark({GROWTH: of[GROWTH].fill_nan(None).median(), "num_seeds": len(of)})
        for of in groups
    ]
    rows: list[list[Value | Cell]] = [
        [
            *(axis_text(of[key][0]) for key in order[:-1]),
            Cell(
                axis_text(of["policy"][0]), mark=f" {CLAIRVOYANT}" * bool(of["clairvoyant"].any())
            ),
            len(of),
            *(own[at] for at in shown),
            *([mark] if any(marks) else []),
        ]
        for of, own, mark in zip(groups, values, marks, strict=True)
    ]
    same = ", ".join(
        f"{key} {axis_text(done[key][0])}" for key in RUN_KEYS if key not in (*order, "seed")
    )
    titles = [*map(text_column, order), Column("seeds", kind="count", key="num_seeds")]
    titles += [column_of(chosen[at]) for at in shown]
    notes = [same] if same else []
    if done["clairvoyant"].any():
        notes.append(f"{CLAIRVOYANT} {SEES_TRUTH}.")
    if any(marks):
        notes.append(GROWTH_NOTE)
    return table("", titles + ([Column("growth")] if any(marks) else []), rows, notes)


def _middle(every: pl.DataFrame, some: pl.DataFrame, metric: Metric) -> float | None:
    """Return the typical value of some runs, on a scale that fits all of them."""

    def known(runs: pl.DataFrame) -> Float64:
        values = np.array(runs[metric.key].drop_nulls().to_list(), np.float64)
        return values[np.isfinite(values)]

    values = known(some)
    if not len(values):
        return None
    is_ratio = metric.kind != "percent" and bool((known(every) > 0).all())
    return (typical if is_ratio else signed_rank)(values).value
