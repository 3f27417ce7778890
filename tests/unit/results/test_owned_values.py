"""What a result, a comparison or a choice shows is its own, and cannot be changed under it."""

from __future__ import annotations

import copy
import pickle

import pytest

import gpusched as gs
from gpusched.plugins.policy import PlacementChoice

JOBS = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
CLUSTER = gs.Cluster.uniform(1, 4)


def test_the_intervals_of_a_result_cannot_be_changed_under_it(tmp_path):
    result = gs.simulate(JOBS, CLUSTER, policy="fifo")
    result.save(tmp_path / "run.npz")
    for each in (result, gs.load_result(tmp_path / "run.npz")):
        each.schedule.intervals()["job"] = None
        with pytest.raises(TypeError, match="item assignment"):
            each.intervals["job"] = None
        with pytest.raises(ValueError, match="read-only"):
            each.intervals["start_us"][0] = 7
        assert each.intervals["job"].tolist() == [0, 1, 2]
        assert each.audit().ok
        assert pickle.loads(pickle.dumps(each)).digest == result.digest


@pytest.mark.parametrize("made", [gs.Policy("las", period_s=60), PlacementChoice("lwf", kappa=2)])
def test_the_parameters_of_a_choice_cannot_be_changed_under_it(made):
    with pytest.raises(TypeError, match="item assignment"):
        made.parameters["period_s"] = 1
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other == made
        assert hash(other) == hash(made)
        assert other.parameters == made.parameters


def test_a_comparison_has_a_hash_and_is_equal_to_itself_alone():
    one, other = (gs.compare(JOBS, CLUSTER, ["fifo", "sjf"]) for _ in range(2))
    assert {one: 1}[one] == 1
    assert one != other
