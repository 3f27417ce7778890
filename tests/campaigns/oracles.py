"""Each optimisation piece beside programs by others, larger than exhaustive search can be.

``python -m tests.campaigns.oracles [PIECE...] [--instances 300] [--seed 1]`` prints a table of the
pieces: how many instances each oracle solved, and how many differed. Needs the extra oracles.
"""

import argparse
import importlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import gpusched as gs
from gpusched.bounds.certificates import makespan_bound
from gpusched.bounds.registry import JobColumns
from gpusched.online.assignment import assign, transport

Random = np.random.Generator
Check = Callable[[Random], bool]
"""Draws an instance, solves it both ways and tells whether they agree."""

ERROR = 1e-7
SLACK = 1e-5
"""By how much a solver of linear programs may break a constraint, with some room."""


class Piece(NamedTuple):
    name: str
    oracle: str
    check: Check


def whole_costs(random: Random) -> Any:
    shape = random.integers(2, 40, 2)
    most = int(random.choice([3, 100, 10_000]))
    return random.integers(0, most, (shape.min(), shape.max())).astype(np.float64)


def assignment_in_networkx(random: Random, method: str = "jonker-volgenant") -> bool:
    import networkx as nx

    cost = whole_costs(random)
    rows, columns = cost.shape
    graph = nx.Graph()
    for row in range(rows):
        for column in range(columns):
            graph.add_edge(row, rows + column, weight=cost[row, column])
    matched = nx.bipartite.minimum_weight_full_matching(graph, top_nodes=range(rows))
    best = sum(cost[row, matched[row] - rows] for row in range(rows))
    return bool(assign(cost, method=method).cost == best)


def auction_in_networkx(random: Random) -> bool:
    return assignment_in_networkx(random, "auction")


def assignment_in_ortools(random: Random) -> bool:
    from ortools.graph.python import linear_sum_assignment

    cost = whole_costs(random)
    square = np.vstack([cost, np.zeros((cost.shape[1] - cost.shape[0], cost.shape[1]))])
    left, right = np.indices(square.shape).reshape(2, -1)
    solver = linear_sum_assignment.SimpleLinearSumAssignment()
    solver.add_arcs_with_cost(left, right, square.astype(np.int64).ravel())
    assert solver.solve() == solver.OPTIMAL
    return bool(assign(cost).cost == solver.optimal_cost())


def shipment(random: Random) -> tuple[Any, Any, Any]:
    """Values, supply and capacity, with room for all."""
    rows, columns = int(random.integers(1, 30)), int(random.integers(1, 7))
    value = random.integers(-50, 100, (rows, columns))
    supply = random.integers(0, 20, rows)
    capacity = random.multinomial(supply.sum(), np.full(columns, 1 / columns))
    return value, supply, capacity + random.integers(0, 10, columns)


def transport_in_ortools(random: Random) -> bool:
    from ortools.graph.python import min_cost_flow

    value, supply, capacity = shipment(random)
    rows, columns = value.shape
    flow = min_cost_flow.SimpleMinCostFlow()
    for (row, column), worth in np.ndenumerate(value):
        flow.add_arc_with_capacity_and_unit_cost(row, rows + column, int(supply[row]), -int(worth))
    for row in range(rows):
        flow.set_node_supply(row, int(supply[row]))
    for column in range(columns):
        flow.add_arc_with_capacity_and_unit_cost(
            rows + column, rows + columns, int(capacity[column]), 0
        )
    flow.set_node_supply(rows + columns, -int(supply.sum()))
    assert flow.solve() == flow.OPTIMAL
    return bool(transport(value, supply, capacity).value == -flow.optimal_cost())


def transport_in_networkx(random: Random) -> bool:
    import networkx as nx

    value, supply, capacity = shipment(random)
    rows, columns = value.shape
    graph = nx.DiGraph()
    for row in range(rows):
        graph.add_node(("row", row), demand=-int(supply[row]))
    graph.add_node("sink", demand=int(supply.sum()))
    for (row, column), worth in np.ndenumerate(value):
        graph.add_edge(("row", row), ("column", column), weight=-int(worth))
    for column in range(columns):
        graph.add_edge(("column", column), "sink", weight=0, capacity=int(capacity[column]))
    cost, _ = nx.network_simplex(graph)
    return bool(transport(value, supply, capacity).value == -cost)


def transport_in_highs(random: Random) -> bool:
    """With units that may stay at home, as a linear program."""
    import highspy

    value, supply, capacity = shipment(random)
    capacity = capacity // 2
    rows, columns = value.shape
    program = highspy.Highs()
    program.silent()
    sent = [[program.addVariable(lb=0) for _ in range(columns)] for _ in range(rows)]
    for row in range(rows):
        program.addConstr(sum(sent[row]) <= int(supply[row]))
    for column in range(columns):
        program.addConstr(sum(sent[row][column] for row in range(rows)) <= int(capacity[column]))
    program.maximize(
        sum(int(worth) * sent[row][column] for (row, column), worth in np.ndenumerate(value))
    )
    best = program.getObjectiveValue()
    found = transport(value, supply, capacity, at_most=True).value
    return bool(abs(found - best) <= ERROR * max(1.0, abs(best)))


def deadlines_in_ortools(random: Random) -> bool:
    """Of one slot: a knapsack; the plan and its bound lie on either side of the best."""
    from ortools.algorithms.python import knapsack_solver

    num_jobs, slot_s = int(random.integers(2, 40)), 100.0
    widths = random.integers(1, 9, num_jobs).tolist()
    values = random.integers(1, 1_000, num_jobs).tolist()
    room = max(1, sum(widths) // int(random.integers(1, 5)))
    solver = knapsack_solver.KnapsackSolver(
        knapsack_solver.SolverType.KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER, "plan"
    )
    solver.init(values, [widths], [room])
    best = solver.solve()
    jobs = [
        gs.online.DeadlineJob(0.0, slot_s, slot_s, {("A", width): 1.0}, float(value))
        for width, value in zip(widths, values, strict=True)
    ]
    plan = gs.online.plan_deadlines(jobs, {"A": room}, slot_s=slot_s)
    return bool(plan.value <= best * (1 + ERROR) and plan.upper_bound >= best * (1 - ERROR))


def makespan_in_ortools(random: Random) -> bool:
    """Of gangs: no bound is above the best schedule, no run below."""
    from ortools.sat.python import cp_model

    num_jobs, num_gpus = int(random.integers(3, 9)), int(random.integers(2, 9))
    submit, service = random.integers(0, 20, num_jobs), random.integers(1, 20, num_jobs)
    submit.sort()
    gpus = random.integers(1, num_gpus + 1, num_jobs)
    model, horizon = cp_model.CpModel(), int(submit.max() + service.sum())
    starts = [model.new_int_var(int(at), horizon, "") for at in submit]
    makespan = model.new_int_var(0, horizon, "")
    runs = [
        model.new_fixed_size_interval_var(start, int(size), "")
        for start, size in zip(starts, service, strict=True)
    ]
    model.add_cumulative(runs, gpus.tolist(), num_gpus)
    for start, size in zip(starts, service, strict=True):
        model.add(makespan >= start + int(size))
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    best = solver.objective_value - submit[0]
    bound = makespan_bound(JobColumns(submit, service, gpus.astype(np.int32)), num_gpus)
    trace = gs.Trace.from_columns(submit_s=submit, service_s=service, gpus=gpus)
    ran = gs.simulate(trace, gs.Cluster.uniform(1, num_gpus), policy="easy", placement="count")
    return bool(bound <= best <= ran.schedule.finish_us.max() / 1e6 - submit[0])


def throughput_in_highs(random: Random) -> bool:
    """Gavel's greatest sum of rates and greatest least throughput, as programs of their own."""
    import highspy

    from gpusched.plugins.schedulers import gavel_programs
    from gpusched.plugins.schedulers.gavel_programs import Jobs

    size, types = int(random.integers(1, 12)), int(random.integers(1, 4))
    capacity = random.integers(1, 16, types).astype(float)
    gpus = random.integers(1, 5, size).astype(float)
    rates = random.uniform(0.1, 5.0, (size, types))
    ones = np.ones(size)
    jobs = Jobs(
        rates=rates, gpus=gpus, weight=ones, remaining=ones, elapsed=ones, served=ones,
        time_left=np.full(size, np.inf), value=ones, capacity=capacity, iterations=ones,
        price=np.ones(types), breaks_ties=False, isolated=None,
    )  # fmt: skip
    given = gavel_programs.throughput(jobs)
    if (given.sum(axis=1) > 1 + SLACK).any() or (gpus @ given > capacity + SLACK).any():
        return False
    program = highspy.Highs()
    program.silent()
    part = [[program.addVariable(lb=0) for _ in range(types)] for _ in range(size)]
    for row in part:
        program.addConstr(sum(row) <= 1)
    for kind in range(types):
        used = sum(float(gpus[job]) * part[job][kind] for job in range(size))
        program.addConstr(used <= float(capacity[kind]))
    program.maximize(
        sum(float(rate) * part[job][kind] for (job, kind), rate in np.ndenumerate(rates))
    )
    best = program.getObjectiveValue()
    return bool(abs((given * rates).sum() - best) <= SLACK * best)


PIECES = (
    Piece("assign", "networkx", assignment_in_networkx),
    Piece("assign", "ortools", assignment_in_ortools),
    Piece("auction", "networkx", auction_in_networkx),
    Piece("transport", "ortools", transport_in_ortools),
    Piece("transport", "networkx", transport_in_networkx),
    Piece("transport-at-most", "highspy", transport_in_highs),
    Piece("plan-deadlines", "ortools", deadlines_in_ortools),
    Piece("makespan-bound", "ortools", makespan_in_ortools),
    Piece("gavel-throughput", "highspy", throughput_in_highs),
)


def differing(piece: Piece, instances: int, seed: int) -> list[int]:
    """Return the numbers of the instances that differ."""
    return [
        number
        for number in range(instances)
        if not piece.check(np.random.default_rng([seed, number]))
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    names = sorted({piece.name for piece in PIECES})
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pieces", nargs="*", metavar="PIECE", help=", ".join(names))
    parser.add_argument("--instances", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(arguments)
    print("| piece | oracle | instances | differ |\n|---|---|--:|--:|")
    num_differing = 0
    for piece in PIECES:
        if given.pieces and piece.name not in given.pieces:
            continue
        version = importlib.import_module(piece.oracle).__name__
        found = differing(piece, given.instances, given.seed)
        num_differing += len(found)
        first = f" (first: {found[0]})" if found else ""
        print(
            f"| {piece.name} | {version} | {given.instances:,} | {len(found)}{first} |", flush=True
        )
    return int(num_differing > 0)


if __name__ == "__main__":
    raise SystemExit(main())
