"""Calls in an executor that a user has made: of processes here, of MPI, of whatever else."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

from gpusched.execution.backend import BackendLost, Fate, Handle
from gpusched.execution.handles import Reference, Shared, referred
from gpusched.execution.process_worker import end_if_starting
from gpusched.execution.processes import GUARD
from gpusched.execution.shared_files import to_file, values_of


class GivenExecutor:
    """An executor that stays open.

    What is shared is in a file that the processes of a ProcessPoolExecutor map. Of other executors
    it is not known where their workers are: there it travels with every call.
    """

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._folder = tempfile.TemporaryDirectory(prefix="gpusched-")
        self._numbers = count()
        self._shared = Shared(self._to_file)
        self._is_local = isinstance(executor, ProcessPoolExecutor)
        if self._is_local:
            end_if_starting()

    def _to_file(self, value: Any) -> Handle:
        return to_file(value, Path(self._folder.name) / f"{next(self._numbers)}.shared")

    @property
    def num_slots(self) -> int:
        """As many as it says that it has workers, or as there are CPUs here."""
        for name in ("_max_workers", "max_workers", "num_workers"):
            number = getattr(self._executor, name, None)
            if isinstance(number, int) and number > 0:
                return number
        return os.cpu_count() or 1

    def share(self, value: Any) -> Handle:
        """Write a file, or keep the value for every call."""
        return self._shared.handle_of(value) if self._is_local else Reference(value)

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it there."""
        try:
            return self._executor.submit(_with_values, call, *referred(args))
        except BrokenExecutor as error:
            broken: Future[Any] = Future()
            broken.set_exception(error)
            return broken

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it there."""
        return self.submit(call, *args)

    def fate(self, future: Future[Any]) -> Fate:
        """Say that the call failed, unless the executor is broken."""
        error = future.exception()
        if isinstance(error, BrokenExecutor):
            raise BackendLost(
                f"{type(self._executor).__name__}: a worker died, and with it the executor; "
                f'executor="processes" goes on after such. In both {GUARD}'
            ) from error
        return Fate.FAILED

    def interrupt(self) -> None:
        """Do nothing: what is under way belongs to an executor that stays."""

    def close(self, *, cancel: bool) -> None:
        """Remove the files."""
        self._folder.cleanup()


def _with_values(call: Callable[..., Any], *args: Any) -> Any:
    return call(*values_of(args))
