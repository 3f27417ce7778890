"""One run: :func:`simulate` hands the columns to the core and wraps what comes back."""

from __future__ import annotations

import copyreg
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from gpusched import _core
from gpusched.base.arrays import Int64
from gpusched.base.draws import check_seed
from gpusched.base.supervision import supervised
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import placement_seam, policy_seam, speed_seam
from gpusched.plugins.identity import identify
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.schedules.schedule import Schedule, StoredSchedule
from gpusched.specs.case import PREDICTORS, job_columns
from gpusched.specs.run_spec import RunSpec, TraceSource
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import PredictionReport, Predictor


def _as_arrays(schedule: _core.Schedule) -> Any:
    return partial(StoredSchedule, **vars(StoredSchedule.of(schedule))), ()


# The core's own object is of this process; others get its arrays.
copyreg.pickle(_core.Schedule, _as_arrays)


def simulate(
    trace: Trace,
    cluster: Cluster,
    *,
    policy: str | Policy | _core.Order | _core.Scheduler = "fifo",
    placement: str | PlacementChoice | _core.Placement = "consolidated",
    predictor: str | Predictor = "oracle",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    verify: bool = False,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Replay ``trace`` on ``cluster`` under ``policy``.

    Parameters
    ----------
    policy
        A name listed by :func:`gpusched.policies`, a text such as ``"2d-las:preset=lucid"``, a
        :class:`gpusched.Policy`, or an instance of a Python :class:`gpusched.Order` or
        :class:`gpusched.Scheduler`.
    placement
        A name listed by :func:`gpusched.placements`, with parameters in the same way, or an
        instance of a Python :class:`gpusched.Placement`.
    predictor
        What policies know of the service times, see :func:`gpusched.predictors`: ``"oracle"``
        (the truth), ``"estimate"`` (the trace's estimates, which every job must have), one that
        learns from the jobs that have finished in this run such as ``"forest:trees=50"``, or a
        :class:`gpusched.Predictor`.
    speed
        How long a job takes where it runs, see :func:`gpusched.speeds`: ``"fixed"`` (for its
        service, anywhere) or a model of its iterations, such as ``"ring"``, which needs profiles
        in the trace and bandwidths in the cluster, or ``"stages"``, which needs graphs. None is
        ``"fixed"``, or if a contention is asked for the one that the trace is made for.
    contention
        How jobs that use one link share it, see :func:`gpusched.contentions`.
    seed
        Of random orders and placements, 0 to 2**64 - 1. Equal arguments give equal digests.
    verify
        Have the core compute all rates anew after each instant and compare them to the last bit
        with those it keeps: slow, for finding faults. Rates exist under other speeds than
        ``"fixed"``.
    progress
        Called as ``progress(jobs_done, jobs_total)`` about ten times a second.
    stop
        Ends the run when it is set, also if that was before the call: then nothing runs. A run
        whose last instants go by while it is set ends as cancelled, too.

    Raises
    ------
    ValueError
        If a name, a parameter or a value is wrong; the message names the field and the rule.
    TypeError
        If an argument has another type.
    InvariantError
        If a policy or a placement asks for something impossible; the message names the time,
        the job and the digest of the schedule so far.
    Cancelled
        If ``stop`` was set, within a second; it tells how many jobs had finished.
    KeyboardInterrupt
        On Ctrl-C, within a second.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"trace: expected a Trace, not {trace!r}")
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    seed = check_seed(seed)
    decides = policy_seam(policy)
    places = placement_seam(placement)
    paces, shares = speed_seam(trace, speed, contention)
    learner = _learner(predictor)
    learns = None if learner is None else identify("predictor", learner)
    columns = job_columns(
        trace,
        cluster,
        "oracle" if learner is not None else str(predictor),
        uses_estimates=decides.has("estimate"),
        speed=paces.name,
        fills_estimates=learner is None,
    )
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())
    control = _core.RunControl()

    def make_run(predicted_us: Int64 | None = None) -> _core.Run:
        if predicted_us is not None:
            columns["predicted_us"] = predicted_us
        # Nothing of this call holds it: a plug-in that keeps its error, and so these frames, would
        # never be freed.
        description = _core.RunDescription(
            policy=decides.native,
            policy_values=decides.parameters,
            policy_flags=list(decides.flags),
            placement=places.native,
            placement_values=places.parameters,
            speed=paces.name,
            speed_values=paces.core_values(),
            contention=shares.name,
            contention_values=shares.core_values(),
            seed=seed,
            verify=verify,
        )
        return _core.Run(_core.JobTable(**columns), servers, description, control)

    def run() -> tuple[Schedule, float, PredictionReport | None]:
        begin = time.perf_counter()
        if learner is None:
            return make_run().finish(), time.perf_counter() - begin, None
        from gpusched.prediction import run_online

        schedule, report = run_online(
            make_run, trace, learner, seed=seed, estimate_us=columns.get("estimate_us")
        )
        return schedule, time.perf_counter() - begin, report

    schedule, wall_s, report = supervised(run, control, progress, stop, len(trace))
    spec = RunSpec(
        policy=decides.label,
        placement=places.label,
        predictor=str(predictor) if learner is None else learner.label,
        seed=seed,
        cluster=cluster,
        trace=TraceSource.of(trace),
        version=_core.__version__,
        speed=str(paces),
        contention=str(shares),
        python=tuple(
            known for known in (decides.python, places.python, learns) if known is not None
        ),
    )
    is_true = learner.needs_truth if learner is not None else spec.predictor == "oracle"
    sees_truth = is_true and (
        decides.has("clairvoyant") or (decides.has("estimate") and trace.estimate_us is None)
    )
    return Result(trace, cluster, spec, schedule, wall_s, clairvoyant=sees_truth, prediction=report)


def _learner(predictor: str | Predictor) -> Predictor | None:
    """Return what predicts in the course of the run; None if that is known beforehand."""
    if isinstance(predictor, str) and predictor in PREDICTORS:
        return None
    from gpusched.prediction import resolve

    return resolve(predictor)
