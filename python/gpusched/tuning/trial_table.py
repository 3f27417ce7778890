"""The trials of a search as a frame, and what there is to say of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpusched.tuning.search import Attempt
from gpusched.tuning.space import PolicySpace

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
