"""Runs on the same jobs are batches, dealt out so that workers do not wait for one another."""

from __future__ import annotations

from collections import Counter

from gpusched.studies.plan import expand
from gpusched.studies.study import Study
from gpusched.studies.sweep import Batch, batches, side_by_side
from tests.each import each
from tests.unit.studies.studies import small


def planned(num_jobs: int) -> list[Batch]:
    """Return the batches of eight runs on four recipes, of which each has so many jobs."""
    plan = expand(Study.of(small()))
    left = list(zip(plan.names, plan.runs, strict=True))
    return list(batches(left, [num_jobs] * len(left)))


def test_short_runs_on_the_same_jobs_are_one_batch():
    assert [len(batch.runs) for batch in planned(60)] == [2, 2, 2, 2]


@each("most", [1, 2, 3, 4, 9])
def test_batches_of_so_many_recipes_are_dealt_out_in_turn(most):
    in_order = planned(100_000)
    dealt = list(side_by_side(in_order, most))
    assert Counter(map(str, dealt)) == Counter(map(str, in_order))
    recipes = [batch.recipe.name for batch in dealt]
    order = list(dict.fromkeys(batch.recipe.name for batch in in_order))
    for first in range(0, len(order), most):
        together = order[first : first + most]
        assert recipes[2 * first : 2 * first + 2 * len(together)] == 2 * together
    assert most > 1 or dealt == in_order


def test_batches_are_taken_as_they_are_due():
    taken = []

    def telling() -> object:
        for batch in planned(100_000):
            taken.append(batch)
            yield batch

    next(side_by_side(telling(), 2))
    assert len(taken) == 5  # two recipes of two batches, and the first that is of neither
