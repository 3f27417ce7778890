"""What a text names is looked up once, and anew where the names have changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import gpusched as gs
from gpusched.base.registry import Registry
from gpusched.plugins.registry import registered

JOBS = gs.Trace.from_columns([0, 1, 1], [9, 5, 2], [1, 1, 1])
ONE_GPU = gs.Cluster.uniform(1, 1)
NAME = "sometimes-longest"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    gs.unregister(NAME)


def order(sign: int) -> Any:
    class BySign(gs.Order):
        lifetime = "fixed"

        def rank(self, view: Any, jobs: Any) -> Any:
            return sign * view.predicted_us[jobs].astype(float)

    return BySign


def starts(policy: str) -> list[float]:
    return gs.simulate(JOBS, ONE_GPU, policy=policy).jobs.start_s.tolist()


def test_a_name_that_is_registered_anew_is_run_anew():
    with pytest.raises(ValueError, match="unknown policy"):
        starts(NAME)
    gs.register_order(NAME)(order(-1))
    assert starts(NAME) == [0.0, 9.0, 14.0]
    gs.unregister(NAME)
    with pytest.raises(ValueError, match="unknown policy"):
        starts(NAME)
    gs.register_order(NAME)(order(1))
    assert starts(NAME) == [0.0, 11.0, 9.0]


def test_what_a_caller_does_with_names_changes_nothing_for_others():
    gs.policies().clear()
    gs.speeds().clear()
    assert "fifo" in gs.policies()
    assert "fixed" in gs.speeds()
    with pytest.raises(TypeError):
        registered("speed")["mine"] = gs.speeds()["fixed"]
    choice = gs.Policy.parse("easy")
    with pytest.raises(TypeError):
        choice.parameters["nonsense"] = 1
    assert gs.simulate(JOBS, ONE_GPU, policy="easy").spec.policy == "easy"
    assert gs.Policy.parse("easy").parameters == {}


def test_the_version_of_a_registry_follows_its_entries():
    registry: Registry[int] = Registry("number")
    seen = [registry.version]
    registry.add("one", 1)
    seen.append(registry.version)
    assert list(registry.loaded()) == ["one"]
    registry.remove("two")  # is not there
    assert registry.version == seen[-1]
    registry.loaded().clear()
    assert registry.loaded() == {"one": 1}
    registry.remove("one")
    seen.append(registry.version)
    assert registry.loaded() == {}
    assert len(set(seen)) == 3
