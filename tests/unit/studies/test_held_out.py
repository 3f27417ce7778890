"""What speaks against the best policy of a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from gpusched.studies.tune import Candidate, compared, replicates, verdicts


def runs_of(**values: Any) -> pl.DataFrame:
    rows = [
        {"policy": policy, "seed": seed, "trace": "t", "mean_jct_s": float(value)}
        for policy, own in values.items()
        for seed, value in enumerate(own)
    ]
    return pl.DataFrame(rows)


def judged(best: Any, base: Any, seen: float, better: str = "lower") -> list[str]:
    candidates = [Candidate("best", None, 3, seen * 100), Candidate("base", None, None, 100.0)]
    frame, _ = compared(
        runs_of(best=best, base=base), "mean_jct_s", candidates, {},
        baseline="base", better=better, level=0.95,
    )  # fmt: skip
    return verdicts(frame, "best", "base", better)


BASE = 100 + np.arange(10.0)


def test_a_gain_that_holds_is_not_spoken_of():
    assert judged(0.8 * BASE + np.resize([1, -1], 10), BASE, 0.78) == []


def test_a_loss_is_said_to_be_chance():
    (line,) = judged(1.1 * BASE, BASE, 0.8)
    assert line == (
        "best is not better than base on held-out jobs, it is 10.0% more: the gain in the search "
        "was chance"
    )


def test_a_gain_that_is_not_significant_is_said():
    noise = np.resize([30.0, -32.0], 10)
    (line,) = judged(BASE + noise, BASE, 0.99)
    assert "is not significant" in line


def test_a_gain_that_shrinks_is_said_to_be_fitted():
    (line,) = judged(0.9 * BASE + np.resize([1, -1], 10), BASE, 0.5)
    assert line.startswith("best: the gain on held-out jobs, 10.0%, is much smaller than that in ")
    assert "50.0%" in line


def test_higher_may_be_better():
    assert judged(1.2 * BASE + np.resize([1, -1], 10), BASE, 1.25, "higher") == []
    (line,) = judged(0.9 * BASE, BASE, 1.3, "higher")
    assert "it is 10.0% less" in line


def test_the_baseline_may_be_the_best():
    frame = pl.DataFrame({"policy": ["base"]})
    assert verdicts(frame, "base", "base", "lower") == ["the search found nothing better than base"]


def test_a_seed_counts_where_all_its_runs_have_a_value():
    runs = pl.DataFrame(
        {
            "policy": ["a"] * 4,
            "seed": [1, 1, 2, 2],
            "trace": ["t 1", "u", "t 2", "u"],
            "mean_jct_s": [1.0, 3.0, None, 5.0],
        }
    )
    made = replicates(runs, "mean_jct_s", {"t 1": "t", "t 2": "t"})
    assert made["mean_jct_s"].to_list() == [2.0, None]
    assert replicates(runs, "p99_jct_s", {})["p99_jct_s"].to_list() == [None, None]


def test_candidates_keep_their_order():
    candidates = [
        Candidate("b", None, 1, 2.0), Candidate("a", None, None, None),
        Candidate("c", None, None, 4.0),
    ]  # fmt: skip
    frame, _ = compared(
        runs_of(a=[1, 2, 3], b=[2, 3, 4], c=[4, 5, 7]), "mean_jct_s", candidates, {},
        baseline="c", better="lower", level=0.95,
    )  # fmt: skip
    assert frame["policy"].to_list() == ["b", "a", "c"]
    assert frame["search_ratio"].to_list() == [pytest.approx(0.5), None, 1.0]
