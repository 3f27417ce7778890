"""The jobs of a setting: run times and widths of a trace, speeds of the tables of Gavel."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import msgspec
import numpy as np

from gpusched.arrays import Float64
from gpusched.generator import generate
from gpusched.papers import dancer_workload
from gpusched.papers.data import data_folder
from gpusched.papers.matching_online_settings import (
    GRADIENT_BYTES,
    MAX_GPUS,
    RESTART_S,
    SEEDS,
    TYPES,
    WORKLOADS,
    Setting,
    Workload,
)
from gpusched.throughputs import Throughputs
from gpusched.ticks import US_PER_S
from gpusched.traces import read_trace
from gpusched.workload import Trace

TABLES = "gavel/simulation_throughputs.json"


def has_tables() -> bool:
    """Whether the measured throughputs are there."""
    return (data_folder() / TABLES).is_file()


def missing_workloads() -> tuple[Workload, ...]:
    """Return those whose file is not there."""
    return tuple(of for of in WORKLOADS if of.trace and not (data_folder() / of.trace).is_file())


def workload(setting: Setting, seed: int) -> Trace:
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = trace.with_throughputs(throughputs(), seed=seed)
    restart_us = np.full(len(trace), RESTART_S * US_PER_S, dtype=np.int64)
    trace = dataclasses.replace(trace, restart_us=restart_us)
    return trace.with_load(setting.load * capacity(trace), setting.place.cluster().num_gpus)


@lru_cache(maxsize=1)
def throughputs() -> Throughputs:
    """Return the tables of Gavel, with gradients, which those do not tell.

    The models' gradients are spread evenly over the range of the study of one decision.
    """
    tables = dancer_workload.throughputs()
    gradients = np.linspace(*GRADIENT_BYTES, len(tables)).tolist()
    return Throughputs(
        [
            msgspec.structs.replace(profile, gradient_bytes=gradient)
            for profile, gradient in zip(tables.values(), gradients, strict=True)
        ],
        tables.source,
        tables.notes,
    )


def capacity(trace: Trace) -> float:
    """Return what an average GPU does, in parts of the best type of each job.

    Each type counts with the mean of its single-GPU speeds, weighted by the jobs' GPU time; there
    are as many GPUs of each type.
    """
    weight = trace.gpus * trace.service_us
    return float(np.average(relative_speeds(trace).mean(axis=1), weights=weight))


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


@lru_cache(maxsize=8)
def _raw(jobs: int, of: Workload, seed: int) -> Trace:
    trace = generate(of.profile, jobs, seed=seed) if of.profile else _window(jobs, of, seed)
    gpus = np.minimum(trace.gpus, MAX_GPUS).astype(np.int32)
    return dataclasses.replace(trace, gpus=gpus)


def _window(jobs: int, of: Workload, seed: int) -> Trace:
    """Consecutive jobs: of each seed others, as far apart as the seeds can be.

    The first window begins where no window has begun on which anything was tuned.
    """
    trace = _read(of.trace)
    step = len(trace) // len(SEEDS)
    first = ((seed - SEEDS[0]) * step + step // 2) % len(trace)
    return trace.filter((np.arange(len(trace)) - first) % len(trace) < jobs)


@lru_cache(maxsize=2)
def _read(path: str) -> Trace:
    return read_trace(data_folder() / path)
