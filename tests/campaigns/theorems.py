"""Theorems on many drawn instances: how many break them, and how near the worst comes.

    python -m tests.campaigns.theorems [THEOREM ...] [--instances N] [--seed 1] [--first 0]

Without names all of them, each on its own number of instances. Hours can be had in pieces: the
instances of ``--first 1000 --instances 500`` follow those of ``--instances 1000``.
"""

import argparse
from collections.abc import Sequence

import numpy as np

from tests.theorems import (
    backfilling,
    gang_plans,
    lower_bounds,
    primal_dual,
    server_filling,
    shortest_remaining,
    virtual_machine,
)
from tests.theorems.theorem import Theorem

THEOREMS = {
    theorem.name: theorem
    for theorem in (
        *gang_plans.THEOREMS,
        primal_dual.THEOREM,
        *virtual_machine.THEOREMS,
        backfilling.THEOREM,
        server_filling.THEOREM,
        shortest_remaining.THEOREM,
        *lower_bounds.THEOREMS,
    )
}
_APART = 1_000_000  # between the instances of one seed and the next


def row(theorem: Theorem, instances: int, seed: int, first: int = 0) -> str:
    """Check a theorem and return its row of the table."""
    used, broken = [], []
    begin = seed * _APART + first
    for number in range(begin, begin + instances):
        try:
            used.append(theorem.check(number))
        except AssertionError as error:
            broken.append(str(error))
    worst = f"{np.median(used):.3f}, {max(used):.3f}" if used else ""
    cells = (
        f"`{theorem.name}`", theorem.says, theorem.constant, theorem.against, f"{instances:,}",
        str(len(broken)), worst,
    )  # fmt: skip
    return "\n".join([f"| {' | '.join(cells)} |", *broken[:3]])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table of the theorems that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("theorems", nargs="*", metavar="THEOREM", help=", ".join(THEOREMS))
    parser.add_argument("--instances", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="instances to pass over")
    given = parser.parse_args(arguments)
    unknown = set(given.theorems) - set(THEOREMS)
    if unknown:
        parser.error(f"unknown theorem {min(unknown)}; there are {', '.join(THEOREMS)}")
    print("| theorem | says | constant | against | instances | broken | used: median, most |")
    print("|---|---|---|---|--:|--:|--:|")
    for name in given.theorems or THEOREMS:
        theorem = THEOREMS[name]
        instances = given.instances or theorem.instances - given.first
        print(row(theorem, instances, given.seed, given.first), flush=True)


if __name__ == "__main__":
    main()
