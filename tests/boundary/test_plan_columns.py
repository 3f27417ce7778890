"""The columns of a plan by deadlines, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusched import _core

ONE_JOB: dict[str, Any] = {
    "arrival_us": np.array([0]), "deadline_us": np.array([10**9]), "work": np.array([10.0]),
    "value": np.array([1.0]), "change_us": np.array([0]), "first": np.array([0, 2]),
    "type": np.array([0, 0], np.int32), "gpus": np.array([1, 2], np.int32),
    "rate": np.array([1.0, 2.0]), "type_gpus": np.array([4]), "slot_us": 10**6,
    "prices": "density", "quanta": 64, "segments": 16, "whole_slots": False, "knows": True,
}  # fmt: skip


def plan(**changed: Any) -> Any:
    return _core.plan_deadlines(**ONE_JOB | changed, control=_core.RunControl())


@pytest.mark.parametrize("column", ["type", "gpus", "rate"])
def test_one_column_of_another_length_is_refused(column: str) -> None:
    plan()
    for other in (ONE_JOB[column][:1], np.repeat(ONE_JOB[column], 2)):
        with pytest.raises(ValueError, match="type, gpus and rate must have one length"):
            plan(**{column: other})
