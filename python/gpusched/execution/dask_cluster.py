"""Calls on a Dask cluster. Its scheduler decides where they run, and moves them."""

from __future__ import annotations

import threading
import time
import uuid
import warnings
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import dask
import distributed
from distributed.protocol.pickle import dumps, loads

from gpusched.base.run_warning import RunWarning
from gpusched.execution.backend import BackendLost, Fate, Handle
from gpusched.execution.cluster_worker import end_runs_of, run_for
from gpusched.execution.futures import cancelling, chained
from gpusched.execution.handles import Shared

_CONNECT_SECONDS: Final = 15
# How long the number of workers is taken to stay, how long there may be none without a word, and
# how long an interrupt waits for the workers to hear of it.
_FRESH_SECONDS: Final = 1.0
_PATIENCE_SECONDS: Final = 20.0
_GRACE_SECONDS: Final = 0.5


@dataclass(eq=False)
class DaskHandle(Handle):
    """A task that gives the value: the scheduler has it run again where all copies were lost."""

    future: Any
    pickled: Any


def connected(address: str) -> DaskCluster:
    """Return the cluster of the scheduler at an address.

    Raises
    ------
    ValueError
        If there is no address.
    ConnectionError
        If nothing answers there.
    """
    if not address:
        raise ValueError("executor: dask needs the address of a scheduler: 'dask:HOST:8786'")
    try:
        client = distributed.Client(
            address, set_as_default=False, timeout=_CONNECT_SECONDS, name="gpusched"
        )
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"dask:{address}: no scheduler answers: {error}") from error
    return DaskCluster(client, is_own=True)


class DaskCluster:
    """The workers of a client."""

    def __init__(self, client: Any, *, is_own: bool = False) -> None:
        self._client = client
        self._is_own = is_own
        self._executor = client.get_executor(pure=False)
        self._shared = Shared(self._send)
        self._study = uuid.uuid4().hex
        self._slots = 1
        self._counted = float("-inf")
        self._had_some = time.monotonic()

    @property
    def num_slots(self) -> int:
        """How many threads the workers have now."""
        now = time.monotonic()
        if now - self._counted > _FRESH_SECONDS and self._is_connected():
            self._counted = now
            found = sum(self._client.nthreads().values())
            self._slots = max(1, found)
            if found:
                self._had_some = now
            elif now - self._had_some > _PATIENCE_SECONDS:
                self._had_some = float("inf")  # said once
                warnings.warn(
                    f"{self._name} has no workers; the runs wait for some",
                    RunWarning,
                    stacklevel=2,
                )
        return self._slots

    def share(self, value: Any) -> Handle:
        """Send the value once, for workers to take from each other when they need it."""
        return self._shared.handle_of(value)

    def _send(self, value: Any) -> Handle:
        pickled = dumps(value)
        return DaskHandle(self._loading(pickled), pickled)

    def _loading(self, pickled: Any) -> Any:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            return self._client.submit(loads, pickled, pure=False)

    def _argument(self, arg: Any) -> Any:
        if not isinstance(arg, DaskHandle):
            return arg
        if arg.future.status in ("error", "cancelled", "lost"):
            arg.future = self._loading(arg.pickled)
        return arg.future

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it on some worker."""
        if not self._is_connected():
            raise self._lost()
        given = map(self._argument, args)
        sent = self._executor.submit(run_for, self._study, call, *given)
        return cancelling(chained(sent, _itself), sent)

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it on some worker; there is nothing else on any."""
        return self.submit(call, *args)

    def fate(self, future: Future[Any]) -> Fate:
        """Tell a call's own error from the death of workers."""
        error = future.exception()
        if isinstance(error, distributed.KilledWorker):
            return Fate.SUSPECT
        if isinstance(error, CancelledError):
            if not self._is_connected():
                raise self._lost() from error
            return Fate.UNTOUCHED
        return Fate.FAILED

    def _is_connected(self) -> bool:
        return self._client.status in ("running", "connecting")

    def _lost(self) -> BackendLost:
        return BackendLost(f"{self._name} is gone: the connection to its scheduler ended")

    @property
    def _name(self) -> str:
        scheduler = getattr(self._client, "scheduler", None)
        return f"the Dask cluster at {getattr(scheduler, 'address', None) or 'its address'}"

    def interrupt(self) -> None:
        """Tell the workers to end what they run; see :mod:`~gpusched.execution.cluster_worker`."""
        study, self._study = self._study, uuid.uuid4().hex

        def tell() -> None:
            with suppress(Exception):  # workers that are gone hear nothing, and run nothing
                self._client.run(end_runs_of, study, on_error="ignore")

        if self._is_connected():
            telling = threading.Thread(target=tell, name="gpusched-interrupt", daemon=True)
            telling.start()
            telling.join(_GRACE_SECONDS)

    def close(self, *, cancel: bool) -> None:
        """Leave the cluster."""
        if cancel:
            self.interrupt()
        if self._is_own:
            self._client.close(timeout=_GRACE_SECONDS)


def _itself(made: Any) -> Any:
    return made
