"""Statistics of the rows of a comparison: rows of as many seeds are one table, and one product."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.statistics.corrections import holm
from gpusched.statistics.effects import effect_size
from gpusched.statistics.limits import mean_limits, ratio_limits, usable
from gpusched.statistics.rank_tests import ranks
from gpusched.statistics.resampling import NUM_RESAMPLES
from gpusched.statistics.run_groups import Key, Setting


def add_means(
    rows: list[dict[str, Any]], values: list[Float64], level: float, method: str, seed: int
) -> None:
    """Put the mean of each row's values into it, with its interval."""
    for size, places in _by_size([len(column) for column in values]).items():
        used = usable(method, size)
        stacked = np.stack([values[place] for place in places])
        found = mean_limits(stacked, used, level, NUM_RESAMPLES, seed)
        for at, place in enumerate(places):
            rows[place] |= {
                "mean": float(found.estimate[at]),
                "low": float(found.low[at]),
                "high": float(found.high[at]),
                "method": "t" if found.is_student[at] else used,
            }


def add_pairs(
    rows: list[dict[str, Any]],
    pairs: list[tuple[Float64, Float64]],
    level: float,
    method: str,
    seed: int,
    better: str,
) -> None:
    """Put into each row what its pairs with the baseline tell."""
    for size, places in _by_size([len(pair[0]) for pair in pairs]).items():
        used = usable(method, size)
        mine, base = (np.stack([pairs[place][side] for place in places]) for side in (0, 1))
        change = mean_limits(mine - base, used, level, NUM_RESAMPLES, seed)
        has_ratio = base.mean(1) != 0.0
        safe = np.where(has_ratio[:, None], base, 1.0)
        ratio = ratio_limits(mine, safe, used, level, NUM_RESAMPLES, seed)
        for at, place in enumerate(places):
            row = rows[place]
            row |= {
                "difference": float(change.estimate[at]),
                "difference_low": float(change.low[at]),
                "difference_high": float(change.high[at]),
                "p": float(change.p[at]),
                "effect_size": effect_size(mine[at], base[at]),
            }
            if better != "neutral":
                row["share_better"] = _share_better(mine[at], base[at], better)
            if has_ratio[at]:
                row |= {
                    "ratio": float(ratio.estimate[at]),
                    "ratio_low": float(ratio.low[at]),
                    "ratio_high": float(ratio.high[at]),
                    # What is called a difference is one in units and in proportion.
                    "p": float(max(change.p[at], ratio.p[at])),
                }
            else:
                row["warnings"].append("the mean of the baseline is zero: there is no ratio to it")


def _share_better(mine: Float64, base: Float64, better: str) -> float:
    sign = np.sign(base - mine) if better == "lower" else np.sign(mine - base)
    return float((sign.mean() + 1.0) / 2)


def _by_size(sizes: list[int]) -> dict[int, list[int]]:
    """Places of the columns of each length, so that those are one table; empty ones left out."""
    found: dict[int, list[int]] = {}
    for place, size in enumerate(sizes):
        if size:
            found.setdefault(size, []).append(place)
    return found


def add_p(rows: list[dict[str, Any]], correction: str | None, level: float) -> None:
    """Adjust the p of all rows that have one."""
    tested = [row for row in rows if np.isfinite(row.get("p", np.nan))]
    given = [row["p"] for row in tested]
    adjusted = holm(given).tolist() if correction == "holm" and given else given
    for row, p in zip(tested, adjusted, strict=True):
        row |= {"p_adjusted": p, "is_significant": p < 1.0 - level}


def add_ranks(
    rows: list[dict[str, Any]], settings: dict[Key, Setting], better: str
) -> dict[Key, tuple[tuple[str, ...], Float64]]:
    """Put mean ranks and the best into the rows; return what was ranked of each setting."""
    blocks = {}
    start = 0
    for key, setting in settings.items():
        own = rows[start : start + len(setting)]
        start += len(setting)
        if better == "neutral":
            continue
        known = [row["mean"] for row in own if "mean" in row]
        best = (min if better == "lower" else max)(known, default=None)
        for row in own:
            row["is_best"] = len(own) > 1 and row.get("mean") == best and best is not None
        ranked = {name: group for name, group in setting.items() if group.by_seed}
        common = [
            seed
            for seed in (next(iter(ranked.values())).by_seed if ranked else ())
            if all(seed in group.by_seed for group in ranked.values())
        ]
        if not common:
            continue
        table = np.array([[g.by_seed[seed] for g in ranked.values()] for seed in common])
        means = ranks(table, better="higher" if better == "higher" else "lower").mean(0)
        of_name = dict(zip(ranked, means.tolist(), strict=True))
        for row, name in zip(own, setting, strict=True):
            row["rank"] = of_name.get(name)
        blocks[key] = (tuple(map(str, ranked)), table)
    return blocks
