"""Uniform draws of categories hold one of the best as often as theory says."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched_papers.matching import DRAWS, MEASURED, count, draw, num_best, theory
from tests.unit.real_data import needs_real_data


def test_theory_is_the_chance_that_not_all_draws_miss() -> None:
    # (4, 12): 165 categories, of which 8 are the best 5 %.
    assert num_best(165) == 8
    assert theory(165) == pytest.approx(1 - (157 / 165) ** 59)
    assert round(theory(165), 3) == 0.947
    random = np.random.default_rng(1)
    held = (random.integers(0, 165, size=(20_000, DRAWS)) < 8).any(axis=1)
    assert held.mean() == pytest.approx(theory(165), abs=4 * 0.0016)


@needs_real_data
def test_59_draws_hold_one_of_the_best_as_often_as_theory_says() -> None:
    # Where equal shares, which every search begins with, are among the best no draw is needed.
    counted = [count(draw(MEASURED, 4, 12, seed), 50) for seed in range(5000, 5024)]
    open_ones = [one for one in counted if one.is_open]
    samples = sum(one.samples for one in open_ones)
    share, chance = sum(one.hits for one in open_ones) / samples, theory(165)
    assert samples >= 500
    assert abs(share - chance) <= 4 * np.sqrt(chance * (1 - chance) / samples)
    assert all(one.hits == one.samples for one in counted if not one.is_open)
