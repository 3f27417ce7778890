"""Who computes and who listens: stop scopes, threads that stay, progress, hanging tests."""

from __future__ import annotations

import faulthandler
import gc
import io
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import gpusched as gs
from gpusched import _core
from gpusched.base import supervision
from gpusched.base.progress import Progress, watched
from gpusched.base.supervision import StopScope, apart, scope_here
from tests.each import each
from tests.hanging import Watch
from tests.time_limit import time_limit

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


CLUSTER = gs.Cluster.uniform(servers=64, gpus=8)


def endless(call: Callable[[gs.Trace], Any]) -> Any:
    """Call again and again, on jobs that take a while."""
    trace = gs.generate("philly", jobs=100_000, load=1.5, cluster=CLUSTER, seed=1)
    while True:
        call(trace)


CALLS = {
    "simulate": lambda trace: gs.simulate(trace, CLUSTER, policy="srtf"),
    "simulate, with progress": lambda trace: gs.simulate(
        trace, CLUSTER, policy="srtf", progress=lambda _: None
    ),
    "simulate, with a stop": lambda trace: gs.simulate(
        trace, CLUSTER, policy="srtf", stop=threading.Event()
    ),
    "compare": lambda trace: gs.compare(trace, CLUSTER, ["fifo", "srtf"]),
}


@each("name", CALLS)
def test_calls_inside_end_with_the_scope(name):
    scope = StopScope()

    def run() -> None:
        with scope.entered():
            endless(CALLS[name])

    with time_limit(120, name), ThreadPoolExecutor(1) as pool:
        future = pool.submit(run)
        threading.Timer(0.3, scope.set).start()
        with pytest.raises(gs.Cancelled):
            future.result()


def test_what_begins_in_a_scope_that_has_ended_does_not_run():
    scope = StopScope()
    scope.set()
    trace = gs.generate("philly", jobs=10, seed=1)
    with scope.entered(), pytest.raises(gs.Cancelled):
        gs.simulate(trace, CLUSTER)
    assert scope_here() is None
    gs.simulate(trace, CLUSTER)


def test_scopes_stand_in_each_other():
    outer, inner = StopScope(), StopScope()
    with outer.entered():
        with inner.entered():
            assert scope_here() is inner
        assert scope_here() is outer
    assert scope_here() is None


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


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_function_is_given_as_it_is(monkeypatch):
    for given in (print, None):
        with watched(given, "loads", "runs") as tell:
            assert tell is given
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watched(False, "loads", "runs") as tell:
        assert tell is None


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert sys.stderr.getvalue() == ""


def test_a_terminal_has_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with watched(True, "loads [x]", "runs") as tell:
        assert tell is not None
        tell(Progress(3, 40))
        tell(Progress(40, 40))
    shown = sys.stderr.getvalue()
    assert "loads [x]" in shown
    assert "40/40" in shown


class Notebook:
    """IPython as far as it is asked: one cell, and what stands below it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.kernel: Any = object()

    def get_ipython(self) -> Any:
        return self

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        self.shown.append(bundle)
        return SimpleNamespace(update=lambda bundle, raw: self.shown.append(bundle))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """Return a notebook that is open, where each look at the clock comes ten seconds later."""
    made = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", made)
    monkeypatch.setitem(sys.modules, "IPython.display", made)
    clock = count(100.0, 10.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    return made


def test_a_notebook_has_a_line_with_the_time_left(notebook):
    with watched(True, "<loads>", "runs") as tell:
        assert tell is not None
        for done in (1_000, 1_010, 1_030):  # a thousand were kept
            tell(Progress(done, 1_030))
    assert [shown["text/plain"] for shown in notebook.shown] == [
        "<loads>", "<loads>: 1,000 of 1,030 runs", "<loads>: 1,010 of 1,030 runs 40 s left",
        "<loads>: 1,030 of 1,030 runs in 30 s", "<loads>: 1,030 of 1,030 runs in 40 s",
    ]  # fmt: skip
    assert notebook.shown[0]["text/html"] == "&lt;loads&gt;"
    assert notebook.shown[2]["text/html"] == (
        '<progress max="1030" value="1010"></progress> &lt;loads&gt;: 1,010 of 1,030 runs 40 s left'
    )


def stop_midway(label: str) -> None:
    """Do some of what is to be done under a bar, and raise."""
    with watched(True, label, "runs") as tell:
        assert tell is not None
        tell(Progress(0, 8))
        tell(Progress(3, 8))
        raise KeyboardInterrupt


def test_the_line_of_what_was_stopped_tells_no_time_left(notebook):
    with pytest.raises(KeyboardInterrupt):
        stop_midway("loads")
    assert "left" in notebook.shown[-2]["text/plain"]
    assert notebook.shown[-1]["text/plain"] == "loads: 3 of 8 runs in 30 s"


def test_a_shell_without_a_kernel_is_no_notebook(monkeypatch):
    shell = Notebook()
    shell.kernel = None
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert shell.shown == []


ROOT = Path(__file__).resolve().parents[3]

HANGING = """
import threading
from tests.hanging import Watch

def waits_for_ever():
    threading.Lock().acquire() and threading.Event().wait()

watch = Watch(limit_s=0.1, spare_s=0.1)
watch.begin()
waits_for_ever()
"""


def test_a_process_that_hangs_ends_and_says_where():
    done = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "waits_for_ever" in done.stderr


def test_the_timer_is_set_anew_once_its_spare_time_is_over(monkeypatch):
    set_to, now = [], [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(
        faulthandler, "dump_traceback_later", lambda limit, **_: set_to.append((now[0], limit))
    )
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: set_to.append(None))
    watch = Watch(limit_s=600, spare_s=60)
    os.close(watch.stderr)
    for now[0] in (100.0, 130.0, 160.0, 161.0, 200.0):
        watch.begin()
    watch.end()
    watch.begin()
    watch.begin(limit_s=3_000)
    assert set_to == [(100.0, 660), (161.0, 660), None, (200.0, 660), (200.0, 3_060)]
