"""When a job that waits starts: :func:`when`."""

from __future__ import annotations

import dataclasses
import operator
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from gpusched import _core
from gpusched.base.arrays import Float64, Int64
from gpusched.base.draws import check_seed, generator
from gpusched.base.field_checks import check_integer
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S, seconds_to_us
from gpusched.clusters.cluster import Cluster
from gpusched.deciding.cluster_state import (
    ClusterState,
    asked,
    description_of,
    job_table,
    refused,
    standing_of,
)
from gpusched.deciding.start_draws import LEAST as LEAST
from gpusched.deciding.start_draws import (
    ArrivalDraws,
    KnownPast,
    ServiceDraws,
    move_submissions,
    plain,
)
from gpusched.deciding.start_draws import width_classes as width_classes
from gpusched.deciding.start_forecast import (
    Sooner,
    StartCalibration,
    StartForecast,
    nearest_rank,
)
from gpusched.deciding.start_forecast import stretch_factors as stretch_factors
from gpusched.deciding.start_forecast import stretched as stretched
from gpusched.engine.open_run import Simulation
from gpusched.engine.seams import Chosen, placement_seam
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.plugins.registry import placements
from gpusched.specs.case import core_cluster, job_columns
from gpusched.traces.intake.merging import merged
from gpusched.traces.workload import Trace

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


def start_alternatives(
    case: Case, job: int, futures: Futures
) -> Iterator[tuple[str, Case, Futures]]:
    """Yield what might make the job start sooner, and the futures that go with it.

    What is changed is changed now: the policy decides at once.
    """
    case = case._replace(first_us=None)
    jobs = case.state.jobs
    gpus = int(jobs.gpus[job])
    for part in (2, 4):
        if gpus % part or jobs.min_gpus is not None:
            continue
        longer = futures.service_us.copy()
        longer[:, job] *= part
        width, service_us = jobs.gpus.copy(), jobs.service_us.copy()
        width[job] //= part
        service_us[job] *= part
        narrower = dataclasses.replace(jobs, gpus=width, service_us=service_us)
        state = dataclasses.replace(case.state, jobs=narrower)
        yield (
            f"{gpus // part} GPU{'s' * (gpus > part)}",
            case._replace(state=state),
            dataclasses.replace(futures, service_us=longer),
        )
    other = _scattering(case.placement, jobs)
    if other is not None:
        yield f"placement {other}", case._replace(placement=placement_seam(other)), futures
    larger = _with_one_more(case.state.cluster, jobs, job)
    if larger is not None:
        state = dataclasses.replace(case.state, cluster=larger, servers=())
        yield "one more server", case._replace(state=state), futures


def _scattering(placement: Chosen, jobs: Trace) -> str | None:
    """Return a placement that takes GPUs wherever they are free; None if this one does."""
    if placement.has("scatters") or placement.has("pooled"):
        return None
    wanted = ["scatters"]
    if jobs.cpu_milli is not None or jobs.memory_mib is not None:
        wanted.append("demands")
    if jobs.share_milli is not None:
        wanted += ["demands", "shares"]
    names = [
        info.name
        for info in placements().values()
        if info.is_native
        and all(info.has(flag) for flag in wanted)
        and not (info.has("random") or info.has("pooled"))
    ]
    return min(names, default=None)


def _with_one_more(cluster: Cluster, jobs: Trace, job: int) -> Cluster | None:
    """Return the cluster with one more of the largest servers that the job may use, behind."""
    allowed = jobs.type_sets[jobs.type_set[job]] if jobs.type_set is not None else ()
    groups = [each for each in cluster.servers if not allowed or each.gpu_type in allowed]
    if not groups:
        return None
    largest = max(groups, key=lambda group: group.gpus)
    added = msgspec.structs.replace(largest, count=1)
    return msgspec.structs.replace(cluster, servers=(*cluster.servers, added))


MOST_SAMPLES: Final = 100_000
MOST_THREADS: Final = 1024
PAIRED: Final = 200
"""An alternative is run on so many of the samples, and compared on these."""
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)


def when(
    job: int,
    state: ClusterState | Simulation,
    *,
    policy: str | Policy | None = None,
    placement: str | PlacementChoice | None = None,
    history: Trace | None = None,
    samples: int = 1000,
    quantiles: Sequence[float] | None = None,
    calibration: StartCalibration | None = None,
    arrivals: bool = True,
    alternatives: bool = True,
    seed: int = 0,
    threads: int | None = None,
) -> StartForecast:
    """Tell when a job that waits would start, and on what.

    Each sample draws for every job that waits or runs how long it takes in all, from finished jobs
    that took longer than this one has already (see
    :class:`~gpusched.deciding.start_draws.ServiceDraws`), and runs the cluster on from the state
    until the job starts. The policy is told what the state says of run times, and not what was
    drawn. What is still to be submitted is what was on days before, once more (see
    :class:`~gpusched.deciding.start_draws.ArrivalDraws`). Under policies that are told run times
    jobs are drawn by how wrong these were.

    Parameters
    ----------
    job
        A row of ``state.jobs``, or of the trace of an open run, that waits.
    state
        The cluster now, or an open run, which stays as it is.
    policy, placement
        As of :func:`decide`; default: those of the open run, else ``"fifo"`` and
        ``"consolidated"``. Objects of Python are not taken.
    history
        Finished jobs to draw from, in the order of their submission, with ``predicted_s`` if what
        was told of their run times is known. Default: those of the open run that have been
        submitted; with fewer than 20 finished of these, or with a state, nothing is drawn, and
        every job takes as long as ``state`` says: one sample.
    samples
        How many, 1 to 100,000.
    quantiles
        Which of them the forecast shows, one at least, each above 0 and at most 1. Default: those
        of the calibration, else 5, 25, 50, 75 and 95 %.
    calibration
        How earlier forecasts of this cluster came true, see
        :func:`~gpusched.deciding.start_calibration.calibrate_starts`: the quantiles that are shown
        are corrected by it. They must be its own.
    arrivals
        Whether jobs are submitted in the samples, for 28 days at most. That takes the longer the
        later the job starts, and without it jobs seem to start too early where others may pass
        them.
    alternatives
        Whether to run, on the first 200 samples, what might make it start sooner: half and a
        quarter of its GPUs for twice and four times as long, a placement that takes GPUs wherever
        they are free, and one more server like the largest that it may use.
    seed
        Of the draws.
    threads
        How many samples at a time; default: one per processor.

    Returns
    -------
    StartForecast
        Its start in every sample, quantiles, servers and alternatives.

    Raises
    ------
    ValueError
        If the job does not wait, the policy keeps more than the state from one decision to the
        next, or as :func:`decide`.
    TypeError
        If an argument has another type.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> past = gs.generate("philly", 500, load=0.9, cluster=cluster, seed=1)
    >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16], id=["runs", "waits"])
    >>> state = gs.deciding.ClusterState(
    ...     cluster, jobs, now_s=1800, start_s=[0, float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> forecast = gs.when(1, state, history=past, samples=100)
    >>> bool((forecast.start_s > state.now_s).all())
    True
    >>> gs.when(1, state).median_s
    3600.0
    """
    check_integer("samples", samples, 1, MOST_SAMPLES)
    if threads is not None:
        check_integer("threads", threads, 1, MOST_THREADS)
    parts = _parts(quantiles, calibration)
    shown = job = operator.index(job)
    past = first_us = None
    if isinstance(state, Simulation):
        run = state
        is_own = policy is None and placement is None
        policy, placement = policy or run.spec.policy, placement or run.spec.placement
        state, rows, next_us = _of_run(run, job)
        first_us = next_us if is_own else None
        job = int(np.searchsorted(rows, job))
        past = KnownPast.of_run(run, state, rows) if history is None else None
    if not isinstance(state, ClusterState):
        raise TypeError(f"state: expected a ClusterState or a Simulation, not {state!r}")
    if history is not None and not isinstance(history, Trace):
        raise TypeError(f"history: expected a Trace, not {history!r:.80}")
    check_integer("job", job, 0, len(state.jobs) - 1)
    if history is not None:
        past = KnownPast.of_log(history, state)
    if state.is_running[job]:
        raise ValueError(f"job: row {shown} runs already")
    case = Case(
        state, _named(asked(policy or "fifo")), _named(placement_seam(placement or "consolidated")),
        check_seed(seed), first_us,
    )  # fmt: skip
    if past is None:
        futures = Futures(state.jobs.service_us.reshape(1, -1))
    else:
        is_told = case.policy.has("clairvoyant") or case.policy.has("estimate")
        futures = drawn_futures(state, past, samples, seed, is_told=is_told, arrivals=arrivals)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        started = starts(pool, case, job, futures)
        others = start_alternatives(case, job, futures.head(PAIRED)) if alternatives else iter(())
        compared = tuple(
            _compared(what, started, starts(pool, other, job, drawn), state.now_s)
            for what, other, drawn in others
        )
    found = _forecast(case, job, shown, started, parts, compared, past is not None)
    if calibration is None:
        return found
    return dataclasses.replace(found, factors=calibration.factors())


def _parts(
    quantiles: Sequence[float] | None, calibration: StartCalibration | None
) -> tuple[float, ...]:
    known = QUANTILES if calibration is None else calibration.quantiles
    parts = tuple(float(part) for part in (known if quantiles is None else quantiles))
    if calibration is not None and parts != known:
        raise ValueError(f"quantiles: {parts} are not those of the calibration, {known}")
    if not parts:
        raise ValueError("quantiles: at least one is needed")
    for part in parts:
        if not 0 < part <= 1:
            raise ValueError(f"quantiles: {part} is not above 0 and at most 1")
    return parts


def _named(chosen: Chosen) -> Chosen:
    if not isinstance(chosen.native, str):
        raise TypeError(f"{chosen.label}: an object of Python cannot be asked in many threads")
    return chosen


def _of_run(run: Simulation, job: int) -> tuple[ClusterState, Int64, int]:
    """Return its state, the rows in the run of the jobs of that, and when it decides next."""
    if job not in run.state.waiting:
        raise ValueError(f"job: row {job} of the run does not wait")
    rows = np.sort(np.concatenate([run.state.waiting, run.state.running]))
    return ClusterState.of(run), rows, _core.standing_of(run._run)["next_us"]


def _seconds(started: Sequence[Started]) -> Float64:
    start_us = np.array([each.start_us for each in started], np.float64)
    found: Float64 = np.where(start_us < 0, np.inf, start_us / US_PER_S)
    return found


def _compared(what: str, base: Sequence[Started], other: Sequence[Started], now_s: float) -> Sooner:
    before, after = _seconds(base[: len(other)]), _seconds(other)
    was, is_now = (float(nearest_rank(np.sort(each), (0.5,))[0]) for each in (before, after))
    sooner = was - is_now if np.isfinite(was) and np.isfinite(is_now) else float("nan")
    return Sooner(what, is_now, sooner, float((after < before).mean()))


def _forecast(
    case: Case,
    job: int,
    shown: int,
    started: list[Started],
    parts: tuple[float, ...],
    compared: tuple[Sooner, ...],
    is_sampled: bool,
) -> StartForecast:
    found = [each for each in started if each.start_us >= 0]
    counts = Counter(server for each in found for server in each.servers).most_common()
    counts.sort(key=lambda entry: (-entry[1], entry[0]))
    return StartForecast(
        job=shown,
        id=case.state.jobs.id[job],
        now_s=case.state.now_s,
        start_s=np.sort(_seconds(started)),
        quantiles=parts,
        num_servers=np.array([len(each.servers) for each in found], np.int64),
        servers=np.array([server for server, _ in counts], np.int64),
        share=np.array([count / len(found) for _, count in counts], np.float64),
        alternatives=compared,
        is_sampled=is_sampled,
    )
