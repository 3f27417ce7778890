"""Several runs at a time in threads, that end on Ctrl-C and on a stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from typing import TypeVar

from gpusched.base.failures import raise_named
from gpusched.base.field_checks import check_integer
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked

_Outcome = TypeVar("_Outcome")

# How often the waiting thread looks up.
_POLL_SECONDS = 0.1
_MOST_THREADS = 1_024


def in_threads(
    parts: Mapping[str, Callable[[threading.Event], _Outcome]],
    *,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    unit: str = "runs",
) -> dict[str, _Outcome]:
    """Call each of ``parts``, and return what they gave, in their order.

    Parameters
    ----------
    parts
        By name; each gets an event, and ends with Cancelled soon after it is set.
    threads
        How many at a time; None takes one per CPU.
    progress
        Called in this thread as parts end, with their number and that of all.
    stop, unit
        As for :func:`~gpusched.base.supervision.supervised`.

    Raises
    ------
    Cancelled
        If ``stop`` was set.
    KeyboardInterrupt
        On Ctrl-C.
    Exception
        The first error of a part, which it names, once all others have ended.
    """
    if threads is not None:
        check_integer("threads", threads, 1, _MOST_THREADS)
    if is_asked(stop):
        raise Cancelled(0, len(parts), unit)
    ends = threading.Event()
    size = min(threads or os.cpu_count() or 1, len(parts))
    pool = ThreadPoolExecutor(size, thread_name_prefix="gpusched")
    futures = {name: pool.submit(part, ends) for name, part in parts.items()}
    pending = set(futures.values())
    try:
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            if is_asked(stop):
                raise Cancelled(len(parts) - len(pending), len(parts), unit)
            if done and progress is not None:
                progress(Progress(len(parts) - len(pending), len(parts)))
    finally:
        ends.set()
        pool.shutdown(wait=False, cancel_futures=True)
    failed = {name: future.exception() for name, future in futures.items()}
    errors = {name: error for name, error in failed.items() if isinstance(error, Exception)}
    if errors:
        raise_named(errors)
    return {name: future.result() for name, future in futures.items()}
