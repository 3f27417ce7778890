"""Claims to leases, as the core takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpusched import _core

TWO_CLAIMS: dict[str, Any] = {
    "num_gpus": 4, "taken": np.zeros(3, np.int32),
    "gpus": np.array([4, 1]), "leases": np.array([2, 1]), "until": np.array([3, 3]),
}  # fmt: skip


def line(**changed: Any) -> _core.LeaseLine:
    return _core.LeaseLine(**TWO_CLAIMS | changed)


@pytest.mark.parametrize("column", ["gpus", "leases", "until"])
def test_one_column_of_another_length_is_refused(column: str) -> None:
    for other in (TWO_CLAIMS[column][:1], np.repeat(TWO_CLAIMS[column], 2)):
        with pytest.raises(ValueError, match="gpus, leases and until: lengths differ"):
            line(**{column: other})


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("gpus", [2**32 + 4, 0, -1, 2**30]),
        ("leases", [-1, 2**40]),
        ("until", [-1, 2**40]),
        ("taken", [-1, 2**30]),
    ],
)
def test_what_no_claim_can_ask_for_is_refused_and_not_cut(column: str, values: list[int]) -> None:
    for value in values:
        changed = TWO_CLAIMS[column].copy()
        changed[-1] = value
        with pytest.raises(ValueError, match=f"{column}: must be from .* is {value}"):
            line(**{column: changed})
    for value in (-1, 2**30, 2**32 + 4):
        with pytest.raises(ValueError, match=f"num_gpus: must be from 0 to .* is {value}"):
            line(num_gpus=value)


@pytest.mark.parametrize("place", [2, 3, 2**40])
def test_a_claim_that_is_not_there_is_refused(place: int) -> None:
    claims = line()
    with pytest.raises(IndexError, match="place: there are fewer claims"):
        claims.try_join(place)
    assert claims.try_join(1)
    assert claims.try_join(0)
    with pytest.raises(IndexError, match="place: there are fewer claims"):
        line(**{name: np.zeros(0, np.int64) for name in ("gpus", "leases", "until")}).try_join(0)
