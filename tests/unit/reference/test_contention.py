"""Rings on shared links, worked out by hand: what the readable engine means by each rule."""

from dataclasses import replace
from typing import Any

import pytest

from gpusched.reference import Job, Network, Outcome, Profile, replay
from gpusched.reference.speeds import none, reserved, shared

TICK = 1e-6  # seconds

# A worker of two computes for 3 s and exchanges for 1 s at 1e9 bytes per second: 4 s. With half
# of the bandwidth it is 5 s, a rate of 0.8; with a third 6 s, with a quarter 7 s.
MODEL = Profile(gradient_bytes=1e9, batch=2.0, forward_s={"gpu": 1.0}, backward_s={"gpu": 1.0})
PLAIN = {"overhead_s": 0.0, "reduction_bytes_per_s": 1e30}


def equal_links(num_servers: int) -> Network:
    return Network([8.0] * num_servers, [8.0] * num_servers)


def run(
    columns: list[tuple[int, int, int]],
    servers: list[int],
    contention: str = "shared",
    policy: str = "fifo",
    placement: str = "spread",
    network: Network | None = None,
    **options: Any,
) -> Outcome:
    return replay(
        [Job(*column, profile=MODEL) for column in columns], [(gpus, "gpu") for gpus in servers],
        policy, placement, speed="ring", contention=contention, speed_params=PLAIN,
        network=network or equal_links(len(servers)), **options,
    )  # fmt: skip


def test_a_ring_speeds_up_when_the_other_one_on_its_links_ends():
    # Both at 0.8; at 10 the first one ends and the second one has 12 of 20 left, now at 1.
    outcome = run([(0, 8, 2), (0, 20, 2)], [2, 2])
    assert outcome.finish_us == [10, 22]
    assert outcome.uncontended_us == [8, 20]
    assert run([(0, 8, 2), (0, 20, 2)], [2, 2], "none").finish_us == [8, 20]


def test_a_ring_slows_down_when_another_one_joins_its_links():
    # The first has done 5 of 9 by 5; the second has done 4 of 5 by 10.
    assert run([(0, 9, 2), (5, 5, 2)], [2, 2]).finish_us == [10, 11]


def test_a_finish_is_rounded_up_to_a_tick():
    # 7 at 0.8 take 8.75; then the second one has 9 * 0.8 = 7.2 behind it and 12.8 ahead of it.
    assert run([(0, 7, 2), (0, 20, 2)], [2, 2]).finish_us == [9, 22]


def test_a_gang_on_one_server_neither_feels_nor_causes_contention():
    outcome = run([(0, 8, 2), (0, 8, 2)], [2, 2], placement="consolidated")
    assert outcome.finish_us == [8, 8]
    assert outcome.num_servers == [1, 1]


def test_the_most_crowded_link_decides():
    # Over three servers: 0-1, 1-2, then 0-2 with the GPUs that are left. Every link has two rings.
    assert run([(0, 8, 2)] * 3, [2, 2, 2]).finish_us == [10, 10, 10]
    # 0-1 and 1-2: each has one link for itself, and the one they share halves both.
    assert run([(0, 8, 2)] * 2, [1, 2, 1]).finish_us == [10, 10]
    # 1 alone and 0-2.
    assert run([(0, 8, 2)] * 2, [1, 2, 1], placement="first-fit").finish_us == [8, 8]


def test_a_preempted_ring_keeps_its_progress():
    # By 10 both have done 8. The third one takes the place of the first for 2 / 0.8, until 13;
    # from 20 on the first one is alone, with 20 - 8 - 7 * 0.8 = 6.4 left.
    columns = [(0, 20, 2), (0, 16, 2), (10, 2, 2)]
    outcome = run(columns, [2, 2], policy="srtf")
    assert outcome.preemptions == [1, 0, 0]
    assert outcome.finish_us == [27, 20, 13]
    assert outcome.uncontended_us == pytest.approx([20, 16, 2], abs=1e-12)


def test_a_ring_that_pays_for_its_restart_makes_no_progress_and_uses_its_links():
    columns = [(0, 20, 2), (0, 16, 2), (10, 2, 2)]
    # It pays from 13 to 16, has done 8 + 4 * 0.8 by 20, and 8.8 are left. The second one goes on
    # at 0.8 all the time.
    outcome = run(columns, [2, 2], policy="srtf", policy_params={"cost_s": 3 * TICK})
    assert outcome.finish_us == [29, 20, 13]
    assert outcome.paid_us == [3, 0, 0]
    # It pays from 13 to 23, whatever its rate is then, and has 12 left.
    outcome = run(columns, [2, 2], policy="srtf", policy_params={"cost_s": 10 * TICK})
    assert outcome.finish_us == [35, 20, 13]
    # Work is added instead: 12 + 3 at 13, and 15 - 7 * 0.8 = 9.4 at 20.
    params = {"cost_s": 3 * TICK, "restart": "work"}
    outcome = run(columns, [2, 2], policy="srtf", policy_params=params)
    assert outcome.finish_us == [30, 20, 13]
    assert outcome.uncontended_us == pytest.approx([23, 16, 2], abs=1e-12)


def test_a_job_without_work_left_runs_for_one_more_tick_if_it_is_disturbed():
    # At (1 + 1.75) / (2 + 1.75) a service of 11 takes 15 ticks and a rounding error, hence 16; but
    # the work done by 15 is 11 to the last bit.
    model = replace(MODEL, forward_s={"gpu": 0.0}, backward_s={"gpu": 1.75})

    def finish_us(policy: str, columns: list[tuple[int, int, int]], gpus: int) -> list[int]:
        return replay(
            [Job(*column, profile=model) for column in columns], [(gpus, "gpu")] * 2, policy,
            "spread", speed="ring", contention="shared", speed_params=PLAIN, network=equal_links(2),
        ).finish_us  # fmt: skip

    pair = [(0, 11, 2), (0, 900, 2)]
    assert finish_us("fifo", pair, 2)[0] == 16
    assert finish_us("fifo", [*pair, (15, 900, 2)], 3)[0] == 16  # at a lower rate from 15 on
    assert finish_us("las", [*pair, (15, 1, 4)], 2)[::2] == [17, 16]  # resumes at 16


def test_keys_see_the_work_that_is_really_left():
    # At 10 the first has 12 of 20 left, by the clock it would be 10: the third one, of 11, goes
    # before it.
    columns = [(0, 20, 2), (0, 40, 2), (10, 11, 4)]
    outcome = run(columns, [2, 2], policy="srtf")
    assert (outcome.start_us[2], outcome.preemptions) == (10, [1, 1, 0])
    # Least attained service counts the time: both have had 10.
    columns = [(0, 20, 2), (0, 40, 2), (10, 40, 2)]
    outcome = run(columns, [2, 2], policy="las", policy_params={"period_s": 10 * TICK})
    assert [row[:3] for row in outcome.rows if row[0] < 2 and row[1] == 0] == [
        *[(0, 0, 20)] * 2,
        *[(1, 0, 10)] * 2,
    ]


def test_reserved_gives_each_ring_the_share_of_the_gpus_it_has():
    # One of four GPUs of each server: a quarter of the bandwidth, 7 s, alone or not.
    for num_jobs in (1, 4):
        outcome = run([(0, 40, 2)] * num_jobs, [4, 4], "reserved")
        assert outcome.finish_us == [70] * num_jobs
        assert outcome.uncontended_us == [40] * num_jobs


def test_the_parameters_of_contention_are_those_of_the_formula():
    assert [none(12.0, rings, 1, 4) for rings in (1, 3)] == [12, 12]
    assert [reserved(12.0, rings, 1, 4) for rings in (1, 3)] == [3, 3]
    assert [shared()(12.0, rings, 1, 4) for rings in (1, 2, 3)] == [12, 6, 4]
    # k + a (k - 1): 1, 2 + 1, 3 + 2
    assert [shared(1.0)(15.0, rings, 1, 4) for rings in (1, 2, 3)] == [15, 5, 3]
    # k = max(1, p / 2); f = 1, 1, 2 + 2 * 1
    assert [shared(2.0, 0.5)(12.0, rings, 1, 4) for rings in (1, 2, 4)] == [12, 12, 3]


TREE = Network(
    nic_gbps=[8.0] * 5,
    intra_gbps=[8.0] * 5,
    server_domain=[2, 2, 0, 3, 1],  # 1 is the root, 3 lies inside 0
    domain_parent=[1, None, 1, 0],
    uplink_gbps=[8.0, None, 4.0, 8.0],
)


def test_a_ring_uses_the_uplinks_of_the_domains_that_it_leaves():
    def uplinks(*servers: int) -> list[int]:
        links = TREE.links(dict.fromkeys(servers, 0b1))
        assert [index for kind, index in links if kind == "nic"] == list(servers)
        return [index for kind, index in links if kind == "uplink"]

    assert TREE.links({0: 0b11}) == []
    assert uplinks(0, 1) == []
    assert uplinks(2, 3) == [3]
    assert uplinks(0, 2) == [0, 2]
    assert uplinks(1, 3) == [0, 2, 3]
    assert uplinks(0, 4) == [2]
    assert TREE.gpus_behind(("uplink", 0), dict.fromkeys(range(5), 4)) == 8


def test_an_uplink_slows_the_rings_that_cross_it_and_no_others():
    columns = [(0, 9, 1), (0, 8, 2), (0, 8, 2)]  # on 0; on 1 and 2; on 3 and 4
    # The uplink of 2 has half of the bandwidth; that of 0 is crossed by both rings.
    assert run([(0, 8, 2)], [1] * 5, network=TREE).finish_us == [8]
    assert run(columns[:2], [1] * 5, network=TREE).finish_us == [9, 10]
    assert run(columns, [1] * 5, "none", network=TREE).finish_us == [9, 10, 8]
    assert run(columns, [1] * 5, "shared", network=TREE).finish_us == [9, 10, 10]
    # Behind the uplink of 0 are two GPUs: half of it for each ring. Of the uplink of 2, which has
    # two GPUs behind it, half as well: a quarter of a full link, 7 s.
    assert run(columns, [1] * 5, "reserved", network=TREE).finish_us == [9, 14, 10]


def test_a_gang_goes_as_slow_as_its_slowest_gpus_and_its_service_is_meant_for_the_fastest():
    model = Profile(1e9, 1.0, forward_s={"A": 6.0, "B": 3.0}, backward_s={"A": 0.0, "B": 0.0})
    jobs = [
        Job(0, 8, 2, profile=model),  # at 7 s instead of 4
        Job(20, 8, 1, profile=model),  # at 6 s instead of 3
        Job(20, 8, 1, profile=model),
        Job(40, 8, 1, profile=model, allowed=frozenset("A")),
    ]
    outcome = replay(
        jobs, [(1, "A"), (1, "B")], "fifo", "first-fit", speed="ring", speed_params=PLAIN,
        network=equal_links(2),
    )  # fmt: skip
    assert outcome.finish_us == [14, 36, 28, 48]


def test_a_ring_of_one_gpu_only_computes():
    narrow = Network([0.001], [0.001])
    assert run([(0, 8, 1)], [4], network=narrow).finish_us == [8]


def test_the_least_iteration_time_is_that_of_the_fewest_servers():
    # Four GPUs exchange for 1.5 s and compute for 3 s. A server more costs nothing but overhead:
    # 4.5 + 3 * 0.9 instead of 4.5 + 2 * 0.9 s, which is 8 / 7.
    for overhead_s, finish in ((0.0, 15), (0.9, 18)):
        outcome = replay(
            [Job(0, 15, 4, profile=MODEL)], [(2, "gpu")] * 3, "fifo", "spread", speed="ring",
            speed_params=PLAIN | {"overhead_s": overhead_s}, network=equal_links(3),
        )  # fmt: skip
        assert (outcome.num_servers, outcome.finish_us) == ([3], [finish])


def test_a_speed_says_what_it_misses():
    jobs, servers = [Job(0, 1, 1, profile=MODEL)], [(1, "gpu")]
    with pytest.raises(ValueError, match="network"):
        replay(jobs, servers, "fifo", "spread", speed="ring")
    with pytest.raises(ValueError, match="pool"):
        replay(jobs, servers, "fifo", "count", speed="ring", network=equal_links(1))
    with pytest.raises(ValueError, match="fixed"):
        replay(jobs, servers, "fifo", "spread", contention="shared", network=equal_links(1))
    plain = [Job(0, 1, 1)]
    with pytest.raises(ValueError, match="profile"):
        replay(plain, servers, "fifo", "spread", speed="ring", network=equal_links(1))
