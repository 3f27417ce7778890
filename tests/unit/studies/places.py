"""Places where tasks can run, each with two workers."""

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import pytest

from gpusched.studies.executors import Backend, opened


@contextmanager
def opened_at(place: str, **options: Any) -> Iterator[Backend]:
    """Open a place; skip the test where its library is not installed."""
    if place == "dask":
        with dask_cluster(**options) as address, opened(f"dask:{address}") as backend:
            yield backend
    elif place == "ray":
        with ray_cluster(), opened("ray") as backend:
            yield backend
    elif place.startswith("given"):
        executor: Executor = (
            ThreadPoolExecutor(2)
            if place.endswith("threads")
            else ProcessPoolExecutor(2, get_context("spawn"))
        )
        with executor:
            with opened(executor) as backend:
                yield backend
            assert executor.submit(abs, -1).result() == 1  # it stays open
    else:
        with opened(place) as backend:
            yield backend


@contextmanager
def dask_cluster(**options: Any) -> Iterator[str]:
    """Start workers in processes of their own; give the address of their scheduler."""
    distributed = pytest.importorskip("distributed", reason="needs the extra dask")
    dask = pytest.importorskip("dask")
    given = {"n_workers": 2, "threads_per_worker": 1, "processes": True, **options}
    quiet = {"dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    # A task that ends its worker does so once, and again alone: no more than nannies can keep up
    # with, which give up on a worker that dies as it starts.
    config = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with config, distributed.LocalCluster(**given, **quiet) as cluster:
        yield cluster.scheduler_address


@contextmanager
def ray_cluster() -> Iterator[None]:
    """Start Ray with two CPUs, or take what runs: a process has one."""
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    if ray.is_initialized():
        yield
        return
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, log_to_driver=False,
        logging_level="ERROR",
    )  # fmt: skip
    try:
        yield
    finally:
        ray.shutdown()
