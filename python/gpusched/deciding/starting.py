"""When a job that waits starts: :func:`when`."""

from __future__ import annotations

import dataclasses
import operator
import os
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np

from gpusched import _core
from gpusched.base.arrays import Float64, Int64
from gpusched.base.draws import check_seed
from gpusched.base.field_checks import check_integer
from gpusched.base.ticks import US_PER_S
from gpusched.deciding.asked_run import asked
from gpusched.deciding.cluster_state import ClusterState
from gpusched.deciding.known_past import KnownPast
from gpusched.deciding.start_alternatives import start_alternatives
from gpusched.deciding.start_forecast import Sooner, StartForecast, nearest_rank
from gpusched.deciding.start_record import StartCalibration
from gpusched.deciding.start_samples import Case, Futures, Started, drawn_futures, starts
from gpusched.engine.open_run import Simulation
from gpusched.engine.seams import Chosen, placement_seam
from gpusched.plugins.policy import PlacementChoice, Policy
from gpusched.traces.workload import Trace

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
    :class:`~gpusched.deciding.service_draws.ServiceDraws`), and runs the cluster on from the state
    until the job starts. The policy is told what the state says of run times, and not what was
    drawn. What is still to be submitted is what was on days before, once more (see
    :class:`~gpusched.deciding.arrival_draws.ArrivalDraws`). Under policies that are told run times
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
