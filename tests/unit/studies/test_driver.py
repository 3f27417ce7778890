"""Tasks on threads, processes and given executors: what they make comes back, whatever happens."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.base.progress import Progress
from gpusched.studies.calls import Outcome
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import Backend, BackendLost, WorkerDied, backend_for, opened
from tests.time_limit import time_limit
from tests.unit.studies import places, tasks

# What the libraries of clusters warn of is not ours.
pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.fixture(autouse=True)
def _watchdog() -> Iterator[None]:
    with time_limit(150):
        yield


PLACES = ("threads:2", "processes:2", "given threads", "given processes", "dask", "ray")


@pytest.fixture(scope="module", params=PLACES)
def backend(request: Any) -> Iterator[Backend]:
    with places.opened_at(request.param) as opened_one:
        yield opened_one


def drain(
    results: Iterator[tuple[int, Any]], done: list[int], then: Callable[[], Any] = bool
) -> None:
    """Take what comes, and do something after each."""
    for task, _ in results:
        then()
        done.append(task)


def test_tasks_come_back_with_what_they_made(backend):
    assert dict(run_tasks(tasks.doubled, range(100), backend=backend)) == {
        task: 2 * task for task in range(100)
    }
    assert list(run_tasks(tasks.doubled, [], backend=backend)) == []


def test_what_a_task_made_may_be_large(backend):
    made = dict(run_tasks(tasks.large, range(3), backend=backend))
    assert made == {task: bytes([task]) * 1_000_000 for task in range(3)}


def test_tasks_are_taken_as_there_is_room(backend):
    taken: list[int] = []

    def endless() -> Iterator[int]:
        while True:
            taken.append(len(taken))
            yield taken[-1]

    results = run_tasks(tasks.doubled, endless(), backend=backend)
    for _ in range(20):
        next(results)
    results.close()
    assert len(taken) <= 20 + 2 * backend.num_slots + 8


def test_shared_values_arrive_in_the_place_of_their_handles(backend):
    handle = backend.share(np.arange(10))
    made = run_tasks(
        tasks.total_of, range(5), backend=backend, arguments=lambda task: (task, handle)
    )
    assert dict(made) == {task: task + 45 for task in range(5)}


def test_a_shared_trace_gives_the_same_schedule_and_stays_read_only(backend):
    trace = gs.generate("philly", jobs=200, seed=3)
    handle = backend.share(trace)
    made = run_tasks(
        tasks.digest_of, range(3), backend=backend, arguments=lambda seed: (seed, handle, "srtf")
    )
    assert dict(made) == {seed: tasks.digest_of(seed, trace, "srtf") for seed in range(3)}
    asked = run_tasks(tasks.is_writable, [0], backend=backend, arguments=lambda t: (t, handle))
    assert dict(asked) == {0: False}


def test_an_error_of_a_task_is_raised_when_the_others_are_done(backend):
    done: list[int] = []
    results = run_tasks(tasks.fails, range(5), backend=backend, name="task {}".format)
    with pytest.raises(ValueError, match=r"task \d: \d is bad") as caught:
        drain(results, done)
    assert sorted(done) == [1, 2, 4]
    assert any("is bad" in note for note in caught.value.__notes__)


def test_errors_go_to_who_asks_for_them(backend):
    failed: dict[int, Exception] = {}
    made = run_tasks(tasks.fails, range(5), backend=backend, on_failure=failed.__setitem__)
    assert dict(made) == {1: 1, 2: 2, 4: 4}
    assert {task: str(error) for task, error in failed.items()} == {0: "0 is bad", 3: "3 is bad"}


def test_an_error_that_cannot_travel_is_told_all_the_same(backend):
    failed: dict[int, Exception] = {}
    assert not list(run_tasks(tasks.two_parts, [1], backend=backend, on_failure=failed.__setitem__))
    assert "1 and 2" in str(failed[1])


def test_a_task_that_leaves_python_fails_alone(backend):
    failed: dict[int, Exception] = {}
    made = run_tasks(tasks.leaves, range(4), backend=backend, on_failure=failed.__setitem__)
    assert dict(made) == {0: 0, 1: 1, 3: 3}
    assert "SystemExit: enough" in str(failed[2])


def test_arguments_that_cannot_be_made_fail_alone(backend):
    def arguments(task: int) -> tuple[int]:
        return (10 // task,)

    failed: dict[int, Exception] = {}
    made = run_tasks(
        tasks.doubled, [0, 5], backend=backend, arguments=arguments, on_failure=failed.__setitem__
    )
    assert dict(made) == {5: 4}
    assert isinstance(failed[0], ZeroDivisionError)


def test_progress_ends_with_all_and_never_falls(backend):
    seen: list[Progress] = []
    list(run_tasks(tasks.doubled, range(50), backend=backend, progress=seen.append))
    assert seen[-1] == (50, 50, "")
    assert [update.done for update in seen] == sorted(update.done for update in seen)


@pytest.mark.parametrize("place", ["threads:2", "processes:2", "dask", "ray"])
def test_a_stop_ends_long_runs_and_what_was_done_is_yielded(place):
    stop = threading.Event()
    done: list[int] = []
    with places.opened_at(place) as backend, pytest.raises(gs.Cancelled) as caught:
        drain(run_tasks(tasks.long_run, range(3), backend=backend, stop=stop), done, stop.set)
    assert done == [0]
    assert (caught.value.num_finished, caught.value.total) == (1, 3)


@pytest.mark.parametrize("place", ["threads:2", "processes:2", "dask", "ray"])
def test_a_backend_goes_on_after_a_stop(place):
    with places.opened_at(place) as backend:
        stop = threading.Event()
        with pytest.raises(gs.Cancelled):
            drain(run_tasks(tasks.long_run, range(3), backend=backend, stop=stop), [], stop.set)
        assert dict(run_tasks(tasks.doubled, [4], backend=backend)) == {4: 8}


@pytest.mark.parametrize("executor", ["threads:2", "processes:2"])
def test_an_interrupt_is_raised_after_what_was_done(executor):
    done: list[int] = []

    def interrupt() -> None:  # not raised in here, so that nothing is lost
        os.kill(os.getpid(), signal.SIGINT)

    # Whoever started the tests in the background has them ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with opened(executor) as backend, pytest.raises(KeyboardInterrupt):
            drain(run_tasks(tasks.long_run, range(3), backend=backend), done, interrupt)
        assert done == [0]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("place", ["processes:2", "dask", "ray"])
def test_only_the_task_that_ends_its_process_fails(place):
    failed: dict[int, Exception] = {}
    with places.opened_at(place) as backend:
        made = dict(
            run_tasks(tasks.dies, range(10), backend=backend, on_failure=failed.__setitem__)
        )
    assert made == {task: task for task in range(10) if task % 5 != 2}
    assert sorted(failed) == [2, 7]
    assert all(isinstance(error, WorkerDied) for error in failed.values())


@pytest.mark.parametrize("place", ["processes:2", "dask", "ray"])
def test_a_task_whose_process_was_ended_by_something_else_is_run_again(place, tmp_path):
    with places.opened_at(place) as backend:
        made = run_tasks(
            tasks.dies_once, range(10), backend=backend, arguments=lambda t: (t, str(tmp_path))
        )
        assert dict(made) == {task: task for task in range(10)}


class OneAtATime(Backend):
    """Each call of a task that dies is lost a moment later; says what ran beside which."""

    def __init__(self) -> None:
        super().__init__(None)
        self.under_way: set[int] = set()
        self.beside: dict[int, set[int]] = {}

    num_slots = 2

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        (task,) = args
        future: Future[Outcome] = Future()
        for other in self.under_way:
            self.beside[other].add(task)
        self.beside[task] = set(self.under_way)
        self.under_way.add(task)

        def end() -> None:
            self.under_way.discard(task)
            if task < 2:
                future.set_exception(BrokenExecutor())
            else:
                future.set_result(Outcome(run(task)))

        threading.Timer(0.1, end).start()
        return future

    def is_lost(self, error: BaseException) -> bool:
        return True


def test_nothing_is_begun_beside_a_task_that_runs_alone():
    left = deque([0, 1])

    class Queue:
        def __iter__(self) -> Iterator[int]:
            return self

        def __next__(self) -> int:
            if not left:
                raise StopIteration
            return left.popleft()

    def lose(task: int, error: Exception) -> None:
        left.extend((10 + task, 20 + task))  # as a batch is done again in parts

    backend = OneAtATime()
    made = dict(run_tasks(tasks.doubled, Queue(), backend=backend, on_failure=lose))
    backend.close(cancel=False)
    assert made == {task: 2 * task for task in (10, 20, 11, 21)}
    assert backend.beside[0] == backend.beside[1] == set()


def test_a_task_whose_worker_died_as_it_sent_what_was_made_is_run_again(tmp_path):
    dask = pytest.importorskip("dask")
    soon = dask.config.set({"distributed.comm.timeouts.connect": "3s"})  # gives up who is gone
    with soon, places.opened_at("dask") as backend:
        made = run_tasks(
            tasks.dies_as_it_is_sent,
            [5],
            backend=backend,
            arguments=lambda task: (task, str(tmp_path)),
        )
        assert dict(made) == {5: 5}


def test_a_given_executor_that_broke_ends_the_study():
    executor = ProcessPoolExecutor(2, get_context("spawn"))
    lost = pytest.raises(BackendLost, match="ProcessPoolExecutor: a worker died")
    with lost, opened(executor) as backend:
        list(run_tasks(tasks.dies, range(10), backend=backend))
    executor.shutdown()


def test_a_task_that_cannot_travel_fails_and_no_other():
    failed: dict[int, Exception] = {}

    def arguments(task: int) -> tuple[Any]:
        return (task if task else threading.Lock(),)

    with opened("processes:2") as backend:
        made = run_tasks(
            tasks.doubled, range(3), backend=backend, arguments=arguments,
            on_failure=failed.__setitem__,
        )  # fmt: skip
        assert dict(made) == {1: 2, 2: 4}
        assert list(failed) == [0]
        assert not list(
            run_tasks(tasks.unpicklable, [7], backend=backend, on_failure=failed.__setitem__)
        )
    assert "pickle" in str(failed[7])


def test_the_file_of_a_shared_value_goes_with_its_handle(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with opened("processes:1") as backend:
        values = np.arange(100)
        handle = backend.share(values)
        (path,) = tmp_path.glob("gpusched-*/*")
        assert path.stat().st_size > values.nbytes
        del handle
        assert not path.exists()
    assert not list(tmp_path.glob("gpusched-*"))


@pytest.mark.parametrize(
    ("executor", "error", "message"),
    [
        ("proceses", ValueError, "executor: 'proceses' is unknown; did you mean 'processes'?"),
        ("threads:0", ValueError, "threads:0: the number must lie in 1..1,024"),
        ("threads:x", ValueError, "threads:x: the number must lie in 1..1,024"),
        (3, TypeError, "executor: expected None, a name such as 'processes:4'.* not int"),
    ],
)
def test_an_executor_that_is_none_is_refused(executor, error, message):
    with pytest.raises(error, match=message):
        backend_for(executor)


def test_by_default_there_is_a_thread_for_each_cpu():
    with opened() as backend:
        assert backend.num_slots == len(os.sched_getaffinity(0))
        made = run_tasks(partial(pow, 2), range(4), backend=backend)
        assert dict(made) == {0: 1, 1: 2, 2: 4, 3: 8}


PARENT = """
import signal, sys
from gpusched.studies.executors import opened
from gpusched.studies.driver import run_tasks
from tests.unit.studies import tasks

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
if __name__ == "__main__":
    with opened("processes:2") as backend:
        for _, pid in run_tasks(tasks.pid, range({size}), backend=backend):
            print(pid, flush=True)
        print("done", flush=True)
        for made in run_tasks(tasks.{work}, range(1, 9), backend=backend):
            print(made, flush=True)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not asked for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def files(tmp_path: Path) -> list[Path]:
    """What processes keep in files."""
    return list(tmp_path.glob("gpusched-*"))


def started(tmp_path: Path, work: str) -> tuple[subprocess.Popen[str], set[int]]:
    """Start a parent that is in the middle of its work; also return its workers."""
    script = tmp_path / "parent.py"
    script.write_text(PARENT.format(size=40, work=work))
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": ":".join(["", *sys.path]), "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert parent.stdout is not None
    workers = set()
    for line in parent.stdout:
        if line.startswith("done"):
            return parent, workers
        workers.add(int(line))
    raise AssertionError(parent.communicate()[1])


@pytest.mark.parametrize("work", ["slow", "long_run"])
def test_workers_do_not_outlive_a_parent_that_is_killed(tmp_path, work):
    with time_limit(120):
        parent, workers = started(tmp_path, work)
        assert len(workers) == 2
        assert files(tmp_path)
        parent.kill()
        parent.communicate()
        while any(map(is_alive, workers)):
            time.sleep(0.05)
        assert not files(tmp_path)


def test_an_interrupt_of_all_processes_is_heard_by_the_parent_alone(tmp_path):
    with time_limit(120):
        parent, workers = started(tmp_path, "long_run")
        os.killpg(parent.pid, signal.SIGINT)
        messages = parent.communicate()[1]
        assert parent.returncode != 0
        assert messages.count("Traceback") == 1, messages
        assert messages.strip().endswith("KeyboardInterrupt"), messages
        while any(map(is_alive, workers)):
            time.sleep(0.05)
        assert not files(tmp_path)


UNGUARDED = {
    "tasks": PARENT.format(size=3, work="slow").replace('if __name__ == "__main__":', "if True:"),
    "sweep": """
import gpusched as gs

study = {
    "name": "short", "seeds": [1, 2], "policies": ["fifo"],
    "traces": [{"generate": "philly", "jobs": 5}], "clusters": [{"servers": 1, "gpus": 8}],
}
result = gs.sweep(study, folder="runs", executor="processes:2")
print("failed:", result.num_failed)
""",
    "given": """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import gpusched as gs

study = {
    "name": "short", "seeds": [1, 2], "policies": ["fifo"],
    "traces": [{"generate": "philly", "jobs": 5}], "clusters": [{"servers": 1, "gpus": 8}],
}
with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
    print("failed:", gs.sweep(study, executor=pool).num_failed)
""",
}


@pytest.mark.parametrize("script", UNGUARDED)
def test_a_script_without_a_guard_ends_in_one_error_that_says_so(tmp_path, script):
    path = tmp_path / "parent.py"
    path.write_text(UNGUARDED[script])
    ended = subprocess.run(
        [sys.executable, str(path)], env={**os.environ, "PYTHONPATH": ":".join(["", *sys.path])},
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert ended.returncode == 1, ended
    assert "failed:" not in ended.stdout
    assert ended.stderr.count("BackendLost: ") == 1, ended.stderr
    assert not list(tmp_path.glob("runs/runs/*.parquet"))  # nor did a worker leave failed runs
    assert 'needs its main part under `if __name__ == "__main__":`' in ended.stderr
