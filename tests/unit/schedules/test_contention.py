"""Rings on links, against counting by hand and instant by instant."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.schedules.schedule import INTERVAL_COLUMNS
from gpusched.schedules.series import Contention
from tests.examples import examples
from tests.unit.small_runs import SECOND, job, simulated

FLAT = Cluster.uniform(4, 4)
# Racks 0 (servers 0, 1) and 1 (server 2) in a block, and server 3 beside the block.
TREE = Cluster(
    (
        ServerGroup(2, 4, domain="rack 0"),
        ServerGroup(1, 4, domain="rack 1"),
        ServerGroup(1, 4, domain="all"),
    ),
    domains=(
        Domain("rack 0", "block", uplink_gbps=1.0),
        Domain("rack 1", "block", uplink_gbps=1.0),
        Domain("all"),
        Domain("block", "all", uplink_gbps=1.0),
    ),
)
RACK_0, RACK_1, ROOT, BLOCK = 4, 5, 6, 7


def log(*intervals):
    """Rows of (job, start, end, {server: mask}) with times in seconds."""
    rows = sorted(
        (job, start * SECOND, end * SECOND, server, mask)
        for job, start, end, held in intervals
        for server, mask in held.items()
    )
    columns = zip(*rows, strict=True) if rows else [()] * len(INTERVAL_COLUMNS)
    return {
        name: np.array(column, dtype)
        for (name, dtype), column in zip(INTERVAL_COLUMNS.items(), columns, strict=True)
    }


def steps(level):
    return dict(zip(level.time_s.tolist(), level.rings.tolist(), strict=True))


@pytest.fixture(scope="module")
def flat():
    """Ring 0 on servers 0 and 1 for 0-10, ring 1 on 1 and 2 for 4-12; jobs 2 and 3 are no rings."""
    return Contention(
        FLAT,
        log(
            (0, 0, 10, {0: 1, 1: 1}),
            (1, 4, 12, {1: 2, 2: 2}),
            (2, 0, 20, {0: 12}),
            (3, 1, 2, {3: 15}),
        ),
    )


def test_rings_count_on_the_card_of_each_of_their_servers_and_a_job_on_one_uses_no_link(flat):
    assert flat.num_rings == 2
    assert flat.jobs.tolist() == [0, 1]
    assert steps(flat.level(0)) == {0: 1, 10: 0}
    assert steps(flat.level(1)) == steps(flat.busiest) == {0: 1, 4: 2, 10: 1, 12: 0}
    assert steps(flat.level(2)) == {4: 1, 12: 0}
    assert len(flat.level(3)) == 0
    assert flat.links.link.tolist() == [0, 1, 2]


def test_the_summary_of_each_link(flat):
    links = flat.links
    assert links.max_rings.tolist() == flat.to_polars()["max_rings"].to_list() == [1, 2, 1]
    assert flat.to_polars()["name"].to_list() == ["server 0", "server 1", "server 2"]
    assert "2 rings on 3 links, 1 of them shared, at most 2 on one" in repr(flat)
    assert links.mean_rings.tolist() == [1.0, 18 / 12, 1.0]
    assert links.used_s.tolist() == [10.0, 12.0, 8.0]
    assert links.contended_s.tolist() == [0.0, 6.0, 0.0]
    assert (flat.num_contended, flat.max_level) == (1, 2)
    assert flat.mean_level == pytest.approx((10 + 18 + 8) / (10 + 12 + 8), rel=1e-12)


def test_one_ring_that_follows_another_at_once_makes_no_step():
    relay = Contention(FLAT, log((0, 0, 5, {0: 1, 1: 1}), (1, 5, 9, {0: 1, 1: 1})))
    assert steps(relay.level(0)) == {0: 1, 9: 0}
    assert relay.num_contended == 0


def test_a_ring_uses_the_uplinks_between_its_servers_and_no_others():
    held = [{0: 1, 1: 1}, {0: 2, 2: 2}, {2: 4, 3: 4}, {0: 4, 1: 4, 2: 8, 3: 8}]
    uplinks = [set(), {RACK_0, RACK_1}, {RACK_1, BLOCK}, {RACK_0, RACK_1, BLOCK}]
    for servers, expected in zip(held, uplinks, strict=True):
        used = Contention(TREE, log((0, 0, 1, servers))).links.link.tolist()
        assert used == sorted({*servers, *expected})


def test_rings_meet_on_an_uplink_that_share_no_server():
    both = Contention(TREE, log((0, 0, 9, {0: 1, 2: 1}), (1, 2, 5, {1: 3, 3: 3})))
    assert steps(both.level(RACK_0)) == {0: 1, 2: 2, 5: 1, 9: 0}
    assert steps(both.level(RACK_1)) == {0: 1, 9: 0}
    assert steps(both.level(BLOCK)) == {2: 1, 5: 0}
    assert both.name(RACK_0) == "uplink of rack 0"


@pytest.mark.parametrize("link", [-1, 8])
def test_a_link_that_does_not_exist_is_an_index_error(link):
    with pytest.raises(IndexError, match=f"link {link}: must lie in 0..7"):
        Contention(TREE, log()).level(link)


def test_without_rings_nothing_is_used():
    for rows in (log(), log((0, 0, 5, {0: 1})), log((0, 0, 5, {-1: 0}))):
        nothing = Contention(FLAT, rows)
        assert (nothing.num_rings, len(nothing.links), nothing.max_level) == (0, 0, 0)
        assert math.isnan(nothing.mean_level)
        assert len(nothing.busiest) == 0


def test_a_result_counts_its_own_log():
    result = simulated([job(0, 5, 6), job(0, 5, 2), job(9, 1, 8)], [(4, "gpu"), (4, "gpu")])
    assert steps(result.contention.level(1)) == {0: 1, 5: 0, 9: 1, 10: 0}
    assert result.contention is result.contention


interval = st.tuples(
    st.integers(0, 6), st.integers(1, 4), st.dictionaries(st.integers(0, 3), st.just(1), min_size=1)
)


@given(st.sampled_from([FLAT, TREE]), st.lists(interval, max_size=8))
@examples(150)
def test_every_level_is_a_count_at_every_instant(cluster, drawn):
    intervals = [(j, begin, begin + length, held) for j, (begin, length, held) in enumerate(drawn)]
    found = Contention(cluster, log(*intervals))
    # Servers behind each link.
    behind = {server: {server} for server in range(4)}
    if cluster is TREE:
        behind |= {RACK_0: {0, 1}, RACK_1: {2}, BLOCK: {0, 1, 2}, ROOT: {0, 1, 2, 3}}

    def rings(link, at):
        return sum(
            begin <= at < end and len(held) > 1 and 0 < len(behind[link] & held.keys()) < len(held)
            for _, begin, end, held in intervals
        )

    def value(level, at):
        position = np.searchsorted(level.time_s, at, side="right")
        return level.rings[position - 1] if position else 0

    for at in range(12):
        counts = {link: rings(link, at) for link in behind}
        assert {link: value(found.level(link), at) for link in behind} == counts
        assert value(found.busiest, at) == max(counts.values())
    assert found.max_level == max(rings(link, at) for link in behind for at in range(12))
