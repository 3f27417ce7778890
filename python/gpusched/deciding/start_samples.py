"""Futures of a cluster, and when a job starts in each."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import generator
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S, seconds_to_us
from gpusched.deciding.arrival_draws import ArrivalDraws, move_submissions, plain
from gpusched.deciding.asked_run import description_of, job_table, refused, standing_of
from gpusched.deciding.cluster_state import ClusterState
from gpusched.deciding.known_past import KnownPast
from gpusched.deciding.service_draws import ServiceDraws
from gpusched.engine.seams import Chosen
from gpusched.specs.case import job_columns
from gpusched.specs.core_tables import core_cluster
from gpusched.traces.intake.merging import merged

_BATCH: Final = 25
_FIRST_LOOK_US: Final = 86_400 * US_PER_S
_FARTHER: Final = 4
_FARTHEST_LOOK_US: Final = 28 * _FIRST_LOOK_US
"""Who has not started by then goes on as if nobody came any more."""
_PER_JOB: Final = frozenset(each.name for each in _core.JOB_COLUMNS if each.per == "job")


class Case(NamedTuple):
    """What is asked: a state, who decides there, and the seed of that."""

    state: ClusterState
    policy: Chosen
    placement: Chosen
    seed: int
    first_us: int | None = None  # when it first decides, unless something happens before


class Started(NamedTuple):
    """When a job started, microseconds, and where; -1 for never."""

    start_us: int
    servers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Futures:
    """What may come, sample by sample.

    Attributes
    ----------
    service_us
        int64[samples, num_jobs]: how long each job of the state takes.
    arrivals, begin_us
        What is submitted, and where each sample begins in it; None: nothing.
    """

    service_us: Int64
    arrivals: ArrivalDraws | None = None
    begin_us: Int64 | None = None

    def head(self, count: int) -> Futures:
        """Return the first samples."""
        begin_us = None if self.begin_us is None else self.begin_us[:count]
        return Futures(self.service_us[:count], self.arrivals, begin_us)


def drawn_futures(
    state: ClusterState, past: KnownPast, samples: int, seed: int, *, is_told: bool, arrivals: bool
) -> Futures:
    """Draw services and submissions.

    Parameters
    ----------
    is_told
        Whether what the state and the past say of run times is what was said beforehand.
    arrivals
        Whether to draw submissions.
    """
    if not is_told:
        past = dataclasses.replace(past, told_us=None)
    random = generator(seed)
    draws, jobs = ServiceDraws(past), state.jobs
    numbers = random.integers(0, 2**53, size=(len(jobs), samples))
    drawn = np.empty((len(jobs), samples), np.int64)
    told_us = jobs.service_us if past.told_us is not None else np.zeros(len(jobs), np.int64)
    own_s = np.maximum(0.0, state.attained_s - np.nan_to_num(state.added_s))
    alike = np.stack([jobs.gpus, seconds_to_us(own_s), told_us], axis=1)
    kinds, kind_of = np.unique(alike, axis=0, return_inverse=True)
    order = np.argsort(kind_of, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(kind_of[order])) + 1):
        gpus, attained_us, told = kinds[kind_of[rows[0]]].tolist()
        drawn[rows] = draws.draw(gpus, attained_us, numbers[rows], told or None)
    service_us = np.ascontiguousarray(drawn.T)
    if not arrivals:
        return Futures(service_us)
    later = ArrivalDraws(past, draws, random)
    return Futures(service_us, later, later.begins(random.integers(0, 2**53, size=samples)))


def starts(pool: ThreadPoolExecutor, case: Case, job: int, futures: Futures) -> list[Started]:
    """Return the start of the job in each future."""
    sampler = _Sampler(case, job, futures)

    def batch(first: int) -> list[Started]:
        count = min(_BATCH, len(futures.service_us) - first)
        return [sampler.start(first + sample) for sample in range(count)]

    with refused(case.policy, case.placement):
        batches = pool.map(batch, range(0, len(futures.service_us), _BATCH))
        return [each for part in batches for each in part]


class _Sampler:
    """What the samples of a case share."""

    def __init__(self, case: Case, job: int, futures: Futures) -> None:
        state, later = case.state, futures.arrivals
        self._job, self._futures, self._now_us = job, futures, state.now_us
        self._num_jobs = len(state.jobs)
        uses_estimates = case.policy.has("estimate")
        if later is None:
            self._columns = job_table(state, uses_estimates=uses_estimates)
        else:
            self._columns = _joined_columns(state, later, uses_estimates=uses_estimates)
        self._cluster = core_cluster(state.cluster)
        self._standing = standing_of(state, case.first_us)
        self._description = description_of(case.policy, case.placement, case.seed)

    def start(self, sample: int) -> Started:
        """Run on until the job starts, with as many submissions as that takes."""
        futures = self._futures
        drawn_us = np.minimum(futures.service_us[sample], MAX_SERVICE_US)
        if futures.arrivals is None or futures.begin_us is None:
            found = self._until_start({**self._columns, "service_us": drawn_us})
            return Started(-1, ()) if found is None else found
        begin_us = int(futures.begin_us[sample])
        look_us = _FIRST_LOOK_US
        while True:
            rows, after_us = futures.arrivals.until(begin_us, look_us)
            found = self._until_start(self._with_later(drawn_us, rows, after_us))
            if found is not None and found.start_us <= self._now_us + look_us:
                return found
            if look_us >= _FARTHEST_LOOK_US:
                return Started(-1, ()) if found is None else found
            look_us = min(look_us * _FARTHER, _FARTHEST_LOOK_US)

    def _with_later(self, drawn_us: Int64, rows: Int64, after_us: Int64) -> dict[str, Any]:
        later, now = rows + self._num_jobs, np.arange(self._num_jobs)
        taken = np.concatenate([now, later])
        columns = {
            name: values[taken] if name in _PER_JOB else values
            for name, values in self._columns.items()
        }
        columns["service_us"][: self._num_jobs] = drawn_us
        move_submissions(columns, self._num_jobs, self._now_us + 1 + after_us)
        return columns

    def _until_start(self, columns: dict[str, Any]) -> Started | None:
        table = _core.JobTable(**columns)
        run = _core.Run(table, self._cluster, self._description, standing=self._standing)
        found = _core.until_start(run, self._job)
        return None if found is None else Started(found[0], tuple(found[1]))


def _joined_columns(
    state: ClusterState, later: ArrivalDraws, *, uses_estimates: bool
) -> dict[str, Any]:
    """Return the columns of the jobs of the state, and then of what may be submitted."""
    both = merged([plain(state.jobs), later.from_time(state.now_us + 1)], ["state", "history"])
    columns = job_columns(both, state.cluster, uses_estimates=uses_estimates)
    columns["predicted_us"] = np.concatenate([state.jobs.service_us, later.told_us])
    return columns
