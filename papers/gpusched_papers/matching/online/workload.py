"""The jobs of a setting: run times and widths of a trace, speeds of the tables of Gavel."""

from __future__ import annotations

from functools import lru_cache

import msgspec
import numpy as np

from gpusched.base.arrays import Float64
from gpusched.models.throughputs import Throughputs
from gpusched.traces.workload import Trace
from gpusched_papers import unequal_gpus
from gpusched_papers.matching.online.settings import GRADIENT_BYTES, RESTART_S, SEEDS, Setting
from gpusched_papers.unequal_gpus import (
    TYPES,
    Workload,
    generated,
    jobs_of,
    window,
    with_restarts,
)


def workload(setting: Setting, seed: int) -> Trace:
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), RESTART_S)
    return trace.with_load(setting.load * capacity(trace), setting.place.cluster().num_gpus)


@lru_cache(maxsize=1)
def throughputs() -> Throughputs:
    """Return the tables of Gavel, with gradients, which those do not tell.

    The models' gradients are spread evenly over the range of the study of one decision.
    """
    tables = unequal_gpus.throughputs()
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
    """Of a file: of each seed other jobs, as far apart as the seeds can be.

    The first window begins where no window has begun on which anything was tuned.
    """
    if of.profile:
        return generated(of, jobs, seed)
    trace = jobs_of(of)
    step = len(trace) // len(SEEDS)
    return window(trace, jobs, ((seed - SEEDS[0]) * step + step // 2) % len(trace))
