"""Several runs at a time in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest

import gpusched as gs
from gpusched.studies.threaded_runs import in_threads

Part = Callable[[threading.Event], int]


def square(number: int, ends: threading.Event) -> int:
    return number**2


def until_the_end(ends: threading.Event) -> int:
    assert ends.wait(60)
    raise gs.Cancelled(0, 1)


def failing(ends: threading.Event) -> int:
    raise ValueError("row 7 is odd")


def test_what_the_parts_give_comes_in_their_order() -> None:
    parts: dict[str, Part] = {str(number): partial(square, number) for number in range(20)}
    for threads in (1, 3, None):
        made = in_threads(parts, threads=threads)
        assert list(made.items()) == [(str(number), number**2) for number in range(20)]


def test_an_error_names_its_part() -> None:
    parts: dict[str, Part] = {"one": partial(square, 1), "two": failing}
    with pytest.raises(ValueError, match=r"^two: row 7 is odd$"):
        in_threads(parts)


def test_a_stop_reaches_parts_that_run() -> None:
    stop = threading.Event()
    parts: dict[str, Part] = {"long": until_the_end, "short": partial(square, 1)}
    with pytest.raises(gs.Cancelled, match="stopped after 1 of 2 things"):
        in_threads(parts, threads=2, stop=stop, progress=lambda now: stop.set(), unit="things")


def test_ctrl_c_reaches_parts_that_run() -> None:
    ended = threading.Event()

    def long(ends: threading.Event) -> int:
        ended.set() if ends.wait(60) else None
        raise gs.Cancelled(0, 1)

    def interrupt(now: gs.Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_threads({"long": long, "short": partial(square, 1)}, threads=2, progress=interrupt)
    assert ended.wait(60)
