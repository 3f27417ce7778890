"""Small studies and searches for tests."""

from typing import Any, Final

import gpusched as gs


def small(**changes: Any) -> dict[str, Any]:
    """Two loads, two policies and two seeds: eight short runs."""
    study: dict[str, Any] = {
        "name": "small",
        "seeds": [1, 2],
        "policies": ["fifo", "srtf"],
        "traces": [{"generate": "philly", "model": 1, "jobs": 60, "loads": [0.7, 0.9]}],
        "clusters": [{"servers": 4, "gpus": 8}],
    }
    return study | changes


def a_trace(jobs: int = 40, seed: int = 0) -> gs.Trace:
    """Some jobs."""
    return gs.generate("philly", jobs, load=0.9, cluster=gs.Cluster.uniform(4, 8), seed=seed)


class NarrowFirst(gs.Order):
    """A policy of Python."""

    lifetime = "fixed"

    def __init__(self, sign: float = 1.0) -> None:
        super().__init__()
        self.sign = sign
        self.calls = 0

    def rank(self, view: Any, jobs: Any) -> Any:
        """Rank by width."""
        self.calls += 1
        return self.sign * view.gpus[jobs]


class Broken(gs.Order):
    """A policy that fails."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        """Fail."""
        raise RuntimeError("out of ideas")


class Deadly(gs.Order):
    """A policy that ends its worker."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        """End the process."""
        import os

        os._exit(7)


SPACE: Final[list[dict[str, Any]]] = [
    {
        "policy": "2d-las",
        "limits": [[3250, 7200], [60, 600]],
        "promote": {"low": 1, "high": 1000, "log": True},
    },
    {"policy": "las", "period_s": [10, 60, 600]},
]
FIELDS: Final = gs.Study.__struct_fields__


def study(**changes: Any) -> dict[str, Any]:
    """Two seeds of short runs."""
    fields: dict[str, Any] = {
        "name": "tuned",
        "seeds": [1, 2],
        "traces": [{"generate": "philly", "jobs": 90, "loads": [0.9]}],
        "clusters": [{"servers": 2, "gpus": 8}],
    }
    return fields | changes


def tuned(space: Any = SPACE, metric: str = "mean_jct_s", **changes: Any) -> gs.studies.Tuning:
    """A search of a few trials."""
    options: dict[str, Any] = {"trials": 8, "held_out": 3, "executor": "threads:1"}
    options |= {key: changes.pop(key) for key in list(changes) if key not in FIELDS}
    return gs.tune(space, study(**changes), metric, **options)
