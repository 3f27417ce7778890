"""Random small runs of every policy that is elastic, knows deadlines or tells GPU types apart.

``python -m tests.random_elastic --cases 100000 --seed 1`` makes so many runs, one after the other,
audits each, and checks what holds whatever is decided: every job that is not rejected ends, no
promise is broken, no bound is passed. Instances are made to hurt: tables whose other widths save
nothing, that do not run some widths, or that run the own width alone; jobs shorter than a tenth of
a slot; restarts longer than slots; gangs wider than any one GPU type. A run that does not end
within ``--limit`` seconds has failed, too. Failures are printed with their seeds, of which
``--cases 1 --seed N`` makes one again.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpusched as gs
from gpusched.schedules.schedule import FINISHED, REJECTED
from tests.time_limit import time_limit

Random = np.random.Generator
Table = dict[str, dict[int, float]]

TYPES = ("A", "B", "C")
COUNTS = ((1, 2, 4, 8), (1, 2, 3, 4), (2, 4), (3, 4), (1, 3, 6), (3,), (4,), (1,))
SLOTS_S = (20.0, 60.0, 100.0, 300.0)
# What gangs on more servers than they need lose can break a promise: tables without it.
PROMISING = ("dancer", "elasticflow", "chronus")


@dataclass(frozen=True)
class Instance:
    """A run that can be made again."""

    trace: gs.Trace
    cluster: gs.Cluster
    policy: gs.Policy
    placement: str
    speed: str
    seed: int

    @property
    def is_pooled(self) -> bool:
        """Whether servers and types do not matter."""
        return self.placement == "count"

    def run(self, predictor: str = "oracle") -> gs.Result:
        """Simulate it."""
        return gs.simulate(
            self.trace, self.cluster, policy=self.policy, placement=self.placement,
            speed=self.speed, predictor=predictor, seed=self.seed,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.policy} with {self.placement} under {self.speed} ({len(self.trace)} jobs)"


def pick(random: Random, values: Any) -> Any:
    """One of the values, as it is."""
    return values[int(random.integers(len(values)))]


def table_of(random: Random) -> Table:
    """Throughputs of one kind for all types: linear, falling off, growing too fast, at random."""
    counts = pick(random, COUNTS)
    kind = random.random()
    table: Table = {}
    for gpu_type in TYPES:
        base = pick(random, (0.5, 1.0, 1.0, 2.0))
        if kind < 0.35:  # every width costs exactly the same GPU time
            rates = [base * count for count in counts]
        elif kind < 0.6:
            rates = [base * count / (1 + 0.25 * (count - 1)) for count in counts]
        elif kind < 0.7:
            rates = [base * count**1.5 for count in counts]
        else:
            rates = [pick(random, (0.0, 0.7, 1.0, 1.0, 1.7, 2.5)) * base for _ in counts]
        holes = random.random(len(counts)) < pick(random, (0.0, 0.0, 0.3))
        if random.random() < 0.15:
            holes[:] = True
        table[gpu_type] = {
            count: 0.0 if hole else rate
            for count, rate, hole in zip(counts, rates, holes.tolist(), strict=True)
        }
    return table


def profiles_of(random: Random) -> list[gs.model.JobProfile]:
    """A few models, each of which runs somewhere."""
    tables: list[Table] = []
    while len(tables) < 3:
        table = table_of(random)
        if any(rate > 0 for of_type in table.values() for rate in of_type.values()):
            tables.append(table)
    return [gs.model.JobProfile(name=f"p{i}", throughput=table) for i, table in enumerate(tables)]


def cluster_of(random: Random) -> gs.Cluster:
    """Servers of powers of two of GPUs: one type, or up to three."""
    num_types = pick(random, (1, 1, 2, 2, 3))
    groups = [
        gs.ServerGroup(int(random.integers(1, 4)), pick(random, (1, 2, 4, 4, 8)), gpu_type)
        for gpu_type in TYPES[:num_types]
    ]
    return gs.Cluster(tuple(groups))


def width_of(random: Random, profile: gs.model.JobProfile, num_gpus: int) -> int:
    """A width at which the job runs somewhere; seldom any."""
    assert profile.throughput is not None
    known = {
        count for table in profile.throughput.values() for count, rate in table.items() if rate > 0
    }
    if random.random() < 0.1:
        return int(random.integers(1, num_gpus + 1))
    return int(pick(random, sorted(known)))


def trace_of(random: Random, cluster: gs.Cluster, slot_s: float, speed: str) -> gs.Trace:
    """Jobs that are in each other's way."""
    size = int(random.integers(1, 16))
    profiles = profiles_of(random)
    index = random.integers(0, len(profiles), size)
    if speed == "table":
        gpus = np.array([width_of(random, profiles[i], cluster.num_gpus) for i in index])
    else:
        gpus = random.integers(1, pick(random, (2, 5, cluster.num_gpus + 1)), size)
    lengths = pick(random, ((0.01, 0.05, 0.09), (0.01, 0.5, 1.0, 4.0), (1.0, 3.33, 8.0)))
    service_s = slot_s * random.choice(lengths, size)
    submit_s = np.sort(random.choice(np.arange(0, 12 * slot_s, slot_s / 4), size))
    if random.random() < 0.3:
        submit_s[:] = slot_s * pick(random, (0, 0, 0.5))
    slack = random.choice([0.4, 0.9, 1.0, 1.01, 1.5, 3.0, 8.0, 40.0], size)
    if random.random() < 0.3:  # long jobs with time to spare, and short ones that must run at once
        is_short = random.random(size) < 0.5
        lengths = random.uniform(0.05, 0.6, size), random.choice([1.0, 2.0, 4.0], size)
        service_s = slot_s * np.where(is_short, *lengths)
        slack = np.where(is_short, random.choice([1.05, 1.3], size), random.choice([2, 4], size))
        submit_s = np.sort(slot_s * random.uniform(0, 4, size))
    has_none = random.random(size) < pick(random, (0.0, 0.2, 1.0))
    columns: dict[str, Any] = {
        "submit_s": submit_s,
        "service_s": service_s,
        "gpus": gpus,
        "value": random.choice([0.5, 1.0, 1.0, 4.0], size),
        "restart_s": slot_s
        * random.choice(pick(random, ((0.0,), (0.0, 0.02, 0.3), (1.3, 4))), size),
        "deadline_s": np.where(has_none, np.nan, submit_s + np.maximum(service_s * slack, 1e-6)),
    }
    if random.random() < 0.5:
        columns["min_gpus"] = random.integers(1, gpus + 1)
    if random.random() < 0.5:
        columns["max_gpus"] = gpus * random.integers(1, 5, size)
    if random.random() < 0.2:
        columns["gpu_types"] = [
            list(random.choice(TYPES[: len(cluster.gpu_types)], 1))
            if random.random() < 0.4
            else None
            for _ in range(size)
        ]
    trace = gs.Trace.from_columns(**columns)
    return trace.with_profiles(profiles, index=index) if speed == "table" else trace


def dancer(random: Random, slot_s: float) -> gs.Policy:
    """Any of the ways to run it."""
    return gs.Policy(
        "dancer", slot_s=slot_s,
        prices=pick(random, ("market", "market", "density", "theory", "constant")),
        elastic=pick(random, ("both", "both", "both", "number", "type", "none")),
        replan=bool(random.random() < 0.7), fill=bool(random.random() < 0.7),
        retry=bool(random.random() < 0.7), exchange=bool(random.random() < 0.8),
        whole_slots=bool(random.random() < 0.2), segments=pick(random, (2, 4, 32)),
        quanta=pick(random, (7, 50, 640)),
    )  # fmt: skip


def period(random: Random, slot_s: float) -> float:
    """That of a policy that may have none."""
    return float(pick(random, (0.0, slot_s, 3 * slot_s)))


MAKERS: dict[str, Callable[[Random, float], gs.Policy]] = {
    "dancer": dancer,
    "elasticflow": lambda random, slot_s: gs.Policy(
        "elasticflow", slot_s=slot_s, types=pick(random, ("ordered", "pinned"))
    ),
    "chronus": lambda _, slot_s: gs.Policy("chronus", lease_s=slot_s),
    "chronus-leases": lambda random, slot_s: gs.Policy(
        "chronus-leases", lease_s=slot_s, margin=pick(random, (0.0, 0.1)),
        plans=pick(random, ("latest", "program")),
    ),
    "edf-fastest": lambda _random, _slot_s: gs.Policy("edf-fastest"),
    "edf-greatest": lambda random, slot_s: gs.Policy(
        "edf-greatest", slot_s=slot_s, admission=bool(random.random() < 0.5)
    ),
    "edf": lambda _random, _slot_s: gs.Policy("edf"),
    "llf": lambda _, slot_s: gs.Policy("llf", period_s=slot_s),
    "afs": lambda random, slot_s: gs.Policy("afs", period_s=period(random, slot_s)),
    "optimus": lambda random, slot_s: gs.Policy(
        "optimus", period_s=period(random, slot_s), step=pick(random, ("one", "double"))
    ),
    "allox": lambda random, slot_s: gs.Policy(
        "allox", period_s=period(random, slot_s), preempt=bool(random.random() < 0.7)
    ),
    "themis": lambda random, slot_s: gs.Policy(
        "themis", period_s=slot_s, fairness=pick(random, (0.0, 0.5, 0.8))
    ),
    "themis-greedy": lambda _, slot_s: gs.Policy("themis-greedy", period_s=slot_s),
    "matching": lambda random, slot_s: gs.Policy(
        "matching", period_s=period(random, slot_s), widths=pick(random, ("elastic", "own"))
    ),
    "gavel": lambda random, slot_s: gs.Policy(
        "gavel", round_s=slot_s,
        objective=pick(random, ("max-min", "ftf", "makespan", "throughput", "deadlines")),
    ),
}  # fmt: skip
"""Every policy with the flags ``elastic`` or ``deadlines``, and those that look at GPU types."""
# How often each is run: those that promise most, those that solve programs least.
SHARES = {
    "dancer": 30,
    "elasticflow": 15,
    "chronus": 8,
    "gavel": 1,
    "chronus-leases": 1,
    "matching": 3,
}


def instance(seed: int, name: str | None = None) -> Instance:
    """The run of a seed; of a policy, if one is named."""
    random = np.random.default_rng(seed)
    weight = np.array([SHARES.get(known, 5) for known in MAKERS], dtype=float)
    drawn = str(random.choice(list(MAKERS), p=weight / weight.sum()))
    policy = name or drawn
    slot_s = float(pick(random, SLOTS_S))
    cluster = cluster_of(random)
    speed = "fixed" if policy != "matching" and random.random() < 0.2 else "table"
    placement = pick(random, ("buddy", "buddy", "buddy", "best-fit", "consolidated", "spread"))
    if speed == "fixed" and len(cluster.gpu_types) == 1 and random.random() < 0.3:
        placement = "count"
    trace = trace_of(random, cluster, slot_s, speed)
    return Instance(trace, cluster, MAKERS[policy](random, slot_s), placement, speed, seed)


def check(one: Instance) -> gs.Result | None:
    """Run it, and raise AssertionError where a law is broken; None where nothing could be run."""
    result = one.run()
    report = result.audit()
    assert report.ok, "; ".join(report.problems)
    schedule, summary = result.schedule, result.summary()
    left = np.flatnonzero(~np.isin(schedule.status, (FINISHED, REJECTED)))
    assert not len(left), f"jobs {left.tolist()} never end"
    if one.policy.name in PROMISING:
        assert summary.get("broken_promises", 0) == 0, "a promise is broken"
        assert not any("admitted" in text for text in result.warnings), result.warnings
    return result


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_elastic", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for one run")
    parser.add_argument("--policy", choices=list(MAKERS), help="no other")
    given = parser.parse_args(arguments)
    begun, failed = time.monotonic(), 0
    counts: Counter[str] = Counter()
    for seed in range(given.seed, given.seed + given.cases):
        one = instance(seed, given.policy)
        counts[one.policy.name] += 1
        try:
            with time_limit(given.limit, "the run"):
                check(one)
        except Exception as error:
            failed += 1
            print(f"seed {seed}: {one}: {type(error).__name__}: {error}", flush=True)
    took = time.monotonic() - begun
    shares = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"{given.cases} runs ({shares}): {failed} failed; {took:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
