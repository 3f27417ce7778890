"""The mixed-integer program finds what exhaustive search finds, and the core agrees."""

import sys
from itertools import product

import numpy as np
import pytest

import gpusched as gs
from gpusched_papers import exact
from tests.each import each

OVERHEAD_S, DEGRADATION = 0.01, 0.1


def batch(
    gpus: list[int], service_s: list[float], servers: list[int], gradient: float = 3e7
) -> tuple[gs.Trace, gs.Cluster]:
    """Jobs at time 0 with one profile: 0.1 s of computing, and 0.02 to 0.05 s on idle links."""
    profile = gs.model.JobProfile("model", gradient, 32.0, 0.0, 0.1)
    trace = gs.Trace.from_columns(
        submit_s=np.zeros(len(gpus)), service_s=service_s, gpus=gpus,
        profile=np.zeros(len(gpus), dtype=np.int32), profiles=(profile,),
    )  # fmt: skip
    groups = (gs.ServerGroup(1, count, nic_gbps=10, intra_gbps=200) for count in servers)
    return trace, gs.Cluster(tuple(groups))


def problem_of(
    trace: gs.Trace, cluster: gs.Cluster, degradation: float = DEGRADATION
) -> exact.Instance:
    return exact.instance(trace, cluster, overhead_s=OVERHEAD_S, degradation=degradation)


def draw(seed: int, num_jobs: int) -> tuple[gs.Trace, gs.Cluster]:
    """Gangs of 2 or 3 GPUs; the seeds below are those whose optimum hangs on links and spread."""
    random = np.random.Generator(np.random.PCG64(seed))
    servers = random.choice([1, 2, 3], size=2).tolist()
    gpus = np.minimum(random.integers(2, 4, size=num_jobs), sum(servers)).tolist()
    return batch(gpus, random.integers(5, 30, size=num_jobs).tolist(), servers)


def rates_of(
    problem: exact.Instance, chosen: list[int], running: list[int]
) -> dict[int, float] | None:
    """Progress per second of the jobs that run together, or None where GPUs are short."""
    rows = {job: problem.placements[job][chosen[job]] for job in running}
    if (sum(rows.values(), np.zeros(len(problem.server_gpus))) > problem.server_gpus).any():
        return None
    rings = sum(
        ((row > 0) & (np.count_nonzero(row) > 1) for row in rows.values()),
        np.zeros(len(problem.server_gpus), dtype=int),
    )
    levels = {job: max(1, int(rings[row > 0].max())) for job, row in rows.items()}
    return {job: float(problem.rates[job][chosen[job]][level - 1]) for job, level in levels.items()}


def least_by_phases(problem: exact.Instance) -> float:
    """Every placement, every list of who runs in which phase, and a linear program for each."""
    from scipy.optimize import linprog

    number = problem.num_jobs
    spans = [range(a, b) for a in range(number) for b in range(a + 1, number + 1)]
    best = np.inf
    for chosen in product(*(range(len(rows)) for rows in problem.placements)):
        for runs in product(spans, repeat=number):
            matrix = np.zeros((number, number))
            for phase in range(number):
                running = [job for job in range(number) if phase in runs[job]]
                rates = rates_of(problem, list(chosen), running)
                if rates is None:
                    break
                for job, rate in rates.items():
                    matrix[job, phase] = rate
            else:
                cost = np.ones(number)
                found = linprog(cost, A_eq=matrix, b_eq=problem.service_s)
                best = min(best, found.fun) if found.status == 0 else best
    return float(best)


def least_by_events(problem: exact.Instance) -> float:
    """Every schedule in which jobs start only at time 0 or when another one finishes."""
    number = problem.num_jobs
    best = np.inf

    def go_on(
        now: float, left: dict[int, float], chosen: list[int], waiting: frozenset[int]
    ) -> None:
        nonlocal best
        if not left and not waiting:
            best = min(best, now)
        for more in product([False, True], repeat=len(waiting)):
            joining = [job for job, joins in zip(sorted(waiting), more, strict=True) if joins]
            for picks in product(*(range(len(problem.placements[job])) for job in joining)):
                with_picks = list(chosen)
                for job, pick in zip(joining, picks, strict=True):
                    with_picks[job] = pick
                together = left | {job: float(problem.service_s[job]) for job in joining}
                rates = rates_of(problem, with_picks, list(together)) if together else None
                if rates is None:
                    continue
                step = min(work / rates[job] for job, work in together.items())
                if now + step >= best:
                    continue
                after = {j: work - rates[j] * step for j, work in together.items()}
                after = {job: work for job, work in after.items() if work > 1e-9}
                go_on(now + step, after, with_picks, waiting - set(joining))

    go_on(0.0, {}, [0] * number, frozenset(range(number)))
    return float(best)


@each("seed", [1, 4, 7, 97])
def test_two_jobs_take_what_every_list_of_phases_at_best_takes(seed):
    problem = problem_of(*draw(seed, 2))
    assert exact.solve(problem).makespan_s == pytest.approx(least_by_phases(problem), rel=1e-5)


def test_three_jobs_take_what_every_list_of_phases_at_best_takes():
    problem = problem_of(*draw(83, 3))
    best = least_by_phases(problem)
    assert best > exact.lower_bound_s(problem) + 1
    assert exact.solve(problem).makespan_s == pytest.approx(best, rel=1e-5)


@each("seed", [2, 23, 83, 97, 132, 247])
def test_three_jobs_take_no_longer_than_any_schedule_without_idle_starts(seed):
    problem = problem_of(*draw(seed, 3))
    solution = exact.solve(problem)
    assert solution.is_optimal
    assert solution.makespan_s <= least_by_events(problem) * (1 + 1e-5)
    assert solution.makespan_s >= exact.lower_bound_s(problem) * (1 - 1e-6)


@pytest.mark.parametrize(("degradation", "expected"), [(0.5, 20.0), (0.0, 18.98)])
def test_rings_run_one_after_the_other_where_sharing_a_link_costs_more(degradation, expected):
    # Two rings of 3 GPUs on three servers of 2 meet on one of them. Each takes 10 s alone, most
    # of it on the links, so together 10 s x (1.067 f + 0.12) / 1.187 with f = 2 + a.
    trace, cluster = batch([3, 3], [10.0, 10.0], [2, 2, 2], gradient=1e9)
    solution = exact.solve(problem_of(trace, cluster, degradation))
    assert solution.makespan_s == pytest.approx(expected, abs=0.01)
    overlap_s = solution.finish_s.min() - solution.start_s.max()
    assert (overlap_s > 1.0) == (degradation == 0.0)


@each("seed", [2, 97, 136, 144])
def test_the_core_replays_the_plan_in_the_same_time(seed):
    trace, cluster = draw(seed, 3)
    solution = exact.solve(problem_of(trace, cluster))
    result = exact.replay(
        solution, trace, cluster, speed=f"ring:overhead_s={OVERHEAD_S}",
        contention=f"shared:degradation={DEGRADATION}",
    )  # fmt: skip
    assert result.summary()["makespan_s"] == pytest.approx(solution.makespan_s, abs=2e-4)
    assert result.schedule.num_servers.tolist() == np.count_nonzero(solution.placement, 1).tolist()


def test_what_cannot_be_solved_is_refused_with_the_reason(monkeypatch):
    trace, cluster = batch([1, 2], [5.0, 7.0], [1, 3])
    late = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    with pytest.raises(ValueError, match="submitted at time 0"):
        exact.instance(late, cluster)
    with pytest.raises(ValueError, match="no profiles"):
        exact.instance(gs.Trace.from_columns([0, 0], [5, 5], [1, 1]), cluster)
    with pytest.raises(ValueError, match=r"servers\[i\].nic_gbps must be given"):
        exact.instance(trace, gs.Cluster.uniform(2, 4))
    with pytest.raises(ValueError, match="one GPU type"):
        exact.instance(trace, gs.Cluster((gs.ServerGroup(1, 1), gs.ServerGroup(1, 1, "T4"))))
    with pytest.raises(ValueError, match="job 1 has 0 placements"):
        exact.instance(trace, gs.Cluster.uniform(1, 1, nic_gbps=10, intra_gbps=100))
    with pytest.raises(ValueError, match="9 jobs are more than 8"):
        exact.instance(batch([1] * 9, [5.0] * 9, [1])[0], cluster)
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"pip install 'gpusched-core\[exact\]'"):
        exact.solve(exact.instance(trace, cluster))
