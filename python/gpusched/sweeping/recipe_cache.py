"""The jobs that a process made last: made once, however many runs and threads want them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

MOST_TRACES: Final = 4
"""How many a process keeps."""


class RecipeCache:
    """The last few traces by the names of their recipes; calls are safe from several threads."""

    def __init__(self, most: int = MOST_TRACES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._made: OrderedDict[str, Future[Trace]] = OrderedDict()

    def get(self, name: str, make: Callable[[], Trace]) -> Trace:
        """Return the jobs, made now if they are not there; others that want them wait for it."""
        with self._lock:
            known = self._made.get(name)
            if known is not None:
                self._made.move_to_end(name)
            else:
                mine: Future[Trace] = Future()
                self._made[name] = mine
                while len(self._made) > self._most:
                    self._made.popitem(last=False)
        if known is not None:
            return known.result()
        try:
            trace = make()
        except BaseException as error:
            with self._lock:
                self._made.pop(name, None)
            mine.set_exception(error)
            raise
        mine.set_result(trace)
        return trace
