"""The jobs of a setting: run times and widths of a trace, tables of Gavel, deadlines drawn."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpusched.generator import generate
from gpusched.papers.dancer_settings import MAX_GPUS, WORKLOADS, Place, Setting, Workload
from gpusched.papers.data import data_folder, need_file
from gpusched.throughput_files import read_throughputs
from gpusched.throughputs import Throughputs
from gpusched.ticks import US_PER_S
from gpusched.traces import read_trace
from gpusched.workload import Trace

_TABLES = "gavel/simulation_throughputs.json"
_SEED_OF_ERRORS = 20_250
_GOLDEN = 0.618034
"""Multiples of it, modulo 1, keep away from each other however many there are."""


def need_tables() -> Path:
    """Return the file of the tables, or raise ValueError, which names the variable."""
    return need_file("dancer", _TABLES, "the measured throughputs")


def missing_workloads() -> tuple[Workload, ...]:
    """Return those whose file is not there."""
    return tuple(of for of in WORKLOADS if of.trace and not (data_folder() / of.trace).is_file())


def workload(setting: Setting, seed: int) -> Trace:
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = trace.with_throughputs(throughputs(), seed=seed)
    restart_us = np.full(len(trace), setting.restart_s * US_PER_S, dtype=np.int64)
    trace = dataclasses.replace(trace, restart_us=restart_us)
    trace = trace.with_load(setting.load, _num_gpus(setting.place))
    trace = trace.with_deadlines(setting.recipe, tightness=setting.tightness, seed=seed)
    if not setting.error:
        return trace
    draws = np.random.default_rng([_SEED_OF_ERRORS, seed]).uniform(-1, 1, len(trace))
    told_us = np.maximum(1, np.rint(trace.service_us * (1 + setting.error * draws)))
    return dataclasses.replace(trace, estimate_us=told_us.astype(np.int64))


@lru_cache(maxsize=1)
def throughputs() -> Throughputs:
    """Return the tables of Gavel."""
    return read_throughputs(need_tables())


@lru_cache(maxsize=8)
def _raw(jobs: int, of: Workload, seed: int) -> Trace:
    if of.profile:
        return _narrowed(generate(of.profile, jobs, seed=seed))
    trace = _read(of.trace)
    first = int(seed * _GOLDEN % 1 * len(trace))
    chosen = (np.arange(len(trace)) - first) % len(trace) < jobs
    return _narrowed(trace.filter(chosen))


@lru_cache(maxsize=2)
def _read(path: str) -> Trace:
    return read_trace(data_folder() / path)


def _narrowed(trace: Trace) -> Trace:
    gpus = np.minimum(trace.gpus, MAX_GPUS).astype(np.int32)
    return dataclasses.replace(trace, gpus=gpus)


def _num_gpus(place: Place) -> int:
    return place.cluster().num_gpus
