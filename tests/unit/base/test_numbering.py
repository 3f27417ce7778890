"""Numbers of distinct values, by a table or by a sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gpusched.base.arrays import numbered

few = st.integers(-3, 5)
many = st.integers(-(2**62), 2**62)


@given(st.one_of(st.lists(few), st.lists(many)))
def test_values_are_numbered_as_numpy_does(drawn):
    values = np.array(drawn, dtype=np.int64)
    known, number = numbered(values)
    truth, inverse = np.unique(values, return_inverse=True)
    assert known.tolist() == truth.tolist()
    assert number.tolist() == inverse.tolist()
    assert known.dtype == number.dtype == np.int64
