"""Calls on a Ray cluster. Ray decides where they run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import ray
from ray.exceptions import RayError, RaySystemError, RayTaskError, TaskCancelledError

from gpusched.execution.backend import BackendLost, Fate, Handle
from gpusched.execution.futures import chained
from gpusched.execution.handles import Shared

_FRESH_SECONDS: Final = 1.0


@dataclass(eq=False)
class RayHandle(Handle):
    """An object in Ray's store, which a server gets once and all its workers map."""

    reference: Any


class RayCluster:
    """The workers of a Ray cluster, or of one on this machine.

    Parameters
    ----------
    address
        As for ``ray.init``; empty: the one that this process is connected to, or else a new one on
        this machine.

    Raises
    ------
    ConnectionError
        If nothing answers there.
    """

    def __init__(self, address: str) -> None:
        self._is_own = not ray.is_initialized()
        if self._is_own:
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            if not address:
                ray.init(
                    address="local",
                    num_cpus=len(os.sched_getaffinity(0)),
                    include_dashboard=False,
                    **quiet,
                )
            else:
                try:
                    ray.init(address=address, **quiet)
                except (ConnectionError, OSError, ValueError, RuntimeError) as error:
                    raise ConnectionError(f"ray:{address}: nothing answers: {error}") from error
        self._remote = ray.remote(max_retries=0, num_cpus=1)(_run)
        self._shared = Shared(_put)
        self._references: dict[Future[Any], Any] = {}
        self._slots = 1
        self._counted = float("-inf")

    @property
    def num_slots(self) -> int:
        """How many CPUs the cluster has now."""
        now = time.monotonic()
        if now - self._counted > _FRESH_SECONDS:
            self._counted = now
            self._slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
        return self._slots

    def share(self, value: Any) -> Handle:
        """Put the value into Ray's store."""
        return self._shared.handle_of(value)

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in some worker process, which runs nothing else meanwhile."""
        if not ray.is_initialized():
            raise BackendLost("Ray was shut down")
        given = (arg.reference if isinstance(arg, RayHandle) else arg for arg in args)
        reference = self._remote.remote(call, *given)
        future = chained(reference.future(), _itself)
        self._references[future] = reference
        future.add_done_callback(self._forget)
        return future

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in some worker process; there is nothing else in any."""
        return self.submit(call, *args)

    def _forget(self, future: Future[Any]) -> None:
        if not future.cancelled():
            self._references.pop(future, None)

    def fate(self, future: Future[Any]) -> Fate:
        """Tell a call's own error from the death of a worker or a server."""
        error = future.exception()
        if isinstance(error, RaySystemError):
            raise BackendLost(f"Ray cannot go on: {error}") from error
        if isinstance(error, TaskCancelledError | CancelledError):
            return Fate.UNTOUCHED
        is_own = isinstance(error, RayTaskError) or not isinstance(error, RayError)
        return Fate.FAILED if is_own else Fate.SUSPECT

    def interrupt(self) -> None:
        """End the worker processes of what is under way."""
        references, self._references = self._references, {}
        for reference in references.values():
            with suppress(Exception):  # it may have ended, and its server with it
                ray.cancel(reference, force=True)

    def close(self, *, cancel: bool) -> None:
        """Leave the cluster; one that was started here ends."""
        if cancel:
            self.interrupt()
        if self._is_own:
            ray.shutdown()


def _put(value: Any) -> Handle:
    return RayHandle(ray.put(value))


def _run(call: Callable[..., Any], *args: Any) -> Any:
    from gpusched.base.stop_scopes import StopScope
    from gpusched.execution.calls import within

    return within(StopScope(), call, args)


def _itself(made: Any) -> Any:
    return made
