"""Every registered name under every law of gpusched.testing, on many workloads.

``python -m tests.campaigns.laws --examples 200 --seed 1``
"""

import argparse
from collections.abc import Callable
from functools import partial

import gpusched as gs

POLICIES, PLACEMENTS = list(gs.policies()), list(gs.placements())
COMBINED = [
    f"{name} {contention}"
    for name, info in gs.speeds().items()
    for contention in (["none"] if info.has("steady") else gs.contentions())
]

# Packs for the mix of demands of the whole trace.
LOOK_AHEAD = {"fgd"}

# A server's room is never left idle by these; their queues are scanned to the end.
CONSERVING = [
    name for name, info in gs.policies().items() if info.kind == "order" and info.has("skip")
]
# Without a period, a limit or a slot of their own.
TIMELESS = [*CONSERVING, "fifo", "srtf", "srsf", "edf", "a-srpt-p"]


def questions() -> dict[tuple[str, str], Callable[..., None]]:
    """What is asked, by what it is asked of; ``examples`` and ``seed`` are still to be given."""
    asked: dict[tuple[str, str], Callable[..., None]] = {}
    for name in POLICIES:
        claims = ["work-conserving"] * (name in CONSERVING)
        claims += ["scale-free", "shift-free"] * (name in TIMELESS)
        asked["policy", name] = partial(gs.testing.check_policy, name, declares=claims)
    for name in PLACEMENTS:
        claims = ["looks-ahead"] * (name in LOOK_AHEAD)
        asked["placement", name] = partial(gs.testing.check_placement, name, declares=claims)
    for name in COMBINED:
        speed, contention = name.split()
        asked["speed", name] = partial(gs.testing.check_speed, speed, contention=contention)
    return asked


def main() -> int:
    """Ask all, and return how many laws are broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of policies, placements and speeds; default: all")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    num_broken = num_asked = 0
    for (role, name), ask in questions().items():
        if given.names and name.split()[0] not in given.names:
            continue
        num_asked += 1
        try:
            ask(examples=given.examples, seed=given.seed)
        except gs.testing.LawBroken as error:
            num_broken += 1
            print(f"{role} {name}: {error}\n", flush=True)
    print(f"{num_asked} names, {given.examples} workloads each: {num_broken} broke a law")
    return min(num_broken, 1)


if __name__ == "__main__":
    raise SystemExit(main())
