"""Promises of one instant: one more claim changes what planning all of them anew would change."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpusched._core import _testing
from tests.examples import examples

SLOT = 10  # ticks


def widths_of(rng: random.Random) -> list[tuple[int, float]]:
    """Draw one width, or a few of growing speed."""
    if rng.random() < 0.4:
        return [(1 << rng.randrange(4), 1.0)]
    widths, gpus, rate = [], 1 << rng.randrange(2), 1.0
    for _ in range(rng.randint(1, 4)):
        widths.append((gpus, rate))
        gpus *= 2
        rate *= rng.uniform(1.1, 2.0)
    return widths


def claim_of(rng: random.Random, now: int, crowd: int, restart: float) -> tuple:
    """Draw a claim: short or long, tight or loose, some of them on their way."""
    widths = widths_of(rng)
    work = float(rng.randint(1, rng.choice([40, 200])))
    deadline = now + rng.randint(1, rng.choice([60, 12 * crowd + 1]))
    # A width that it may hold and not look for, too.
    width = rng.choice(widths)[0] + rng.choice([0, 0, 1]) if rng.random() < 0.3 else 0
    debt = float(rng.randint(0, int(restart))) if width else 0.0
    key = deadline - rng.choice([0.0, work])
    if rng.random() < 0.3:
        key = key // 20 * 20  # many of one key
    return key, work, restart, debt, width, rng.random() < 0.5, deadline, widths


# Deadline, work and width of claims, found by a search.
REFUSED_AS_BEFORE_AND_JOINS = [(46, 34, 2)] + [
    (deadline, 4, 2) for deadline in (19, 28, 17, 10, 37, 19, 21, 37)
]
JOINS_AHEAD_OF_A_REFUSAL = [
    (deadline, 35 if gpus == 1 else 5, gpus)
    for deadline, gpus in zip(
        (52, 50, 12, 28, 50, 41, 13, 19, 46, 9, 51, 36, 22, 17, 49, 19),
        (1, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1, 2),
        strict=True,
    )
]


@pytest.mark.parametrize(
    ("num_gpus", "restart", "crowd"),
    [(12, 3.0, REFUSED_AS_BEFORE_AND_JOINS), (13, 0.0, JOINS_AHEAD_OF_A_REFUSAL)],
)
def test_what_is_known_of_a_refusal_ends_where_a_claim_joins(num_gpus, restart, crowd):
    claims = [
        (float(deadline), float(work), restart, 0.0, 0, False, deadline, [(gpus, 1.0)])
        for deadline, work, gpus in crowd
    ]
    fast, slow = (
        _testing.fill_line(num_gpus, SLOT, 0, 0, claims, 1000, is_slow) for is_slow in (False, True)
    )
    assert fast == slow


@given(seed=st.integers(0, 1 << 30), size=st.sampled_from([3, 12, 40, 150]))
@example(seed=5, size=150)
@examples(300)
def test_claims_that_join_get_the_plans_of_all_planned_anew(seed, size):
    rng = random.Random(seed)
    num_gpus = rng.randint(1, 16)
    now = rng.choice([0, 0, 7, 33])
    blocked = rng.choice([0, 0, rng.randint(0, num_gpus)])
    restart = rng.choice([0.0, 0.0, 3.0, 24.0])
    crowd = rng.randint(1, size)
    claims: list[tuple] = []
    # Where one was refused the next one alike is refused for the same reason.
    likeness = rng.choice([0.0, 0.5, 0.9])
    while len(claims) < crowd:
        is_alike = claims and rng.random() < likeness
        claims.append(rng.choice(claims) if is_alike else claim_of(rng, now, crowd, restart))
    every = rng.choice([5, 1000])
    fast, slow = (
        _testing.fill_line(num_gpus, SLOT, now, blocked, claims, every, is_slow)
        for is_slow in (False, True)
    )
    assert fast == slow
    taken = [blocked]  # in each slot
    for plan in fast:
        begin = 0
        for end, gpus in plan:
            taken += [0] * (end - len(taken))
            for slot in range(begin, end):
                taken[slot] += gpus
            begin = end
    assert max(taken) <= num_gpus
