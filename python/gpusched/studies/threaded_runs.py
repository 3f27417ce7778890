"""Run several calls in threads that end on Ctrl-C and on a stop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from gpusched.base.failures import raise_named
from gpusched.base.field_checks import check_integer
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled
from gpusched.studies.driver import run_tasks
from gpusched.studies.executors import opened

_Outcome = TypeVar("_Outcome")

_MOST_THREADS = 1_024


def in_threads(
    parts: Mapping[str, Callable[[], _Outcome]],
    *,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    unit: str = "runs",
    part: str = "",
) -> dict[str, _Outcome]:
    """Call each of ``parts``, and return their results in order.

    ``parts``: calls by name; they stop soon after Ctrl-C, a stop or an error of ``progress``, if
        they can.
    ``threads``: number of parallel calls; None: one per CPU.
    ``progress``: called in this thread as parts end, with the numbers done and in total, and
        ``part``.
    ``stop``, ``unit``: as for :func:`~gpusched.base.supervision.supervised`.
    """
    if threads is not None:
        check_integer("threads", threads, 1, _MOST_THREADS)
    made: dict[str, _Outcome] = {}
    failed: dict[str, Exception] = {}
    size = min(threads or os.cpu_count() or 1, len(parts), _MOST_THREADS)
    with opened(f"threads:{size}") as backend:
        tasks = run_tasks(
            lambda name: parts[name](), list(parts),
            backend=backend, on_failure=failed.__setitem__, stop=stop,
        )  # fmt: skip
        try:
            for name, outcome in tasks:
                made[name] = outcome
                if progress is not None:
                    progress(Progress(len(made) + len(failed), len(parts), part))
        except Cancelled as told:
            raise Cancelled(told.num_finished, len(parts), unit) from None
        finally:
            tasks.close()
    if failed:
        raise_named({name: failed[name] for name in parts if name in failed})
    return {name: made[name] for name in parts}
