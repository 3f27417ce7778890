"""Measure the errors of what-if answers, by their grade, at made-up sites.

``python -m bench.grade_study`` prints the table of docs/explanation/fidelity.md.
At a made-up site all is known, so what a what-if says can be held against what the change does
there.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Bool, Float64, nearest_rank
from gpusched.base.tables import Table, table
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.model.cluster import Cluster
from gpusched.studies.fidelity_grades import LETTERS, PLACEMENTS, POLICIES, own_starts
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.results.result import Result

SERVERS: Final = 6
GPUS: Final = 8
NUM_JOBS: Final = 800
LOAD: Final = 0.9
MORE_LOAD: Final = 1.1
HIDDEN_EVERY: Final = 50

Case = tuple[str, str]
"""A policy and a placement."""


@dataclass(frozen=True)
class Answer:
    """The answer of a baseline to a change, and the effect of the change at the site.

    Attributes
    ----------
    letter
        The grade of the base case.
    effect_factor
        By how much the factor is off by which the change multiplies the mean wait, at least 1.
    level_factor
        By how much the mean wait after the change is off, at least 1.
    """

    letter: str
    effect_factor: float
    level_factor: float


def site_jobs(seed: int) -> Trace:
    """Draw the jobs of a site: eight widths, lognormal run times, estimates 1 to 4 times those."""
    rng = np.random.Generator(np.random.PCG64(seed))
    service_s = rng.lognormal(8.5, 1.0, NUM_JOBS).round() + 60
    trace = Trace.from_columns(
        np.sort(rng.uniform(0, 1e6, NUM_JOBS)).round(),
        service_s,
        rng.choice([1, 2, 3, 4, 6, 8, 12, 16], NUM_JOBS),
        estimate_s=(service_s * rng.uniform(1, 4, NUM_JOBS)).round(),
        name=f"site {seed}",
    )
    return trace.with_load(LOAD, SERVERS * GPUS)


def answers(seed: int) -> Iterator[Answer]:
    """Yield what all base cases of a site answer to one more server and to a higher load.

    The site is run by each of the policies that are tried by default, and in a random order, with
    each placement; its log has all jobs, or lacks every fiftieth. The base cases are all pairs of
    a policy and a placement on the right number of servers, and the right pair on one more and
    one less.
    """
    trace = site_jobs(seed)
    every = np.ones(NUM_JOBS, dtype=np.bool_)
    most = np.arange(NUM_JOBS) % HIDDEN_EVERY != HIDDEN_EVERY - 1
    pairs = [(candidate.policy, placement) for candidate in POLICIES for placement in PLACEMENTS]
    unknown = [("random", placement) for placement in PLACEMENTS]
    truths = cache(partial(_waits, trace))
    for logged in (every, most):
        simulated = cache(partial(_waits, trace.filter(logged)))
        for truth in (*pairs, *unknown):
            tried = [(pair, SERVERS) for pair in pairs]
            tried += [(truth, SERVERS - 1), (truth, SERVERS + 1)] if truth in pairs else []
            yield from _answers(trace, logged, truth, tried, truths, simulated)


_Waits = Callable[[Case, int, float], tuple["Result", Float64]]


def _waits(trace: Trace, case: Case, servers: int, load: float) -> tuple[Result, Float64]:
    """Return a run and the waits in it, seconds."""
    jobs = trace if load == 1 else trace.scale_load(load)
    cluster = Cluster.uniform(servers, GPUS)
    policy, placement = case
    result = simulate(jobs, cluster, policy=policy, placement=placement, predictor="estimate")
    return result, result.jobs.wait_s


def _answers(
    trace: Trace,
    logged: Bool,
    truth: Case,
    tried: Sequence[tuple[Case, int]],
    truths: _Waits,
    simulated: _Waits,
) -> Iterator[Answer]:
    result, before_s = truths(truth, SERVERS, 1)
    wait_us = np.asarray(result.schedule.start_us) - trace.submit_us
    log = dataclasses.replace(trace, source_wait_us=wait_us).filter(logged)
    window = own_starts(log).window()
    changes = ((1, 1.0), (0, MORE_LOAD))
    for case, servers in tried:
        base, base_s = simulated(case, servers, 1)
        grade = window.likeness(base).grade
        for more, load in changes:
            _, true_s = truths(truth, SERVERS + more, load)
            _, told_s = simulated(case, servers + more, load)
            true, told = float(np.mean(true_s[logged])), float(np.mean(told_s))
            was, seemed = float(np.mean(before_s[logged])), float(np.mean(base_s))
            yield Answer(grade.letter, _off(told / seemed, true / was), _off(told, true))


def _off(one: float, other: float) -> float:
    return math.exp(abs(math.log(one / other)))


def graded(found: Sequence[Answer]) -> Table:
    """Return how far off the answers of each grade are."""
    rows = []
    for letter in LETTERS:
        of_letter = [answer for answer in found if answer.letter == letter]
        if not of_letter:
            continue
        effects = np.sort([answer.effect_factor for answer in of_letter])
        levels = np.sort([answer.level_factor for answer in of_letter])
        numbers = [nearest_rank(side, p) for side in (effects, levels) for p in (50, 90)]
        rows.append([letter, f"{len(of_letter):,}", *(f"{number:.2f}" for number in numbers)])
    return table("", ("grade", "answers", "effect p50", "p90", "level p50", "p90"), rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Answers off by, by the grade of the base case.")
    parser.add_argument("--sites", type=int, default=20, help="made-up sites, seeds from 0 on")
    sites: int = parser.parse_args(arguments).sites
    found = [answer for seed in range(sites) for answer in answers(seed)]
    print(graded(found))


if __name__ == "__main__":
    main()
