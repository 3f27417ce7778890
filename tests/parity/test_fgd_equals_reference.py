"""``fgd`` among shares whose fragments are no whole steps: the core equals the reference."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.reference.model import WHOLE, Job
from tests.examples import examples
from tests.parity.core import assert_equal
from tests.reference.cases import SECOND, Case

pytestmark = pytest.mark.long

SHARES = st.lists(st.sampled_from([130, 270, 310, 90, 590]), min_size=2, max_size=4, unique=True)


@pytest.mark.parametrize("params", [{}, {"artefact": True}])
@examples(60)
@given(shares=SHARES, seed=st.integers(0, 2**32), policy=st.sampled_from(["fifo-skip", "easy"]))
def test_mixed_shares_go_where_the_reference_puts_them(params, shares, seed, policy):
    draws = random.Random(seed)
    jobs = []
    for _ in range(40):
        share = draws.choice([*shares, *shares, WHOLE])
        gpus = draws.choice([1, 1, 2]) if share == WHOLE else 1
        cpu = draws.choice([0, 500, 1300])
        service = draws.randint(5, 30)
        jobs.append(Job(draws.randint(0, 40), service, gpus, share_milli=share, cpu_milli=cpu))
    servers = [(draws.choice([2, 4]), "gpu") for _ in range(3)]
    room = [(draws.choice([None, 4000, 6000]), None) for _ in servers]
    assert_equal(Case(jobs, servers, policy, "fgd", {}, params, seed, room=room).at(SECOND))
