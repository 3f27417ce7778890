"""The jobs of a setting: widths and run times of a trace, speeds of the Gavel tables."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import msgspec
import numpy as np

from gpusched.arrays import Bool, Float64
from gpusched.generator import generate
from gpusched.papers.a_srpt_workload import data_folder
from gpusched.papers.matching_online_settings import (
    GRADIENT_BYTES,
    MAX_GPUS,
    RESTART_S,
    SERVER_GPUS,
    TYPES,
    Place,
    Workload,
)
from gpusched.throughput_files import read_throughputs
from gpusched.throughputs import Throughputs
from gpusched.ticks import US_PER_S
from gpusched.traces import read_trace
from gpusched.workload import Trace

_TABLES = "gavel/simulation_throughputs.json"


def has_tables() -> bool:
    """Whether the measured throughputs are there."""
    return (data_folder() / _TABLES).is_file()


def is_there(workload: Workload) -> bool:
    """Whether the jobs can be had."""
    return not workload.trace or (data_folder() / workload.trace).is_file()


@lru_cache(maxsize=1)
def throughputs() -> Throughputs:
    """Return the Gavel tables; gradients, which those do not tell, spread over the paper's range.

    A model of which a table lacks a type does not run there.
    """
    tables = read_throughputs(data_folder() / _TABLES)
    gradients = np.linspace(*GRADIENT_BYTES, len(tables)).tolist()
    return Throughputs(
        [
            msgspec.structs.replace(profile, gradient_bytes=gradient)
            for profile, gradient in zip(tables.values(), gradients, strict=True)
        ],
        tables.source,
        tables.notes,
    )


@lru_cache(maxsize=8)
def workload(place: Place, of: Workload, load: float, seed: int) -> Trace:
    """Return the jobs of a seed: of a file the next so many, of a generator another draw.

    Jobs of more than ``MAX_GPUS``, and those of models that were not measured at their width, are
    left out. The load counts a GPU by its speed, see
    :func:`capacity`.
    """
    trace = _raw(place, of, seed)
    trace = trace.with_throughputs(throughputs(), seed=seed)
    trace = trace.filter(_can_run(trace))
    restart_us = np.full(len(trace), RESTART_S * US_PER_S, dtype=np.int64)
    trace = dataclasses.replace(trace, restart_us=restart_us)
    return trace.with_load(load * capacity(trace), 3 * place.servers * SERVER_GPUS)


@lru_cache(maxsize=32)
def _raw(place: Place, of: Workload, seed: int) -> Trace:
    if of.profile:
        drawn = generate(of.profile, place.jobs, seed=seed)
        return drawn.filter(drawn.gpus <= MAX_GPUS)
    trace = _read(of.trace)
    first = seed * place.jobs % len(trace)
    chosen = (np.arange(len(trace)) - first) % len(trace) < place.jobs
    return trace.filter(chosen)


@lru_cache(maxsize=2)
def _read(path: str) -> Trace:
    trace = read_trace(data_folder() / path)
    return trace.filter(trace.gpus <= MAX_GPUS)


def _can_run(trace: Trace) -> Bool:
    """Whether the tables know each job's model at its own width."""
    assert trace.profiles is not None
    assert trace.profile is not None
    known = np.zeros((len(trace.profiles), MAX_GPUS + 1), dtype=np.bool_)
    for row, profile in enumerate(trace.profiles):
        for curve in profile.throughput.values():
            for count, figure in curve.items():
                known[row, count] |= figure > 0
    found: Bool = known[trace.profile, trace.gpus]
    return found


def capacity(trace: Trace) -> float:
    """Return what an average GPU does, in parts of the best type of each job.

    Each type counts with the mean of its single-GPU speeds, weighted by the jobs' GPU time.
    """
    speed = relative_speeds(trace)
    weight = trace.gpus * trace.service_us
    return float(np.average(speed.mean(axis=1), weights=weight))


def relative_speeds(trace: Trace) -> Float64:
    """Return the speed of one GPU of each type over that of the best type, by job."""
    assert trace.profiles is not None
    assert trace.profile is not None
    of_model = np.array(
        [[profile.samples_per_s.get(kind, 0.0) for kind in TYPES] for profile in trace.profiles]
    )
    of_model /= of_model.max(axis=1, keepdims=True)
    found: Float64 = of_model[trace.profile]
    return found
