"""What may have happened at the site of a trace: policies, placements and capacities to try."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from gpusched._core import Placement
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.plugins.policy_labels import AnyPolicy
from gpusched.studies.fidelity.capacity_search import nearest_capacity, smaller_capacity
from gpusched.studies.fidelity.grades import Grade
from gpusched.studies.fidelity.likeness import Likeness, likeness, settled, simulated_waits
from gpusched.studies.fidelity.own_starts import OwnStarts, Window
from gpusched.studies.fidelity.wait_statistics import mean_difference
from gpusched.traces.checked_columns import NOT_GIVEN

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace


class Candidate(NamedTuple):
    """A policy that is tried by default, in traces of at most so many jobs (None: any)."""

    policy: str
    most_jobs: int | None = None


POLICIES: Final = (
    Candidate("fifo"),
    Candidate("fifo-skip"),
    Candidate("sgf"),
    Candidate("easy"),
    Candidate("conservative", 20_000),  # its time grows with the queue at every event
    Candidate("sjf"),
    Candidate("swf"),
)
"""Tried by default; those that rank jobs by run time only if the trace has an estimate of each."""

PLACEMENTS: Final = ("consolidated", "first-fit")
"""Tried by default: gangs that want whole servers, and gangs that take any GPUs."""


@dataclass(frozen=True)
class BaseCase:
    """A simulation that stands for what happened.

    Attributes
    ----------
    policy, placement, predictor
        As texts, see :func:`gpusched.simulate`.
    clairvoyant
        Whether the policy decided by the true service times, which no site knows.
    cluster
        On which cluster.
    likeness
        How near it comes.
    num_runs
        How many were simulated to find its capacity.
    same_as
        Another base case, earlier in the list, with the very same waits; empty if there is none.
    """

    policy: str
    placement: str
    predictor: str
    clairvoyant: bool
    cluster: Cluster
    likeness: Likeness
    num_runs: int
    same_as: str = ""

    @property
    def grade(self) -> Grade:
        """Its grade, see :class:`Grade`."""
        return self.likeness.grade

    @property
    def name(self) -> str:
        """Policy, placement and servers in a few words."""
        return f"{self.policy}, {self.placement}, {self.cluster.num_servers:,} servers"

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "policy": self.policy,
            "placement": self.placement,
            "predictor": self.predictor,
            "clairvoyant": self.clairvoyant,
            "cluster": str(self.cluster),
            "num_servers": self.cluster.num_servers,
            "num_gpus": self.cluster.num_gpus,
            "grade": self.grade.to_dict(),
            **self.likeness.to_dict(),
            "num_runs": self.num_runs,
            "same_as": self.same_as,
        }


@dataclass(frozen=True)
class Setting:
    """A policy and a placement, and the clusters that are open to them.

    Attributes
    ----------
    clusters
        Those to try; if empty the number of servers is searched for, from ``least_servers`` on.
    """

    trace: Trace
    own: OwnStarts
    window: Window
    resolution_s: float
    policy: AnyPolicy
    placement: str | PlacementChoice | Placement
    predictor: str
    clusters: tuple[Cluster, ...]
    least_servers: int
    gpus_per_server: int
    seed: int

    def runs_on(self, cluster: Cluster, stop: threading.Event | None = None) -> Result:
        """Simulate it."""
        return simulate(
            self.trace, cluster, policy=own(self.policy), placement=own(self.placement),
            predictor=self.predictor, seed=self.seed, stop=stop,
        )  # fmt: skip

    def found(self, stop: threading.Event) -> list[tuple[BaseCase, str]]:
        """Return a base case for each cluster, with a digest of its starts.

        Without clusters there is one, on the number of servers found.
        """
        if self.clusters:
            return [self._judged(self.runs_on(cluster, stop), 1) for cluster in self.clusters]
        return [self._sized(stop)]

    def _sized(self, stop: threading.Event) -> tuple[BaseCase, str]:
        """Return the base case on the number of servers that is nearest to what happened.

        It is the one with the nearest mean wait. Where jobs waited longer than even on the fewest
        servers that can have run all that ran at once, there may have been fewer for most of the
        time: then fewer are tried, too.
        """
        compared = self.window.compared
        target = float(np.mean(settled(self.own.wait_us[compared], self.resolution_s)))
        latest: dict[int, Result] = {}
        runs = 0

        def on(servers: int) -> Result:
            nonlocal runs
            if servers not in latest:
                runs += 1
                cluster = Cluster.uniform(servers, self.gpus_per_server)
                latest.clear()  # results are large
                latest[servers] = self.runs_on(cluster, stop)
            return latest[servers]

        def mean_wait(servers: int) -> float:
            return float(np.mean(simulated_waits(on(servers), compared, self.resolution_s)))

        def distance(servers: int) -> float:
            return likeness(on(servers), self.own, self.window, self.resolution_s).distance

        servers = nearest_capacity(mean_wait, self.least_servers, target)
        if servers == self.least_servers and mean_wait(servers) < target:
            servers = smaller_capacity(distance, servers, self._fewest())
        return self._judged(on(servers), runs)

    def _fewest(self) -> int:
        """The servers that hold the widest job, and what was in use on average."""
        time_us, change = self.own.changes
        begin_us, end_us = self.window.begin_us, self.window.end_us
        in_use = mean_difference(time_us, change, begin_us, end_us)[1]
        gpus = max(int(self.trace.gpus.max()), math.ceil(in_use), 1)
        return -(-gpus // self.gpus_per_server)

    def _judged(self, result: Result, num_runs: int) -> tuple[BaseCase, str]:
        spec = result.spec
        like = likeness(result, self.own, self.window, self.resolution_s)
        case = BaseCase(
            spec.policy, spec.placement, spec.predictor, result.clairvoyant, result.cluster,
            like, num_runs,
        )  # fmt: skip
        starts = np.ascontiguousarray(result.schedule.start_us).tobytes()
        return case, hashlib.sha256(starts).hexdigest()


def default_policies(trace: Trace) -> tuple[list[str], list[str]]:
    """Return the policies to try where none are named, and what is to be said of it."""
    estimated = has_all_estimates(trace)
    chosen, said = [], []
    by_truth, left_out = [], []
    for name, most_jobs in POLICIES:
        policy = Policy.parse(name)
        if policy.has("clairvoyant") and not estimated:
            left_out.append(name)
            continue
        if most_jobs is None or len(trace) <= most_jobs:
            chosen.append(name)
            if policy.has("estimate"):
                by_truth.append(name)
        else:
            said.append(
                f"{name} was not tried: it is slow for more than {most_jobs:,} jobs; name it to "
                "have it"
            )
    if not estimated:
        why = "some jobs have" if trace.estimate_us is not None else "the trace has"
        # A site that backfills knows limits that its log need not tell.
        said.append(
            f"{why} no estimates: in {' and '.join(by_truth)} true run times stand for them; "
            f"{' and '.join(left_out)}, which rank jobs by them, were not tried"
        )
    return chosen, said


def default_predictor(trace: Trace) -> str:
    """Return what policies know of run times: the estimates if all jobs have one."""
    return "estimate" if has_all_estimates(trace) else "oracle"


def has_all_estimates(trace: Trace) -> bool:
    """Whether each job has an estimate of its run time."""
    return trace.estimate_us is not None and bool((trace.estimate_us != NOT_GIVEN).all())


def ordered(cases: Sequence[tuple[BaseCase, str]]) -> tuple[BaseCase, ...]:
    """Return base cases from the nearest to the farthest; of equals the first, and the fewest GPUs.

    Those with the very starts of an earlier one say so.
    """
    places = range(len(cases))
    order = sorted(
        places, key=lambda i: (cases[i][0].likeness.distance, cases[i][0].cluster.num_gpus, i)
    )
    first: dict[str, str] = {}
    sorted_cases = []
    for place in order:
        case, digest = cases[place]
        if digest in first:
            case = replace(case, same_as=first[digest])
        first.setdefault(digest, case.name)
        sorted_cases.append(case)
    return tuple(sorted_cases)
