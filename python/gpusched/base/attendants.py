"""Threads for what cannot be asked to stop; they stay for the next call, and wait meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

_Outcome = TypeVar("_Outcome")


def apart(run: Callable[[], _Outcome]) -> Future[_Outcome]:
    """Call ``run`` in another thread, which does not keep the process from ending.

    A thread that is free is taken before a new one: in a new one a solver sets up its memory and
    its own threads again, which takes as long as a small program.
    """
    future: Future[_Outcome] = Future()
    try:
        attendant = _free.pop()
    except IndexError:
        attendant = _Attendant()
    attendant.work.put((run, future))
    return future


class _Attendant:
    def __init__(self) -> None:
        self.work: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        threading.Thread(target=self._attend, name="gpusched-solver", daemon=True).start()

    def _attend(self) -> None:
        while True:
            self._attend_to(*self.work.get())

    def _attend_to(self, run: Callable[[], Any], future: Future[Any]) -> None:
        try:
            found = run()
        except BaseException as error:
            _free.append(self)
            future.set_exception(error)
        else:
            _free.append(self)  # before: who waits for the result may call again at once
            future.set_result(found)


_free: list[_Attendant] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free.clear)  # its threads are the parent's
