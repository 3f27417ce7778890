"""Small searches for tests."""

from __future__ import annotations

from typing import Any, Final

import gpusched as gs

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


def tuned(space: Any = SPACE, **changes: Any) -> gs.studies.Tuning:
    """A search of a few trials."""
    options: dict[str, Any] = {"trials": 8, "held_out": 3, "executor": "threads:1"}
    options |= {key: changes.pop(key) for key in list(changes) if key not in FIELDS}
    return gs.tune(space, study(**changes), "mean_jct_s", **options)
