"""The jobs of a setting: run times and widths of a trace, tables of Gavel, deadlines drawn."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from pathlib import Path

import numpy as np

from gpusched.base.real_data import need_data
from gpusched.traces.workload import Trace
from gpusched_papers.dancer.settings import Setting
from gpusched_papers.unequal_gpus import (
    TABLES,
    Workload,
    generated,
    jobs_of,
    throughputs,
    window,
    with_restarts,
)

_SEED_OF_ERRORS = 20_250
_GOLDEN = 0.618034
"""Multiples of it, modulo 1, keep away from each other however many there are."""


def need_tables() -> Path:
    """Return the file of the tables, or raise ValueError, which names the variable."""
    return need_data(TABLES, "dancer")


def workload(setting: Setting, seed: int) -> Trace:
    """Return the jobs of a seed: of a file others for each seed, of a generator another draw."""
    trace = _raw(setting.place.jobs, setting.workload, seed)
    trace = with_restarts(trace.with_throughputs(throughputs(), seed=seed), setting.restart_s)
    trace = trace.with_load(setting.load, setting.place.cluster().num_gpus)
    trace = trace.with_deadlines(setting.recipe, tightness=setting.tightness, seed=seed)
    if not setting.error:
        return trace
    draws = np.random.default_rng([_SEED_OF_ERRORS, seed]).uniform(-1, 1, len(trace))
    told_us = np.maximum(1, np.rint(trace.service_us * (1 + setting.error * draws)))
    return dataclasses.replace(trace, estimate_us=told_us.astype(np.int64))


@lru_cache(maxsize=8)
def _raw(jobs: int, of: Workload, seed: int) -> Trace:
    if of.profile:
        return generated(of, jobs, seed)
    trace = jobs_of(of)
    return window(trace, jobs, int(seed * _GOLDEN % 1 * len(trace)))
