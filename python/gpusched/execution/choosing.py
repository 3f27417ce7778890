"""From what a user calls a place to run to the backend."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final

from gpusched.base.libraries import need
from gpusched.base.suggest import nearest
from gpusched.execution.backend import Backend as Backend
from gpusched.execution.backend import BackendLost as BackendLost
from gpusched.execution.backend import WorkerDied as WorkerDied
from gpusched.execution.given_executor import GivenExecutor
from gpusched.execution.processes import Processes
from gpusched.execution.threads import Threads

_MOST_SLOTS: Final = 1_024


def backend_for(executor: Any = None) -> Backend:
    """Return where calls run.

    Parameters
    ----------
    executor
        None or ``"threads"``: a thread per CPU; ``"threads:N"``: N of them. ``"processes"`` and
        ``"processes:N"``. ``"dask:ADDRESS"`` of a scheduler (extra: dask), ``"ray"`` for a
        local one and ``"ray:ADDRESS"`` (extra: ray). Also any ``concurrent.futures.Executor`` or
        a ``distributed.Client``, which stay open, or a backend.

    Raises
    ------
    ValueError, TypeError
        If it is none of these.
    ImportError
        If an extra is missing.
    """
    if executor is None:
        return Threads(_num_cpus())
    if isinstance(executor, str):
        kind, _, rest = executor.partition(":")
        if kind not in _BY_NAME:
            raise ValueError(f"executor: {executor!r} is unknown{nearest(kind, list(_BY_NAME))}")
        return _BY_NAME[kind](rest)
    if _is_dask_client(executor):
        return _dask_client(executor)
    if isinstance(executor, ThreadPoolExecutor):
        return Threads(executor._max_workers, executor)
    if isinstance(executor, Executor):
        return GivenExecutor(executor)
    if isinstance(executor, Backend):
        return executor
    raise TypeError(
        "executor: expected None, a name such as 'processes:4', a concurrent.futures.Executor or a "
        f"distributed.Client, not {type(executor).__name__}"
    )


def shares_memory(backend: Backend) -> bool:
    """Whether all that runs there uses the memory of this machine."""
    return isinstance(backend, Threads | Processes)


@contextmanager
def opened(executor: Any = None) -> Iterator[Backend]:
    """Give :func:`backend_for` of it, and close that; a backend that was given stays open.

    After an error, or where the caller leaves early, what is under way is ended.
    """
    backend = backend_for(executor)
    if backend is executor:
        yield backend
        return
    try:
        yield backend
    except BaseException:
        backend.close(cancel=True)
        raise
    backend.close(cancel=False)


def _threads(rest: str) -> Backend:
    return Threads(_slots("threads", rest))


def _processes(rest: str) -> Backend:
    return Processes(_slots("processes", rest))


def _dask(rest: str) -> Backend:
    need("distributed", "executor='dask'", "gpusched[dask]")
    from gpusched.execution.dask_cluster import connected

    return connected(rest)


def _is_dask_client(executor: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and isinstance(executor, distributed.Client)


def _dask_client(client: Any) -> Backend:
    from gpusched.execution.dask_cluster import DaskCluster

    return DaskCluster(client)


def _ray(rest: str) -> Backend:
    need("ray", "executor='ray'", "gpusched[ray]")
    from gpusched.execution.ray_cluster import RayCluster

    return RayCluster(rest)


def _slots(kind: str, text: str) -> int:
    if not text:
        return _num_cpus()
    if not (text.isdecimal() and 1 <= int(text) <= _MOST_SLOTS):
        raise ValueError(f"executor: {kind}:{text}: the number must lie in 1..{_MOST_SLOTS:,}")
    return int(text)


def _num_cpus() -> int:
    return len(os.sched_getaffinity(0))


_BY_NAME: Final[dict[str, Callable[[str], Backend]]] = {
    "threads": _threads,
    "processes": _processes,
    "dask": _dask,
    "ray": _ray,
}
