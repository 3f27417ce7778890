"""Runs of a study compared: means over seeds, and pairs with a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.suggest import nearest
from gpusched.results.metric_registry import metrics
from gpusched.statistics.compared_runs import ComparedRuns
from gpusched.statistics.intervals import Method, check_level, check_method
from gpusched.statistics.row_statistics import add_means, add_p, add_pairs, add_ranks
from gpusched.statistics.run_groups import Key, Setting, settings_of
from gpusched.statistics.run_warnings import row_warnings, run_warnings

if TYPE_CHECKING:
    import polars as pl

_NUMBERS: Final = (
    "mean", "low", "high", "difference", "difference_low", "difference_high", "ratio", "ratio_low",
    "ratio_high", "effect_size", "share_better", "p", "p_adjusted", "rank",
)  # fmt: skip
_ORDER: Final = (
    "mean", "low", "high", "num_seeds", "num_missing", "method", "difference", "difference_low",
    "difference_high", "ratio", "ratio_low", "ratio_high", "num_pairs", "effect_size",
    "share_better", "p", "p_adjusted", "is_significant", "rank", "is_best", "warnings",
)  # fmt: skip


def compare_runs(
    runs: pl.DataFrame,
    metric: str,
    *,
    axis: str = "policy",
    by: Sequence[str] = (),
    baseline: str | float | None = None,
    level: float = 0.95,
    method: Method = "bootstrap-t",
    correction: Literal["holm"] | None = "holm",
    seed: int = 0,
    better: Literal["lower", "higher", "neutral"] | None = None,
    warm_up_s: float | None = None,
) -> ComparedRuns:
    """Compare the runs of a study by a metric, over the seeds.

    Parameters
    ----------
    runs
        One row per run: its ``seed``, its axes, and its metrics. Runs of equal ``seed`` saw the
        same jobs and make a pair; failed ones have null.
    metric
        The column that is compared.
    axis
        The column whose values are compared.
    by
        The columns that make a setting; each setting is compared by itself.
    baseline
        The value of the axis with which the others are compared; None: no pairs.
    level, method, seed
        As of :func:`interval`; of the means, differences and ratios.
    correction
        ``"holm"``, for all comparisons of the frame; None: ``p_adjusted`` is ``p``.
    better
        Which values are better; None: as the metric was registered, and ``"neutral"`` if it is no
        registered one.
    warm_up_s
        Seconds at the start of each run that the metric leaves out; None: those of the column
        ``warm_up_s``, if there is one. It is warned of runs at a load that leave out nothing.

    Returns
    -------
    ComparedRuns

    Raises
    ------
    ValueError
        If a column is missing or no number, two runs of a setting have the same seed, no run has
        the baseline, or an option is not known.

    Examples
    --------
    >>> import polars as pl
    >>> runs = pl.DataFrame({
    ...     "policy": ["fifo", "fifo", "fifo", "srtf", "srtf", "srtf"],
    ...     "seed": [1, 2, 3, 1, 2, 3],
    ...     "mean_jct_s": [7200.0, 7560.0, 7380.0, 3600.0, 3960.0, 3600.0],
    ... })
    >>> compared = gs.statistics.compare_runs(runs, "mean_jct_s", baseline="fifo")
    >>> compared.frame["difference"].to_list()
    [0.0, -3660.0]
    """
    check_level(level)
    check_method(method)
    if correction not in (None, "holm"):
        raise ValueError(f"correction: {correction!r} must be 'holm' or None")
    if better is None:
        better = _better(metric)
    elif better not in ("lower", "higher", "neutral"):
        raise ValueError(f"better: {better!r} must be 'lower', 'higher' or 'neutral'")
    settings = settings_of(runs, metric, axis, by)
    _check_baseline(settings, axis, baseline)
    rows: list[dict[str, Any]] = []
    pairs: list[tuple[Float64, Float64]] = []
    values: list[Float64] = []
    for key, setting in settings.items():
        base = setting.get(baseline) if baseline is not None else None
        for name, group in setting.items():
            of_base = base is not None and name != baseline
            pair = group.pairs(base) if base is not None and of_base else _NO_PAIR
            values.append(group.values)
            pairs.append(pair)
            row = dict(zip(by, key, strict=True)) | {axis: name}
            row |= {"num_seeds": len(group.by_seed), "num_missing": len(group.missing)}
            row |= {"num_pairs": len(pair[0]) if of_base or base is None else len(group.by_seed)}
            row["warnings"] = row_warnings(
                group,
                base if of_base else None,
                baseline,
                method,
                lacks_baseline=baseline is not None and base is None,
            )
            rows.append(row)
    add_means(rows, values, level, method, seed)
    add_pairs(rows, pairs, level, method, seed, better)
    if baseline is not None:
        for row in rows:
            if row[axis] == baseline and row["num_seeds"]:
                row |= dict.fromkeys(("difference", "difference_low", "difference_high"), 0.0)
                row |= dict.fromkeys(("ratio", "ratio_low", "ratio_high"), 1.0)
    add_p(rows, correction, level)
    blocks = add_ranks(rows, settings, better)
    whole = run_warnings(runs, metric, axis, by, warm_up_s)
    return ComparedRuns(
        frame=_frame(rows, runs, (*by, axis)),
        metric=metric,
        axis=axis,
        by=tuple(by),
        baseline=baseline,
        level=level,
        method=method,
        correction=correction,
        better=better,
        warnings=(*whole, *_placed(rows, (*by, axis))),
        _blocks=blocks,
    )


_NO_PAIR: Final = (np.empty(0), np.empty(0))


def _better(metric: str) -> Any:
    known = metrics().get(metric)
    return "neutral" if known is None else known.better


def _check_baseline(settings: dict[Key, Setting], axis: str, baseline: str | float | None) -> None:
    known = dict.fromkeys(name for setting in settings.values() for name in setting)
    if baseline is not None and baseline not in known:
        raise ValueError(
            f"baseline: no run has {axis} {baseline!r}{nearest(str(baseline), [*map(str, known)])}"
        )


def _frame(rows: list[dict[str, Any]], runs: pl.DataFrame, keys: tuple[str, ...]) -> pl.DataFrame:
    import polars as pl

    types: dict[str, Any] = dict.fromkeys(_NUMBERS, pl.Float64)
    types |= dict.fromkeys(("num_seeds", "num_missing", "num_pairs"), pl.Int64)
    types |= {"method": pl.String, "is_significant": pl.Boolean, "is_best": pl.Boolean}
    types["warnings"] = pl.List(pl.String)
    types |= {name: runs.schema[name] for name in keys}
    columns = {
        name: pl.Series(name, [row.get(name) for row in rows], types[name])
        for name in (*keys, *_ORDER)
    }
    numbers = [pl.col(name).fill_nan(None) for name in _NUMBERS]
    return pl.DataFrame(columns).with_columns(numbers)


def _placed(rows: list[dict[str, Any]], keys: tuple[str, ...]) -> list[str]:
    """Each row's warnings; one that several rows have stands once, with their number."""
    places: dict[str, list[str]] = {}
    for row in rows:
        where = ", ".join(str(row[name]) for name in keys)
        for line in row["warnings"]:
            places.setdefault(line, []).append(where)
    return [
        f"{found[0]}: {line}"
        if len(found) == 1
        else f"{found[0]} and {len(found) - 1} more: {line}"
        for line, found in places.items()
    ]
