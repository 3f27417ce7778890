"""Futures that say in one way what others say in several."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, InvalidStateError
from functools import partial
from typing import Any


def chained(sent: Future[Any], read: Callable[[Any], Any]) -> Future[Any]:
    """Return a future of ``read`` of what another one gives.

    Where that was cancelled by others this one has a CancelledError as its exception; if ``read``
    fails, its error. To cancel this one does not cancel the other, :func:`cancelling` does.
    """
    future: Future[Any] = Future()
    # A circle would keep what was made until the garbage collector comes.
    sent.add_done_callback(partial(_pass_on, weakref.ref(future), read))
    return future


def cancelling(future: Future[Any], sent: Future[Any]) -> Future[Any]:
    """Return ``future``, with ``sent`` cancelled where it is."""
    future.add_done_callback(partial(_pass_back, sent))
    return future


def _pass_back(sent: Future[Any], future: Future[Any]) -> None:
    if future.cancelled():
        sent.cancel()


def _pass_on(
    target: Callable[[], Future[Any] | None], read: Callable[[Any], Any], sent: Future[Any]
) -> None:
    future = target()
    if future is None:
        return
    error: BaseException | None = CancelledError() if sent.cancelled() else sent.exception()
    try:
        if error is None:
            future.set_result(read(sent.result()))
        else:
            future.set_exception(error)
    except InvalidStateError:
        pass  # cancelled meanwhile
    except Exception as other:
        future.set_exception(other)
