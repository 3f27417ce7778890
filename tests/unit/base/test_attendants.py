"""Threads that stay for the next call, and what they give back."""

from __future__ import annotations

import os
import threading

import pytest

from gpusched.base.supervision import apart


def test_calls_one_after_the_other_take_one_thread():
    first = apart(threading.get_ident).result(timeout=30)
    assert first != threading.get_ident()
    assert {apart(threading.get_ident).result(timeout=30) for _ in range(20)} == {first}


def test_calls_at_the_same_time_have_a_thread_each():
    meeting = threading.Barrier(3, timeout=30)
    calls = [apart(meeting.wait) for _ in range(3)]
    assert sorted(call.result(timeout=30) for call in calls) == [0, 1, 2]


def test_an_error_comes_back_and_the_thread_goes_on():
    def fail() -> None:
        raise SystemExit("no")

    with pytest.raises(SystemExit, match="no"):
        apart(fail).result(timeout=30)
    assert apart(lambda: 7).result(timeout=30) == 7


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    assert apart(lambda: 1).result(timeout=30) == 1
    child = os.fork()
    if child == 0:
        os._exit(0 if apart(lambda: 2).result(timeout=30) == 2 else 1)
    assert os.waitpid(child, 0)[1] == 0
