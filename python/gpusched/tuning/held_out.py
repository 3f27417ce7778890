"""What was found, on jobs that the search never saw, beside what it achieved in the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from gpusched.statistics.compared_runs import ComparedRuns
from gpusched.statistics.comparing import compare_runs
from gpusched.sweeping.plan import choice_content
from gpusched.tuning.search import Attempt

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Candidate:
    """A policy that is judged on what was held out.

    Attributes
    ----------
    trial
        Its number; None: no trial, but the baseline or the default options of a policy.
    search_value
        The metric in the whole search window; None if it was not run there, or failed.
    """

    label: str
    choice: Any
    trial: int | None
    search_value: float | None


def content_of_policy(choice: Any) -> bytes:
    """Return what a policy is, by whatever label: defaults that are written are no others."""
    return choice_content("policy", choice)


def best_of(
    found: Sequence[Attempt], baseline: Candidate, better: str, number: int
) -> list[Candidate]:
    """Return the best policies that finished, the best one first.

    Of those that have one and the same value only the first is there: they are one policy by
    another name, such as those that differ in an option without effect.
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
        is_base = content_of_policy(one.policy) == content_of_policy(baseline.choice)
        label = baseline.label if is_base else str(one.policy)
        distinct.setdefault(value, Candidate(label, one.policy, one.number, value))
    return list(distinct.values())[:number]


# A gain that shrinks to less than this part of what the search saw was for the most part luck.
_KEPT: Final = 0.5


def replicates(runs: pl.DataFrame, metric: str, titles: Mapping[str, str]) -> pl.DataFrame:
    """Return one row per policy and seed: the mean over all other axes, null if one is missing."""
    import polars as pl

    if metric not in runs.columns:
        runs = runs.with_columns(pl.lit(None, pl.Float64).alias(metric))
    value = pl.col(metric).cast(pl.Float64, strict=False).fill_nan(None)
    is_whole = value.is_not_null().all()
    return (
        runs.with_columns(pl.col("trace").replace(dict(titles)))
        .group_by("policy", "seed", maintain_order=True)
        .agg(pl.when(is_whole).then(value.mean()).otherwise(None).alias(metric))
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
    """Compare candidates on what was held out.

    Returns
    -------
    polars.DataFrame
        One row per candidate: what it achieved in the search, then the columns of the comparison.
    ComparedRuns
    """
    import polars as pl

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
            "search_ratio": [_ratio(one.search_value, base) for one in candidates],
        },
        schema={
            "policy": pl.String, "trial": pl.Int64, "search_value": pl.Float64,
            "search_ratio": pl.Float64,
        },
    )  # fmt: skip
    return seen.join(found.frame, on="policy", how="left", maintain_order="left"), found


def verdicts(held_out: pl.DataFrame, best: str, baseline: str, better: str) -> list[str]:
    """Return what speaks against the best one, a sentence each."""
    if best == baseline:
        return [f"the search found nothing better than {baseline}"]
    row = held_out.filter(policy=best).row(0, named=True)
    ratio, seen = row["ratio"], row["search_ratio"]
    if ratio is None:
        return [f"{best}: no gain can be told on held-out jobs; its runs failed, or have no value"]
    sign = 1.0 if better == "lower" else -1.0
    gain = sign * (1.0 - ratio)
    if gain <= 0:
        worse = f", it is {abs(ratio - 1):.1%} {'more' if ratio > 1 else 'less'}" if gain else ""
        return [f"{best} is not better than {baseline} on held-out jobs{worse}: the gain in the "
                "search was chance"]  # fmt: skip
    lines = []
    if not row["is_significant"]:
        lines.append(
            f"{best}: the gain on held-out jobs, {gain:.1%}, is not significant: chance alone may "
            "give as much"
        )
    if seen is not None and gain < _KEPT * sign * (1.0 - seen):
        lines.append(
            f"{best}: the gain on held-out jobs, {gain:.1%}, is much smaller than that in the "
            f"search, {sign * (1.0 - seen):.1%}: the search fitted its own jobs; more "
            "of them, or more seeds, would help"
        )
    return lines


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None
