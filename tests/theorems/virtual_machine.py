"""A-SRPT's competitive bound, under both speeds."""

from functools import partial
from typing import Final

from tests.a_srpt_bound import check, draw_instance
from tests.theorems.theorem import Theorem, kept


def share(speed: str, seed: int) -> float:
    """Return the sum of completion times over its bound."""
    found = check(draw_instance(seed, speed))
    assert found.total >= found.lower - found.slack, f"seed {seed}: below what no schedule beats"
    return kept(found.total, found.bound, seed, found.slack)


THEOREMS: Final = tuple(
    Theorem(
        name=f"a-srpt-{speed}",
        says=f"the sum of completion times lies between SRPT's on one machine that cuts gangs and "
        f"its bound, speed `{speed}`",
        constant="over (1 + tau) + rho under over M / (M - w + 1), and rho",
        against="SRPT on the squashed machine",
        check=partial(share, speed),
    )
    for speed in ("fixed", "stages")
)
