"""One run: :func:`simulate` by its parts, :func:`run` by a specification."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING, Any

from gpusched import _core
from gpusched.base.defaults import POLICY
from gpusched.base.progress import OnProgress
from gpusched.base.run_warning import warn
from gpusched.engine.prepare import Ready, check_same, check_trace, named, untrained
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import Predictor


def simulate(
    trace: Trace,
    cluster: Cluster,
    *,
    policy: str | Policy | _core.Order | _core.Scheduler = POLICY,
    placement: str | PlacementChoice | _core.Placement = "consolidated",
    predictor: str | Predictor = "auto",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
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
        (the truth), ``"estimate"`` (the trace's estimates, which every job must have), ``"auto"``
        (these if every job has one, else the truth), one that
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
    max_intervals
        End the run with a :class:`LogLimitError` at the first instant after which its log has more
        intervals: one for each time that a job held GPUs, on however many servers. None: no limit.
        It changes nothing of a run that keeps to it, and is no part of ``spec``.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` (done, total) about ten times a
        second and once at the end, in the thread of the caller.
    stop
        Ends the run when it is set, also if that was before the call: then nothing runs. A run
        whose last instants go by while it is set ends as cancelled, too.

    Returns
    -------
    Result
        The schedule, with its metrics, its audit and its exports.

    Raises
    ------
    ValueError
        If a name, a parameter or a value is wrong; the message names the field and the rule.
    TypeError
        If an argument has another type.
    MemoryError
        If the run needs more memory than there is, before it begins; the message names both.
    InvariantError
        If a policy or a placement asks for something impossible; the message names the time,
        the job and the digest of the schedule so far.
    LogLimitError
        If the log has more intervals than ``max_intervals``; its ``result`` holds what was done.
    Cancelled
        If ``stop`` was set, within a second; it holds the jobs that had finished.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Warns
    -----
    RunWarning
        If jobs were rejected or not finished, the policy lacks what it decides by, or the run
        needs more than half of the memory that there is.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster, policy="srtf")
    >>> result.summary()["num_finished"]
    100
    """
    ready = Ready(
        trace, cluster, policy=policy, placement=placement, predictor=predictor, speed=speed,
        contention=contention, seed=seed, verify=verify, max_intervals=max_intervals,
    )  # fmt: skip
    warn(ready.remarks, stacklevel=2)
    return _told(ready.run(progress, stop))


def simulate_quietly(
    trace: Trace,
    cluster: Cluster,
    *,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
    **chosen: Any,
) -> Result:
    """Do as :func:`simulate`, without its warnings: for who tells them, or knows of them."""
    return Ready(trace, cluster, **chosen).run(progress, stop)


def run(
    spec: RunSpec,
    trace: Trace,
    *,
    policy: Policy | _core.Order | _core.Scheduler | None = None,
    placement: PlacementChoice | _core.Placement | None = None,
    predictor: Predictor | None = None,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Run a specification again, on the jobs that it was made with: the digest is the same.

    Parameters
    ----------
    spec
        A result's ``spec``, or one that :meth:`RunSpec.from_toml` or ``from_json`` read.
    trace
        Its jobs, which a specification knows by their SHA-256 only.
    policy, placement, predictor
        What it cannot name: objects written in Python, and predictors that were trained.
    verify, max_intervals, progress, stop
        As for :func:`gpusched.simulate`.

    Returns
    -------
    Result
        With the digest of the run that the specification is of.

    Raises
    ------
    ValueError
        If the trace is another, a Python object is missing or has other code or another state
        than the one of the specification, or as :func:`gpusched.simulate`.
    TypeError
        If an argument has another type.
    Cancelled, InvariantError, LogLimitError, KeyboardInterrupt
        As :func:`gpusched.simulate`.

    Warns
    -----
    UserWarning
        If the specification is of another version of gpusched, whose schedule may differ; a
        RunWarning as :func:`gpusched.simulate`.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster, policy="srtf")
    >>> gs.run(result.spec, trace).digest == result.digest
    True
    """
    if not isinstance(spec, RunSpec):
        raise TypeError(f"spec: expected a RunSpec, not {spec!r}")
    if not isinstance(trace, Trace):
        raise TypeError(f"trace: expected a Trace, not {trace!r}")
    check_trace(spec, trace)
    ready = Ready(
        trace,
        spec.cluster,
        policy=policy if policy is not None else named("policy", spec.policy),
        placement=placement if placement is not None else named("placement", spec.placement),
        predictor=predictor if predictor is not None else untrained(spec.predictor),
        speed=spec.speed,
        contention=spec.contention,
        seed=spec.seed,
        verify=verify,
        max_intervals=max_intervals,
    )
    if spec.version != ready.spec.version:
        warnings.warn(
            f"the specification is of gpusched {spec.version} and this is {ready.spec.version}: "
            "the schedule may differ",
            stacklevel=2,
        )
    check_same(spec, ready.spec)
    warn(ready.remarks, stacklevel=2)
    return _told(ready.run(progress, stop))


def _told(result: Result) -> Result:
    """Warn of what the result has to say, in the name of who called for it."""
    warn([*unserved(result), *result.warnings], stacklevel=3)
    return result
