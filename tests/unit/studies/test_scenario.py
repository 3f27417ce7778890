"""Changes to a base case."""

from __future__ import annotations

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.what_if import Change, Scenario, can_join, parse_changes
from tests.each import each
from tests.unit.studies.site_logs import SITE, jobs


@pytest.fixture(scope="module")
def base() -> Scenario:
    return Scenario(jobs(0), SITE, "fifo", "consolidated", "estimate", None, "none", 0)


def changed(base: Scenario, text: str) -> Scenario:
    (change,) = parse_changes([text])
    return change.applied(base, base)


def test_changes_are_read_from_texts_and_mappings():
    texts = ["policy=2d-las:preset=lucid", "servers=+4", "gpus-per-server=4", "servers[V100]=-1"]
    read = parse_changes(texts)
    assert read == (
        Change("policy", "2d-las:preset=lucid"),
        Change("servers", "+4"),
        Change("gpus_per_server", "4"),
        Change("servers", "-1", "V100"),
    )
    assert str(read[3]) == "servers[V100]=-1"
    assert parse_changes({"policy": "2d-las:preset=lucid", "servers": "+4"}) == read[:2]


@pytest.mark.parametrize(
    ("texts", "joins"),
    [
        (["policy=sjf", "servers=+1"], True),
        (["policy=sjf", "policy=easy"], False),
        (["servers[a]=1", "servers[b]=1"], True),
        (["servers=1", "servers=2"], False),
    ],
)
def test_changes_of_one_thing_cannot_be_made_together(texts, joins):
    assert can_join(parse_changes(texts)) == joins


@pytest.mark.parametrize(
    ("text", "servers", "gpus"),
    [
        ("servers=9", 9, 8),
        ("servers=+3", 9, 8),
        ("servers=-2", 4, 8),
        ("gpus_per_server=4", 6, 4),
        ("gpus_per_server=+8", 6, 16),
    ],
)
def test_servers_are_set_added_and_taken_away(base, text, servers, gpus):
    assert changed(base, text).cluster == gs.Cluster.uniform(servers, gpus)


def test_servers_of_one_of_several_types_are_changed(base):
    mixed = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(3, 4, "T4")))
    start = Scenario(base.trace, mixed, "fifo", "consolidated", "oracle", None, "none", 0)
    groups = changed(start, "servers[T4]=+2").cluster.servers
    assert [(group.count, group.gpu_type) for group in groups] == [(2, "V100"), (5, "T4")]
    with pytest.raises(ValueError, match=r"change servers=\+2: the cluster has 2 groups.*V100, T4"):
        changed(start, "servers=+2")
    with pytest.raises(ValueError, match=r"no servers have this type; known: V100, T4"):
        changed(start, "servers[A100]=+2")


def test_a_load_is_that_of_the_base_cluster(base):
    assert changed(base, "load=0.5").trace.offered_load(48) == pytest.approx(0.5, rel=1e-3)
    factor = changed(base, "load=*1.2").trace.offered_load(48) / base.trace.offered_load(48)
    assert factor == pytest.approx(1.2, rel=1e-3)
    more, load = parse_changes(["servers=12", "load=0.5"])
    joined = load.applied(more.applied(base, base), base)
    assert joined.trace.offered_load(48) == pytest.approx(0.5, rel=1e-3)


def test_estimates_become_exact_or_longer(base):
    exact = changed(base, "estimates=exact").trace.estimate_us
    assert np.array_equal(exact, base.trace.service_us)
    twice = changed(base, "estimates=*2").trace.estimate_us
    assert np.array_equal(twice, 2 * base.trace.estimate_us)


def test_names_are_replaced(base):
    assert str(changed(base, "policy=sjf").policy) == "sjf"
    assert str(changed(base, "placement=spread").placement) == "spread"
    assert changed(base, "predictor=oracle").predictor == "oracle"
    assert str(changed(base, "speed=ring").speed) == "ring"
    assert str(changed(base, "contention=shared").contention) == "shared"


@each(
    ("changes", "error", "message"),
    [
        ([], ValueError, "at least one is needed"),
        ("servers=4", TypeError, "expected a list of texts or a mapping"),
        ([4], TypeError, "expected texts such as 'servers=.4', not 4"),
        (["servers"], ValueError, "'servers': must be of the form KEY=VALUE"),
        (["=4"], ValueError, "must be of the form KEY=VALUE"),
        (["server=4"], ValueError, "change 'server': unknown; did you mean 'servers'"),
        (["load[V100]=1"], ValueError, "only servers and gpus_per_server have types"),
        (["servers=+4", "servers=+4"], ValueError, r"servers=\+4 is listed twice"),
        ({3: 4}, ValueError, "change 3: unknown"),
    ],
)
def test_malformed_changes_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        parse_changes(changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("servers=many", "change servers=many: must be a number, or one to add"),
        ("servers=4.5", "must be a number"),
        ("servers=-6", "count: 0 must lie in 1"),
        ("servers=*2", "must be a number"),
        ("gpus_per_server=65", "gpus: 65 must lie in 1..64"),
        ("load=0", "change load=0: must be a positive number, or a factor"),
        ("load=nan", "must be a positive number"),
        ("load=*-1", "must be a positive number"),
        ("load=high", "must be a positive number"),
        ("estimates=good", "must be exact, or a factor"),
        ("policy=esay", "change policy=esay: unknown policy 'esay'; did you mean 'easy'"),
        ("placement=spred", "did you mean 'spread'"),
        ("speed=rong", "did you mean 'ring'"),
    ],
)
def test_changes_that_cannot_be_made_say_why(base, text, message):
    with pytest.raises(ValueError, match=message):
        changed(base, text)


def test_a_cluster_with_domains_is_not_resized(base):
    racks = gs.Cluster.uniform(4, 8, nic_gbps=100).with_racks(2)
    start = Scenario(base.trace, racks, "fifo", "consolidated", "oracle", None, "none", 0)
    with pytest.raises(ValueError, match="the cluster has domains"):
        changed(start, "servers=+2")


def test_estimates_that_are_not_there_cannot_be_scaled(base):
    bare = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    start = Scenario(bare, SITE, "fifo", "consolidated", "oracle", None, "none", 0)
    with pytest.raises(ValueError, match=r"change estimates=\*2: the trace has no estimates"):
        changed(start, "estimates=*2")
    assert np.array_equal(changed(start, "estimates=exact").trace.estimate_us, bare.service_us)
