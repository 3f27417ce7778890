"""GPUs that are out of use, and those of whom only a number is known."""

from __future__ import annotations

import pytest

from gpusched.online.states.server_room import RoomServer, bits, settle


def test_what_others_hold_is_no_part_of_the_cluster():
    server = RoomServer("a", 8, "gpu")
    server.hold(0, 0b0000_1100)
    server.hold(None, 0b0000_0011)
    cluster, columns = settle([server], "c")
    assert cluster.num_gpus == 6
    assert columns["servers"][0].gpus == (2, 3, 4, 5, 6, 7)
    assert columns["held_mask"].tolist() == [0b000011]  # GPUs 2 and 3 are the first of these


def test_a_server_that_takes_no_jobs_has_what_is_held():
    closed, dropped = RoomServer("a", 8, "gpu", takes_jobs=False), RoomServer("b", 4, "gpu", False)
    closed.hold(0, 0b1010)
    cluster, columns = settle([closed, dropped, RoomServer("c", 2, "gpu")], "c")
    assert [group.gpus for group in cluster.servers] == [2]
    assert cluster.num_servers == 2
    assert [server.name for server in columns["servers"]] == ["a", "c"]
    assert columns["servers"][0].gpus == (1, 3)


def test_gpus_that_are_in_use_are_those_of_jobs_of_whom_a_number_is_known():
    server = RoomServer("a", 8, "gpu", used=0b1111_0000)
    server.hold(0, 0b1000_0000)
    server.hold_some(1, 2)
    _, columns = settle([server], "c")
    names = columns["servers"][0].gpus
    held = {
        job: [names[bit] for bit in bits(mask)]
        for job, mask in zip(
            columns["held_job"].tolist(), columns["held_mask"].tolist(), strict=True
        )
    }
    assert held == {0: [7], 1: [4, 5]}
    assert 6 not in names  # somebody holds it


def test_the_numbers_known_first_need_not_be_told_first():
    server = RoomServer("a", 4, "gpu")
    server.hold_some(1, 2)
    server.hold(0, 0b0011)
    assert server.num_free == 0
    assert server.settled() == (0b1111, {0: 0b0011, 1: 0b1100})


def test_gpus_are_there_and_one_jobs():
    server = RoomServer("a", 4, "gpu")
    with pytest.raises(ValueError, match="server a: GPU 4 is none of its 4"):
        server.hold(0, 0b10000)
    server.hold(0, 0b0110)
    with pytest.raises(ValueError, match="server a: two jobs hold GPU 2"):
        server.hold(1, 0b0100)
    server.hold_some(1, 3)
    with pytest.raises(ValueError, match="server a: jobs hold more than its 4 GPUs"):
        server.settled()


def test_a_cluster_has_a_gpu():
    with pytest.raises(ValueError, match="no server has a GPU that jobs may have"):
        settle([RoomServer("a", 4, "gpu", takes_jobs=False)], "c")
