"""Calls in processes of this machine, which end with this one, however it ends."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
import signal
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from gpusched.execution.backend import BackendLost, Fate, Handle
from gpusched.execution.futures import chained
from gpusched.execution.handles import Shared
from gpusched.execution.process_worker import (
    ENDED,
    begin_worker,
    begun_in,
    end_if_starting,
    is_ready,
    run_pickled,
    unpickled,
)
from gpusched.execution.shared_files import to_file

_CONTEXT: Final = multiprocessing.get_context("spawn")
GUARD: Final = (
    "each process imports the script that uses it, which therefore needs its main part under "
    '`if __name__ == "__main__":`'
)
"""What to know before processes are started."""


class Processes:
    """Processes that are started anew where one of them died."""

    def __init__(self, num_slots: int) -> None:
        end_if_starting()
        self._num_slots = num_slots
        self._folder = tempfile.TemporaryDirectory(prefix="gpusched-")
        self._shared = Shared(self._write)
        self._numbers = itertools.count()
        self._pool: _Pool | None = None
        self._alone: _Pool | None = None
        self._has_worked = False
        self._origins: weakref.WeakKeyDictionary[Future[Any], tuple[_Pool, int]] = (
            weakref.WeakKeyDictionary()
        )

    @property
    def num_slots(self) -> int:
        """How many processes there are."""
        return self._num_slots

    def share(self, value: Any) -> Handle:
        """Write a file that every process maps when it needs it."""
        return self._shared.handle_of(value)

    def _write(self, value: Any) -> Handle:
        return to_file(value, Path(self._folder.name) / f"{next(self._numbers)}.shared")

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in a process, with no more than pickle can send."""
        if self._pool is None or self._pool.is_broken:
            self._pool = self._started(self._num_slots)
        return self._submit_to(self._pool, call, args)

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in a process that nothing else is run in."""
        if self._alone is None or self._alone.is_broken:
            self._alone = self._started(1)
        return self._submit_to(self._alone, call, args)

    def _started(self, num_slots: int) -> _Pool:
        return _Pool(num_slots, Path(self._folder.name))

    def _submit_to(
        self, pool: _Pool, call: Callable[..., Any], args: tuple[Any, ...]
    ) -> Future[Any]:
        number = next(self._numbers)
        sent = pool.submit(number, pickle.dumps((call, args)))
        future = chained(sent, self._read)
        self._origins[future] = pool, number
        return future

    def _read(self, made: bytes | str) -> Any:
        self._has_worked = True
        return unpickled(made)

    def fate(self, future: Future[Any]) -> Fate:
        """Tell a call's own error from the death of a process."""
        error = future.exception()
        if not isinstance(error, BrokenExecutor | CancelledError):
            return Fate.FAILED
        pool, number = self._origins[future]
        pool.leave()
        if pool is self._alone and not self._has_worked:
            self._check_that_processes_start()
        return Fate.SUSPECT if number in pool.begun() else Fate.UNTOUCHED

    def _check_that_processes_start(self) -> None:
        """Raise if not even nothing can be run."""
        self._alone = self._started(1)
        try:
            self._submit_to(self._alone, is_ready, ()).result()
        except BrokenExecutor:
            raise BackendLost(
                f"worker processes end as they start: {GUARD}; executor='threads' needs none"
            ) from None

    def interrupt(self) -> None:
        """End all processes at once."""
        for pool in (self._pool, self._alone):
            if pool is not None:
                pool.end()
        self._pool = self._alone = None

    def close(self, *, cancel: bool) -> None:
        """End the processes, or wait until they are done."""
        if cancel:
            self.interrupt()
        for pool in (self._pool, self._alone):
            if pool is not None:
                pool.finish()
        self._pool = self._alone = None
        self._folder.cleanup()


class _Pool:
    """An executor, and the pipe by which its processes know that they are wanted."""

    def __init__(self, num_slots: int, folder: Path) -> None:
        # The processes hold one end each; when the other one is closed, or this process ends, they
        # see the end of it.
        listening: Connection
        listening, self._lifeline = _CONTEXT.Pipe(duplex=False)
        self._marks = Path(tempfile.mkdtemp(prefix="begun-", dir=folder))
        self._executor = ProcessPoolExecutor(
            num_slots, _CONTEXT, begin_worker, (listening, str(folder), str(self._marks))
        )
        self.is_broken = False

    def submit(self, number: int, call: bytes) -> Future[Any]:
        with _interrupts_held():  # a new process must not hear Ctrl-C, not even as it starts
            try:
                return self._executor.submit(run_pickled, number, call)
            except BrokenExecutor as error:
                broken: Future[Any] = Future()
                broken.set_exception(error)
                return broken

    def begun(self) -> set[int]:
        """Return the numbers of the calls that its processes began last."""
        return begun_in(self._marks)

    def leave(self) -> None:
        """End what is left after the death of a process."""
        if not self.is_broken:
            self.is_broken = True
            self.end()

    def end(self) -> None:
        """End the processes with all that they do."""
        (self._marks / ENDED).touch()
        self._lifeline.close()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def finish(self) -> None:
        """Wait for what was submitted, then end the processes."""
        self._executor.shutdown(wait=True)
        self._lifeline.close()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C from this thread for a moment, and for good from processes that it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
