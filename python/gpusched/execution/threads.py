"""Calls in threads of this process: native runs let each other go on, and share what they read."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Final

from gpusched.base.stop_scopes import StopScope
from gpusched.execution.backend import Fate, Handle
from gpusched.execution.calls import within
from gpusched.execution.handles import Reference, referred

# How long an interrupt waits for what it ended; a run looks up at every instant.
_GRACE_SECONDS: Final = 0.5


class Threads:
    """Some threads, or those of an executor, which then stays open."""

    def __init__(self, num_slots: int, executor: ThreadPoolExecutor | None = None) -> None:
        self._num_slots = num_slots
        self._is_own = executor is None
        self._pool = executor or ThreadPoolExecutor(num_slots, thread_name_prefix="gpusched")
        self._scope = StopScope()
        self._running: set[Future[Any]] = set()

    @property
    def num_slots(self) -> int:
        """How many threads there are."""
        return self._num_slots

    def share(self, value: Any) -> Handle:
        """Nothing is sent."""
        return Reference(value)

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in a thread."""
        future = self._pool.submit(within, self._scope, call, referred(args))
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def submit_alone(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Run it in a thread; no call ends one."""
        return self.submit(call, *args)

    def fate(self, future: Future[Any]) -> Fate:
        """Say that the call failed."""
        return Fate.FAILED

    def interrupt(self) -> None:
        """Stop native runs within a fraction of a second; what is no run ends by itself."""
        self._scope.set()
        running = list(self._running)
        for future in running:
            future.cancel()
        wait(running, timeout=_GRACE_SECONDS)
        self._scope = StopScope()

    def close(self, *, cancel: bool) -> None:
        """End the threads, or wait until they are done."""
        if cancel:
            self.interrupt()
        if self._is_own:
            self._pool.shutdown(wait=not cancel, cancel_futures=cancel)
