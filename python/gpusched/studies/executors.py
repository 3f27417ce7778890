"""Where calls run: any ``concurrent.futures.Executor``, and what a study needs besides."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    InvalidStateError,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final

from gpusched.base.libraries import LazyModule, need
from gpusched.base.run_warning import RunWarning
from gpusched.base.suggest import nearest
from gpusched.base.supervision import StopScope
from gpusched.studies.calls import (
    Outcome,
    SharedFile,
    end_calls_of,
    end_if_starting,
    end_with_parent,
    is_ready,
    outcome_in,
    outcome_of,
)

ray: Any = LazyModule("ray")
_MOST_SLOTS: Final = 1_024
# How long an interrupt waits for the calls it stops; a run checks at every instant.
_GRACE_SECONDS: Final = 0.5
# How long to wait for a cluster's answer, how long to trust its number of workers, and how long
# it may have none before a warning.
_CONNECT_SECONDS: Final = 15
_FRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 20.0
_GUARD: Final = (
    "each process imports the script that uses it, which therefore needs its main part under "
    '`if __name__ == "__main__":`'
)


class WorkerDied(RuntimeError):
    """A worker died while it ran a call, and again when it ran that call alone."""


class BackendLost(RuntimeError):
    """An executor cannot run anything any more; the remaining calls are not at fault."""


class Backend:
    """An executor made by the user (local processes, MPI or other); it stays open.

    Shared values are in a file that local processes map. Other executors may have workers
    elsewhere: there the value is sent with every call.
    """

    shares_memory = False
    """Whether all calls use the memory of this machine, as far as is known."""

    def __init__(self, executor: Executor | None) -> None:
        self._executor: Any = executor
        self._study = uuid.uuid4().hex
        self._folder = tempfile.TemporaryDirectory(prefix="gpusched-")
        self._numbers = count()
        self._is_pool = isinstance(executor, ProcessPoolExecutor)
        if self._is_pool:
            end_if_starting()

    @property
    def num_slots(self) -> int:
        """Number of calls at a time, as far as the executor reports it; may change."""
        for name in ("_max_workers", "max_workers", "num_workers"):
            number = getattr(self._executor, name, None)
            if isinstance(number, int) and number > 0:
                return number
        return os.cpu_count() or 1

    def share(self, value: Any) -> Any:
        """Return a stand-in that a call receives as ``value``.

        Each worker loads it at most once, when needed. It lives as long as the stand-in.
        """
        if not self._is_pool:
            return value
        return SharedFile(value, Path(self._folder.name) / str(next(self._numbers)))

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        """Run ``run(*args)`` on some worker."""
        try:
            future: Future[Outcome] = self._executor.submit(outcome_of, self._study, run, *args)
        except BrokenExecutor as error:
            future = Future()
            future.set_exception(error)
        return future

    def is_lost(self, error: BaseException) -> bool:
        """Whether this error means that a worker died, under this call or another."""
        if isinstance(error, BrokenExecutor):
            raise BackendLost(
                f"{type(self._executor).__name__}: a worker died, and with it the executor; "
                f'executor="processes" goes on after such. In both {_GUARD}'
            ) from error
        return False

    def check(self) -> None:
        """Raise BackendLost if not even an empty call runs; used when a worker died twice."""

    def interrupt(self) -> None:
        """Stop running calls as soon as possible, if the executor allows it.

        Their results are dropped; new calls may be submitted.
        """

    def close(self, *, cancel: bool) -> None:
        """Release all resources; ``cancel``: :meth:`interrupt` first."""
        if cancel:
            self.interrupt()
        self._folder.cleanup()


class Threads(Backend):
    """Threads of this process: native runs release the GIL and share their input."""

    shares_memory = True

    def __init__(self, num_slots: int, executor: ThreadPoolExecutor | None = None) -> None:
        self._is_own = executor is None
        self._executor = executor or ThreadPoolExecutor(num_slots, thread_name_prefix="gpusched")
        self._scope = StopScope()
        self._running: set[Future[Any]] = set()

    def share(self, value: Any) -> Any:
        """Return the value: nothing is sent."""
        return value

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        """Run the call in a thread."""
        future: Future[Outcome] = self._executor.submit(outcome_in, self._scope, run, *args)
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def interrupt(self) -> None:
        """Stop native runs within a fraction of a second; other calls run to their end."""
        self._scope.set()
        running, self._running = list(self._running), set()
        for future in running:
            future.cancel()
        wait(running, timeout=_GRACE_SECONDS)
        self._scope = StopScope()

    def close(self, *, cancel: bool) -> None:
        """Stop the threads, or wait until they are done."""
        if cancel:
            self.interrupt()
        if self._is_own:
            self._executor.shutdown(wait=not cancel, cancel_futures=cancel)


class Processes(Backend):
    """Processes of this machine, by loky: all restart when one of them dies."""

    shares_memory = True

    def __init__(self, num_slots: int) -> None:
        end_if_starting()
        super().__init__(None)
        self._is_pool = True
        self._num_slots = num_slots

    @property
    def num_slots(self) -> int:
        """Number of processes."""
        return self._num_slots

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        """Run the call in a process."""
        if self._executor is None:
            self._executor = self._started()
        with _interrupts_held():  # a new process must not receive Ctrl-C, not even while starting
            return super().submit(run, *args)

    def _started(self) -> Executor:
        from loky import ProcessPoolExecutor
        from loky.backend import get_context

        executor: Executor = ProcessPoolExecutor(
            self._num_slots,
            context=get_context("loky_init_main"),
            initializer=end_with_parent,
            initargs=(os.getpid(), self._folder.name),
            # Jobs that stay for the next run are not a leak.
            env={"LOKY_MAX_MEMORY_LEAK_SIZE": "1e15"},
        )
        return executor

    def is_lost(self, error: BaseException) -> bool:
        """Whether a process died, and all calls with it."""
        if not isinstance(error, BrokenExecutor | CancelledError):
            return False
        self.interrupt()
        return True

    def check(self) -> None:
        """Check that processes start at all."""
        try:
            self.submit(is_ready).result()
        except BrokenExecutor:
            raise BackendLost(
                f"worker processes end as they start: {_GUARD}; executor='threads' needs none"
            ) from None

    def interrupt(self) -> None:
        """Kill all processes at once."""
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
            self._executor = None

    def close(self, *, cancel: bool) -> None:
        """Kill the processes, or wait until they are done."""
        if self._executor is not None and not cancel:
            self._executor.shutdown(wait=True)
        super().close(cancel=cancel)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Block Ctrl-C in this thread for a moment, and permanently in processes that it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class DaskCluster(Backend):
    """The workers of a Dask client, whose scheduler places and moves calls."""

    def __init__(self, client: Any, *, is_own: bool = False) -> None:
        super().__init__(_DaskExecutor(client))
        self._client = client
        self._is_own = is_own
        self._slots = 1
        self._counted = float("-inf")
        self._had_some = time.monotonic()

    @property
    def num_slots(self) -> int:
        """Number of threads of all workers now."""
        now = time.monotonic()
        if now - self._counted > _FRESH_SECONDS and self._is_connected:
            self._counted = now
            found = sum(self._client.nthreads().values())
            self._slots = max(1, found)
            if found:
                self._had_some = now
            elif now - self._had_some > _PATIENCE_SECONDS:
                self._had_some = float("inf")  # warn once
                line = f"{self._name} has no workers; waiting for some"
                warnings.warn(line, RunWarning, stacklevel=2)
        return self._slots

    def share(self, value: Any) -> Any:
        """Send the value once; workers copy it from each other when needed."""
        from distributed.protocol.pickle import dumps

        return _DaskValue(self._client, dumps(value))

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        """Run the call on some worker."""
        if not self._is_connected:
            raise self._lost()
        given = (arg.future() if isinstance(arg, _DaskValue) else arg for arg in args)
        return super().submit(run, *given)

    def is_lost(self, error: BaseException) -> bool:
        """Whether workers died under a call, or the scheduler lost it."""
        from distributed import KilledWorker

        if isinstance(error, CancelledError) and not self._is_connected:
            raise self._lost() from error
        return isinstance(error, KilledWorker | CancelledError)

    @property
    def _is_connected(self) -> bool:
        return self._client.status in ("running", "connecting")

    def _lost(self) -> BackendLost:
        return BackendLost(f"{self._name}: connection to the scheduler lost")

    @property
    def _name(self) -> str:
        scheduler = getattr(self._client, "scheduler", None)
        return f"the Dask cluster at {getattr(scheduler, 'address', None) or 'its address'}"

    def interrupt(self) -> None:
        """Ask the workers to stop their calls."""
        study, self._study = self._study, uuid.uuid4().hex

        def tell() -> None:
            with suppress(Exception):  # lost workers run nothing
                self._client.run(end_calls_of, study, on_error="ignore")

        if self._is_connected:
            telling = threading.Thread(target=tell, name="gpusched-interrupt", daemon=True)
            telling.start()
            telling.join(_GRACE_SECONDS)

    def close(self, *, cancel: bool) -> None:
        """Disconnect from the cluster."""
        super().close(cancel=cancel)
        if self._is_own:
            self._client.close(timeout=_GRACE_SECONDS)


class _DaskExecutor(Executor):
    """Dask tasks as futures that always end.

    A future of Dask's own executor never ends if its result was lost in transit and the worker
    died when the task was repeated.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def submit(self, call: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        task = self._client.submit(call, *args, pure=False)
        future: Future[Any] = Future()

        def cancel(_: Future[Any]) -> None:
            if future.cancelled() and task.status != "cancelled":
                task.cancel()

        future.add_done_callback(cancel)
        self._client.loop.add_callback(self._relay, task, future)
        return future

    async def _relay(self, task: Any, future: Future[Any]) -> None:
        with suppress(InvalidStateError):  # cancelled in the meantime
            try:
                made = await self._client.gather(task, asynchronous=True)
            except BaseException as error:
                if task.status == "error":
                    future.set_exception(error)
                elif future.cancel():  # the scheduler lost it, or is gone
                    future.set_running_or_notify_cancel()
            else:
                future.set_result(made)


class _DaskValue:
    """A task that returns the value: the scheduler repeats it when all copies were lost."""

    def __init__(self, client: Any, pickled: Any) -> None:
        self._client, self._pickled = client, pickled
        self._future: Any = None

    def future(self) -> Any:
        """Return the task, a new one if it killed workers."""
        import dask
        from distributed.protocol.pickle import loads

        if self._future is None or self._future.status in ("error", "cancelled", "lost"):
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
                self._future = self._client.submit(loads, self._pickled, pure=False)
        return self._future


class RayCluster(Backend):
    """The workers of a Ray cluster, or of a local one. Ray decides where calls run."""

    def __init__(self, address: str) -> None:
        super().__init__(_RayExecutor())
        self._is_own = not ray.is_initialized()
        if not self._is_own:
            return
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
        if not address:
            quiet |= {"num_cpus": _num_cpus(), "include_dashboard": False}
        try:
            ray.init(address=address or "local", **quiet)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            raise ConnectionError(f"ray:{address}: no answer: {error}") from error

    @property
    def num_slots(self) -> int:
        """Number of CPUs of the cluster now."""
        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """Put the value into Ray's store; each server gets it once and its workers map it."""
        return ray.put(value)

    def submit(self, run: Callable[..., Any], /, *args: Any) -> Future[Outcome]:
        """Run the call in a worker process that runs nothing else meanwhile."""
        if not ray.is_initialized():
            raise BackendLost("Ray was shut down")
        return super().submit(run, *args)

    def is_lost(self, error: BaseException) -> bool:
        """Whether a worker or a server died."""
        from ray.exceptions import RayError, RaySystemError, RayTaskError

        if isinstance(error, RaySystemError):
            raise BackendLost(f"Ray cannot go on: {error}") from error
        is_of_ray = isinstance(error, RayError) and not isinstance(error, RayTaskError)
        return is_of_ray or isinstance(error, CancelledError)

    def interrupt(self) -> None:
        """Kill the worker processes of running calls."""
        self._executor.end()

    def close(self, *, cancel: bool) -> None:
        """Disconnect from the cluster; stop it if it was started here."""
        super().close(cancel=cancel)
        if self._is_own:
            ray.shutdown()


class _RayExecutor(Executor):
    """Ray tasks as futures."""

    def __init__(self) -> None:
        self._references: dict[Future[Any], Any] = {}

    def submit(self, call: Callable[..., Any], /, *args: Any, **_: Any) -> Future[Any]:
        reference = ray.remote(max_retries=0, num_cpus=1)(call).remote(*args)
        future: Future[Any] = reference.future()
        self._references[future] = reference
        future.add_done_callback(self._forget)
        return future

    def _forget(self, future: Future[Any]) -> None:
        if not future.cancelled():  # a cancelled one is to be stopped
            self._references.pop(future, None)

    def end(self) -> None:
        references, self._references = self._references, {}
        for reference in references.values():
            with suppress(Exception):  # it may have ended, or its server
                ray.cancel(reference, force=True)


def backend_for(executor: Any = None) -> Backend:
    """Return the backend of an executor argument.

    ``executor``: none or ``"threads"``: a thread per CPU; ``"threads:N"``: N of them.
        ``"processes"`` and ``"processes:N"``. ``"dask:ADDRESS"`` of a scheduler (extra: dask),
        ``"ray"`` for a local one and ``"ray:ADDRESS"`` (extra: ray). Also any
        ``concurrent.futures.Executor`` or a ``distributed.Client``, which stay open, or a backend.
    """
    if executor is None:
        return Threads(_num_cpus())
    if isinstance(executor, str):
        kind, _, rest = executor.partition(":")
        if kind not in _BY_NAME:
            raise ValueError(f"executor: {executor!r} is unknown{nearest(kind, list(_BY_NAME))}")
        return _BY_NAME[kind](rest)
    distributed = sys.modules.get("distributed")
    if distributed is not None and isinstance(executor, distributed.Client):
        return DaskCluster(executor)
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, executor)
    if isinstance(executor, Executor):
        return Backend(executor)
    if isinstance(executor, Backend):
        return executor
    raise TypeError(
        "executor: expected None, a name such as 'processes:4', a concurrent.futures.Executor or a "
        f"distributed.Client, not {type(executor).__name__}"
    )


@contextmanager
def opened(executor: Any = None) -> Iterator[Backend]:
    """Yield :func:`backend_for` of it, and close that; a backend passed in stays open.

    After an error, or if the caller leaves early, running calls are stopped.
    """
    backend = backend_for(executor)
    if backend is executor:
        yield backend
        return
    try:
        yield backend
    except BaseException:
        backend.close(cancel=True)
        raise
    backend.close(cancel=False)


def _dask(address: str) -> Backend:
    need("distributed", "executor='dask'", "gpusched-core[dask]")
    import distributed

    if not address:
        raise ValueError("executor: dask needs the address of a scheduler: 'dask:HOST:8786'")
    try:
        client = distributed.Client(
            address, set_as_default=False, timeout=_CONNECT_SECONDS, name="gpusched"
        )
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"dask:{address}: no answer from the scheduler: {error}") from error
    return DaskCluster(client, is_own=True)


def _ray(address: str) -> Backend:
    need("ray", "executor='ray'", "gpusched-core[ray]")
    return RayCluster(address)


def _slots(kind: str, text: str) -> int:
    if not text:
        return _num_cpus()
    if not (text.isdecimal() and 1 <= int(text) <= _MOST_SLOTS):
        raise ValueError(f"executor: {kind}:{text}: the number must lie in 1..{_MOST_SLOTS:,}")
    return int(text)


def _num_cpus() -> int:
    return len(os.sched_getaffinity(0))


_BY_NAME: Final[dict[str, Callable[[str], Backend]]] = {
    "threads": lambda number: Threads(_slots("threads", number)),
    "processes": lambda number: Processes(_slots("processes", number)),
    "dask": _dask,
    "ray": _ray,
}
