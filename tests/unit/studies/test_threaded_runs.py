"""Several runs at a time in threads."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

import gpusched as gs
from gpusched.studies.threaded_runs import in_threads

# Two jobs take turns each minute for sixty years: minutes of computing.
ENDLESS = gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1]), gs.Cluster.uniform(1, 1)


def square(number: int, *_: Any) -> int:
    return number**2


def failing(*_: Any) -> int:
    raise ValueError("row 7 is odd")


class Endless:
    """A run that nobody waits for, and whether it was ended."""

    def __init__(self) -> None:
        self.has_ended = threading.Event()

    def __call__(self, *_: Any) -> int:
        with pytest.raises(gs.Cancelled):
            gs.simulate(*ENDLESS, policy="las")
        self.has_ended.set()
        raise gs.Cancelled(0, 1)


def test_what_the_parts_give_comes_in_their_order():
    parts: dict[str, Any] = {str(number): partial(square, number) for number in range(20)}
    for threads in (1, 3, None):
        made = in_threads(parts, threads=threads)
        assert list(made.items()) == [(str(number), number**2) for number in range(20)]


def test_an_error_names_its_part():
    parts: dict[str, Any] = {"one": partial(square, 1), "two": failing}
    with pytest.raises(ValueError, match=r"^two: row 7 is odd$"):
        in_threads(parts)


@pytest.mark.timeout(60)
def test_a_stop_reaches_parts_that_run():
    stop, long = threading.Event(), Endless()
    parts: dict[str, Any] = {"long": long, "short": partial(square, 1)}
    with pytest.raises(gs.Cancelled, match="stopped after 1 of 2 things"):
        in_threads(parts, threads=2, stop=stop, progress=lambda now: stop.set(), unit="things")
    assert long.has_ended.wait(60)


@pytest.mark.timeout(60)
def test_ctrl_c_reaches_parts_that_run():
    long = Endless()

    def interrupt(now: gs.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads({"long": long, "short": partial(square, 1)}, threads=2, progress=interrupt)
    assert long.has_ended.wait(60)


class Turning(gs.Placement):
    """Remembers how often it was asked: jobs of one GPU go to the servers in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.num_asked = 0

    def place(self, free: Any, request: Any) -> Any:
        """Place it on the next server, or on the first that has room."""
        self.num_asked += 1
        for turn in range(3):
            server = (self.num_asked + turn) % 3
            if free.free_gpus[server]:
                return [(server, free.lowest_free(server, 1))]
        return None


TURNED = gs.Trace.from_columns(range(30), [7, 9, 4] * 10, [1] * 30)
SERVERS = gs.Cluster.uniform(servers=3, gpus=2)


def test_runs_of_a_comparison_do_not_share_a_placement_of_python():
    policies = ["fifo", "sjf", "srtf", "easy"]
    alone = {
        policy: gs.simulate(TURNED, SERVERS, policy=policy, placement=Turning()).digest
        for policy in policies
    }
    placement = Turning()
    found = gs.compare(TURNED, SERVERS, policies, placement=placement, threads=4)
    assert {label: result.digest for label, result in found.results.items()} == alone
    assert placement.num_asked == 0


def test_runs_of_a_what_if_do_not_share_what_is_written_in_python():
    def changes(threads: int) -> list[Any]:
        answer = gs.whatif(
            TURNED, SERVERS, "fifo", ["policy=sjf", "policy=srtf", "servers=+1"],
            placement=Turning(), threads=threads,
        )  # fmt: skip
        return [dict(outcome.measures) for outcome in answer.outcomes]

    assert changes(1) == changes(4) == changes(4)


def test_a_placement_that_cannot_be_copied_for_several_runs_is_named():
    class Locked(Turning):
        def __init__(self) -> None:
            super().__init__()
            self.lock = threading.Lock()

    gs.compare(TURNED, SERVERS, ["fifo"], placement=Locked())
    with pytest.raises(TypeError, match="Locked: each of several runs takes a copy"):
        gs.compare(TURNED, SERVERS, ["fifo", "sjf"], placement=Locked())
