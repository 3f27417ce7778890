"""The mean and the order of job completion times of Gavel's simulator, policy by policy."""

import csv
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.schedulers import gavel, gavel_programs
from gpusched.plugins.schedulers.gavel import InOrder
from gpusched.plugins.schedulers.gavel_programs import Array, Jobs
from tests.unit.real_data import DATA, needs_real_data

pytestmark = pytest.mark.long

PEER = DATA / "peers" / "gavel"
TABLE = DATA / "gavel" / "simulation_throughputs.json"
TYPES = ("V100", "P100", "K80")
ROUNDS = "rounds=artefact,reset_s=1920,ties=any"

OURS = {
    "fifo_perf": f"gavel:objective=fifo,{ROUNDS}",
    "max_min_fairness_perf": f"gavel:{ROUNDS}",
    "max_min_fairness": f"gavel:aware=false,{ROUNDS}",
    "finish_time_fairness_perf": f"gavel:objective=ftf,{ROUNDS}",
    "finish_time_fairness": f"gavel:objective=ftf,aware=false,{ROUNDS}",
    "max_sum_throughput_perf": f"gavel:objective=throughput,counts=iterations,{ROUNDS}",
    "isolated": f"gavel:objective=isolated,{ROUNDS}",
    "allox": f"gavel:objective=allox,{ROUNDS}",
    "min_total_duration_perf": f"gavel:objective=makespan,{ROUNDS}",
}
"""Their policy -> ours under the same rules."""

MOST_OFF = {"min_total_duration_perf": (0.08, 0.98)}
"""How far off the mean may be, and the least rank correlation, where not 3 % and 0.99: that
program stops at a makespan within 5 % of the least, with the one of many answers that ECOS gives
(`test_the_makespan_agrees_by_the_answers_of_their_solver`)."""


def workload() -> gs.Trace:
    """Read the trace; the service of a job is that of its steps on its fastest type."""
    models = gs.model.read_throughputs(TABLE)
    named = ",".join(TYPES).lower()
    trace = gs.read_trace(PEER / "single_gpu.trace", throughputs=TABLE, gpu_type=named)
    return trace.with_throughputs(models)


def peer_jct_s(policy: str) -> np.ndarray[Any, Any]:
    """Read what their simulator gave each job."""
    with (PEER / "single_gpu_jct_s.csv").open(newline="") as file:
        return np.array([float(row[policy]) for row in csv.DictReader(file)])


def our_jct_s(policy: str) -> np.ndarray[Any, Any]:
    """Run ours on 12 servers of one GPU of each type."""
    cluster = gs.Cluster(tuple(gs.ServerGroup(12, 1, name) for name in TYPES))
    result = gs.simulate(workload(), cluster, policy=policy, speed="table", placement="first-fit")
    return np.asarray(result.jobs["finish_s"]) - np.asarray(result.jobs["submit_s"])


def rank_correlation(one: np.ndarray[Any, Any], other: np.ndarray[Any, Any]) -> float:
    """Return Spearman's; no two times are equal."""
    ranks = [np.argsort(np.argsort(times)) for times in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])


@needs_real_data
@pytest.mark.parametrize("name", OURS)
def test_gavel_in_rounds_of_the_artefact_agrees_with_it(name):
    pytest.importorskip("scipy")
    ours, theirs = our_jct_s(OURS[name]), peer_jct_s(name)
    most, least = MOST_OFF.get(name, (0.03, 0.99))
    assert ours.mean() == pytest.approx(theirs.mean(), rel=most)
    assert rank_correlation(ours, theirs) >= least


def by_their_solver(jobs: Jobs) -> Array:
    """Bisect the makespan to within 5 %, and take what ECOS finds possible.

    The work is in steps, as there: in which units it is decides which of all answers ECOS gives.
    """
    ecos, sparse = pytest.importorskip("ecos"), pytest.importorskip("scipy.sparse")
    assert jobs.iterations is not None
    rates, steps = jobs.rates * jobs.iterations[:, None], jobs.remaining * jobs.iterations
    num_jobs, num_types = rates.shape
    job, kind = (index.ravel() for index in np.indices(rates.shape))
    num = job.size
    at = np.arange(num)
    rows = sparse.vstack([
        -sparse.identity(num),
        sparse.csc_matrix((jobs.gpus[job], (kind, at)), (num_types, num)),
        sparse.csc_matrix((np.ones(num), (job, at)), (num_jobs, num)),
        sparse.csc_matrix((-rates.ravel(), (job, at)), (num_jobs, num)),
    ]).tocsc()  # fmt: skip
    possible = None
    least, most = 100.0, 1e6  # seconds
    while 1.05 * least < most:
        makespan = (least + most) / 2
        whole = np.ones(num_jobs)
        limits = np.concatenate((np.zeros(num), jobs.capacity, whole, -steps / makespan))
        found = ecos.solve(np.zeros(num), rows, limits, {"l": len(limits), "q": []}, verbose=False)
        if found["info"]["exitFlag"] == 0:
            possible, most = found["x"], makespan
        else:
            least = makespan
    assert possible is not None, "the makespan is above 10^6 s"
    return np.clip(possible.reshape(rates.shape), 0.0, 1.0)


@needs_real_data
def test_the_makespan_agrees_by_the_answers_of_their_solver(monkeypatch):
    pytest.importorskip("ecos")
    monkeypatch.setitem(gavel_programs.PROGRAMS, "makespan", by_their_solver)
    ours = our_jct_s(f"gavel:objective=makespan,counts=iterations,{ROUNDS}")
    theirs = peer_jct_s("min_total_duration_perf")
    assert ours.mean() == pytest.approx(theirs.mean(), rel=0.001)
    assert rank_correlation(ours, theirs) >= 0.998


class SlippingOrder(InOrder):
    """The program's order where it is not aware: it draws a type, and takes another.

    A job gets the last type of the list of those with GPUs left, and when that is used up, the
    type that was drawn leaves the list: a type may be given to more jobs than it has GPUs, which
    then share it by rounds. Jobs are of one GPU, as in the trace.
    """

    def solve(
        self, ids: list[int], rates: Any, gpus: Any, remaining: Any, capacity: Any
    ) -> np.ndarray[Any, Any]:
        left = dict(enumerate(capacity.tolist()))
        queue = sorted(set(ids) - self.kept.keys())
        for job, kind in sorted(self.kept.items()):
            if job in ids:
                left[kind] -= 1
                continue
            if queue and left[kind] >= 1:
                self.kept[queue.pop(0)] = kind
                left[kind] -= 1
            del self.kept[job]
        listed = [kind for kind in reversed(range(len(capacity))) if left[kind] > 0]  # by name
        for job in queue:
            room = [place for place, kind in enumerate(listed) if left[kind] >= 1]
            if not room:
                break
            drawn, taken = self.random.randrange(len(room)), listed[-1]
            self.kept[job] = taken
            left[taken] -= 1
            if left[taken] == 0:
                del listed[room[drawn]]
        fractions = np.zeros_like(rates)
        for job, kind in self.kept.items():
            fractions[ids.index(job), kind] = 1.0
        return fractions


@needs_real_data
def test_the_order_of_arrival_that_is_not_aware_differs_by_a_slip_of_the_program(monkeypatch):
    policy, theirs = f"gavel:objective=fifo,aware=false,{ROUNDS}", peer_jct_s("fifo")
    assert rank_correlation(our_jct_s(policy), theirs) < 0.9
    monkeypatch.setattr(gavel, "InOrder", SlippingOrder)  # which the rule looks up
    slipped = our_jct_s(policy)
    assert rank_correlation(slipped, theirs) >= 0.99
    assert np.sum(np.abs(slipped / theirs - 1) < 0.01) >= 170
