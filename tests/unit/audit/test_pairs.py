"""Pairs of integers are sorted as tuples are, packed or not."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusched.audit import log
from gpusched.audit.log import FEW, sorted_pairs

NUMBERS = st.one_of(
    st.integers(-9, 9), st.integers(2**58, 2**58 + 9), st.sampled_from([-(2**63), 2**63 - 1])
)


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=12), st.sampled_from([0, FEW]))
def test_pairs_are_in_the_order_of_tuples(drawn, few):
    table = np.array(drawn, dtype=np.int64).reshape(-1, 2)
    with patch.object(log, "FEW", few):
        first, second = sorted_pairs(table[:, 0], table[:, 1])
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == sorted(drawn)
    assert first.dtype == second.dtype == np.int64


def test_what_was_given_stays_as_it_was():
    first, second = np.array([2, 1]), np.array([5, 6], dtype=np.int32)
    sorted_pairs(first, second)
    assert (first.tolist(), second.tolist()) == ([2, 1], [5, 6])
