"""Resizes, migrations and whole reallocations: the core equals the reference, bit for bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.parity.core import assert_same
from tests.parity.native import run_native
from tests.parity.native_whims import WHIMS
from tests.reference.elastic_cases import ELASTIC, elastic_cases

pytestmark = pytest.mark.long


@pytest.mark.parametrize("kind", WHIMS)
@pytest.mark.parametrize("speed", ["fixed", "ring", *ELASTIC])
@examples(30)
@given(data=st.data())
def test_whatever_is_resized_the_core_equals_the_reference(speed, kind, data):
    case = data.draw(elastic_cases(speed))
    whim = WHIMS[kind](case)
    try:
        expected, seen = case.replay(kind)
    except ValueError:
        with pytest.raises(ValueError, match=r"the schedule passes 2\^62"):
            run_native(case.jobs, case.servers, whim, **case.options())
        return
    actual = run_native(case.jobs, case.servers, whim, **case.options())
    for own, of_reference in zip(whim.seen, seen, strict=False):
        assert own == of_reference
    assert_same(expected, actual)
