"""What heavy-edge remembers of servers alike is what it would find anew."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched import _core
from gpusched.reference import Job, Network
from tests.examples import examples
from tests.parity.core import assert_equal
from tests.property.graph_cuts import own_kinds
from tests.reference.cases import SECOND, TYPES, Case
from tests.reference.stage_cases import graphs

_testing = _core._testing


def landscape(seed: int, num_stages: int, quotas: list[int]) -> Callable[[list[int]], float]:
    """Return a cost that knows of a server what it holds, and has many steps down."""
    worth: dict[tuple[int, ...], int] = {}
    replicas_per_stage = sum(quotas) // num_stages

    def cost(ranks: list[int]) -> float:
        total, begin = 0, 0
        for quota in quotas:
            row = [0] * num_stages
            for rank in ranks[begin : begin + quota]:
                row[rank // replicas_per_stage] += 1
            begin += quota
            key = tuple(row)
            if key not in worth:
                worth[key] = random.Random(f"{seed} {key}").randrange(50)
            total += worth[key]
        return float(total)

    return cost


@pytest.mark.parametrize("num_stages", [2, 3, 4])
def test_exchanges_between_servers_alike_are_left_out_only_if_gone_through(num_stages):
    for seed in range(250):
        draws = random.Random(seed)
        quotas = [draws.choice([2, 3])] * (num_stages * draws.choice([1, 2]))
        replicas = [sum(quotas) // num_stages] * num_stages
        ranks = list(range(sum(quotas)))
        draws.shuffle(ranks)
        cost = landscape(seed, num_stages, quotas)
        each = _testing.swap_down(replicas, quotas, own_kinds(quotas), cost, ranks)
        assert _testing.swap_down(replicas, quotas, [0] * len(quotas), cost, ranks) == each


@examples(60)
@given(
    graph=graphs(6),
    uplinks=st.lists(st.sampled_from([1.0, 10.0, 100.0]), min_size=4, max_size=4),
    sizes=st.sampled_from([(3, 3), (4, 2), (5, 1)]),
)
def test_racks_with_other_uplinks_are_cut_anew(graph, uplinks, sizes):
    servers = [(gpus, TYPES[0]) for gpus in [*sizes, *sizes]]
    network = Network(
        [100.0] * 4, [100.0] * 4,
        server_domain=[1, 2, 3, 4],
        domain_parent=[None, 0, 0, 0, 0],
        uplink_gbps=[None, *uplinks],
    )  # fmt: skip
    jobs = [Job(second * SECOND, 50 * SECOND, 6, graph=graph) for second in (0, 1)]
    assert_equal(
        Case(
            jobs, servers, "fifo", "heavy-edge", {}, {"swaps": True}, 0,
            speed="stages", contention="reserved", network=network,
        )
    )  # fmt: skip
