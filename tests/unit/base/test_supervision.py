"""Who computes and who listens: a run that is all native needs no other thread."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

import gpusched as gs
from gpusched import _core
from gpusched.base import supervision

SMALL = gs.Trace.from_columns([0, 1], [5, 5], [1, 1]), gs.Cluster.uniform(1, 1)
# Two jobs take turns each minute for sixty years: minutes of computing.
ENDLESS = gs.Trace.from_columns([0, 1], [1e9, 1e9], [1, 1]), gs.Cluster.uniform(1, 1)


@pytest.fixture
def no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise AssertionError(f"{thread.name} was started")

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.usefixtures("no_threads")
def test_a_native_run_starts_no_thread():
    told: list[Any] = []
    alone = gs.simulate(*SMALL, policy="srtf")
    heard = gs.simulate(*SMALL, policy="srtf", stop=threading.Event(), progress=told.append)
    assert alone.digest == heard.digest
    assert (told[-1].done, told[-1].total) == (2, 2)


def test_a_progress_that_cannot_be_called_is_refused_by_name():
    refused: Any = True
    with pytest.raises(TypeError, match=r"progress: expected a function .* not True"):
        gs.simulate(*SMALL, policy="srtf", progress=refused)
    with pytest.raises(TypeError, match=r"progress: expected a function .* not True"):
        gs.compare(*SMALL, ["fifo"], progress=refused)


def test_a_policy_of_python_has_a_thread_of_its_own():
    seen: list[threading.Thread] = []

    class Fifo(gs.Order):
        lifetime = "fixed"

        def rank(self, view: Any, jobs: Any) -> Any:
            seen.append(threading.current_thread())
            return view.submit_us[jobs].astype(float)

    gs.simulate(*SMALL, policy=Fifo())
    assert seen
    assert threading.current_thread() not in seen


@pytest.mark.timeout(60)
@pytest.mark.usefixtures("no_threads")
def test_progress_of_a_native_run_is_told_in_its_thread_and_can_end_it():
    stop = threading.Event()
    told: list[threading.Thread] = []

    def progress(now: gs.Progress) -> None:
        told.append(threading.current_thread())
        if len(told) == 3:
            stop.set()

    begin = time.monotonic()
    with pytest.raises(gs.Cancelled) as caught:
        gs.simulate(*ENDLESS, policy="las", progress=progress, stop=stop)
    assert set(told) == {threading.current_thread()}
    assert len(told) <= 4  # the stop is heard at the next look
    assert time.monotonic() - begin > 0.2  # not at each instant
    assert caught.value.result.is_partial


@pytest.mark.timeout(60)
def test_an_error_of_progress_ends_a_native_run():
    def progress(now: gs.Progress) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        gs.simulate(*ENDLESS, policy="las", progress=progress)


@pytest.mark.timeout(60)
def test_a_stop_from_another_thread_ends_a_native_run():
    stop, ended = threading.Event(), threading.Event()

    def work() -> None:
        with pytest.raises(gs.Cancelled):
            gs.simulate(*ENDLESS, policy="las", stop=stop)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.2)
    stop.set()
    assert ended.wait(30)
    thread.join()


def test_nothing_of_a_watched_run_outlives_it():
    class Told:
        def __call__(self, now: gs.Progress) -> None: ...

    told = Told()
    seen = weakref.ref(told)
    gs.simulate(*SMALL, policy="srtf", progress=told)
    gc.disable()
    try:
        del told
        assert seen() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("is_attended", [True, False])
def test_a_call_that_succeeds_as_its_wait_runs_out_returns_what_it_found(monkeypatch, is_attended):
    class Late(Future[int]):
        """Done just as ``result`` gives up."""

        def result(self, timeout: float | None = None) -> int:
            if timeout is not None:
                time.sleep(0.3)
                raise TimeoutError
            return super().result()

    def apart(run: Callable[[], int]) -> Late:
        found = Late()
        threading.Timer(0.2, found.set_result, [run()]).start()
        return found

    class Pool:
        def __init__(self, *_: object, **__: object) -> None: ...
        def __enter__(self) -> Pool:
            return self

        def __exit__(self, *_: object) -> None: ...
        def submit(self, run: Callable[..., int], *arguments: Any) -> Late:
            return apart(lambda: run(*arguments))

    monkeypatch.setattr(supervision, "apart", apart)
    monkeypatch.setattr(supervision, "ThreadPoolExecutor", Pool)
    if is_attended:
        assert supervision.attended(lambda: 7) == 7
    else:
        assert supervision.supervised(lambda: 7, _core.RunControl(), stop=threading.Event()) == 7


def test_a_timeout_of_the_call_itself_is_told_as_one():
    def late() -> int:
        raise TimeoutError("no plan")

    with pytest.raises(TimeoutError, match="no plan"):
        supervision.attended(late)
