"""Simulate one run: :func:`simulate` by arguments, :func:`run` by a specification."""

from __future__ import annotations

import threading
import warnings
from typing import Any

from gpusched import _core
from gpusched.base.defaults import POLICY
from gpusched.base.progress import OnProgress
from gpusched.base.run_warning import warn
from gpusched.engine.prepare import (
    Ready,
    check_outages,
    check_same,
    check_trace,
    named,
    untrained,
)
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.prediction import Predictor
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace


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
    outages: Outages | None = None,
    kill_invalid_depend: bool = False,
    priority_age_s: float | None = None,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Simulate a trace under one policy.

    Parameters
    ----------
    policy
        A name listed by :func:`gpusched.policies`, a string such as ``"2d-las:preset=lucid"``, a
        :class:`gpusched.Policy`, or an instance of a Python :class:`gpusched.Order` or
        :class:`gpusched.Scheduler`.
    placement
        A name listed by :func:`gpusched.placements`, with parameters in the same way, or an
        instance of a Python :class:`gpusched.Placement`.
    predictor
        Source of the run times that policies see, see :func:`gpusched.predictors`: ``"oracle"``
        (true run times), ``"estimate"`` (the trace's estimates, which every job must have),
        ``"auto"`` (estimates if every job has one, else true run times), one that learns from the
        jobs finished in this run such as ``"forest:trees=50"``, or a :class:`gpusched.Predictor`.
    speed
        Performance model, see :func:`gpusched.speeds`: ``"fixed"`` (a job takes its service
        anywhere), ``"ring"``, which needs profiles in the trace and bandwidths in the cluster, or
        ``"stages"``, which needs graphs, and others. None is ``"fixed"``, or with a contention the
        model that the trace has data for.
    contention
        How jobs share a link, see :func:`gpusched.contentions`.
    seed
        Seed of random orders and placements, 0 to 2**64 - 1. Equal arguments give equal digests.
    outages
        When servers fail, are drained or maintained, see :func:`gpusched.read_outages` and
        :func:`gpusched.generate_outages`. A job on a server that fails ends its run and waits
        again; it goes on from its last checkpoint (``checkpoint_every_s`` of the trace), else from
        the start. None: never.
    kill_invalid_depend
        Whether to cancel jobs whose ``dependency`` can never be met; else they stay held.
    priority_age_s
        The wait since the submission, in seconds, that is worth one point of ``priority``; more
        than 0. None: priorities are strict.
    verify
        Let the core recompute all rates after each instant and compare them bit by bit with its
        own: slow, for finding faults. Only speeds other than ``"fixed"`` have rates.
    max_intervals
        Stop the run with a :class:`LogLimitError` at the first instant after which its log has more
        intervals: one for each time a job held GPUs, on any number of servers. None: no limit. It
        does not change a run within the limit, and is not part of ``spec``.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` (done, total) about ten times a
        second and once at the end, in the caller's thread.
    stop
        Stops the run when it is set, even before the call. A run whose last instants are processed
        while it is set counts as cancelled, too.

    Returns
    -------
    Result
        The schedule, with its metrics, its audit and its exports.

    Raises
    ------
    ValueError
        If a name, a parameter or a value is invalid; the message names the field and the rule.
    TypeError
        If an argument has the wrong type.
    MemoryError
        If the run needs more memory than is available, before it starts; the message names both.
    InvariantError
        If a policy or a placement requests something impossible; the message names the time,
        the job and the digest of the schedule so far.
    LogLimitError
        If the log has more intervals than ``max_intervals``; its ``result`` is the part done.
    Cancelled
        If ``stop`` was set, within a second; it holds the jobs that had finished.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Warns
    -----
    RunWarning
        If jobs were rejected or not finished, the policy lacks the data it needs, or the run needs
        more than half of the available memory.

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
        contention=contention, seed=seed, outages=outages,
        kill_invalid_depend=kill_invalid_depend, priority_age_s=priority_age_s, verify=verify,
        max_intervals=max_intervals,
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
    """Do as :func:`simulate` without its warnings, for callers that report or suppress them."""
    return Ready(trace, cluster, **chosen).run(progress, stop)


def run(
    spec: RunSpec,
    trace: Trace,
    *,
    policy: Policy | _core.Order | _core.Scheduler | None = None,
    placement: PlacementChoice | _core.Placement | None = None,
    predictor: Predictor | None = None,
    outages: Outages | None = None,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Run a specification again, on its original jobs, for the same digest.

    Parameters
    ----------
    spec
        A result's ``spec``, or one read by :meth:`RunSpec.from_toml` or ``from_json``.
    trace
        Its jobs; the specification only has their SHA-256.
    policy, placement, predictor
        Objects that it cannot name: those written in Python, and trained predictors.
    outages
        Its outages; the specification only has their SHA-256.
    verify, max_intervals, progress, stop
        As for :func:`gpusched.simulate`.

    Returns
    -------
    Result
        With the digest of the original run.

    Raises
    ------
    ValueError
        If the trace or the outages differ, a Python object is missing or differs in code or state
        from the one in the specification, or as for :func:`gpusched.simulate`.
    TypeError
        If an argument has the wrong type.
    Cancelled, InvariantError, LogLimitError, KeyboardInterrupt
        As :func:`gpusched.simulate`.

    Warns
    -----
    UserWarning
        If the specification is from another version of gpusched, whose schedule may differ; a
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
    check_outages(spec, outages)
    ready = Ready(
        trace,
        spec.cluster,
        policy=policy if policy is not None else named("policy", spec.policy),
        placement=placement if placement is not None else named("placement", spec.placement),
        predictor=predictor if predictor is not None else untrained(spec.predictor),
        speed=spec.speed,
        contention=spec.contention,
        seed=spec.seed,
        outages=outages,
        kill_invalid_depend=bool(spec.kill_invalid_depend),
        priority_age_s=spec.priority_age_s or None,
        verify=verify,
        max_intervals=max_intervals,
    )
    if spec.version != ready.spec.version:
        warnings.warn(
            f"the specification is from gpusched {spec.version}, but this is {ready.spec.version}: "
            "the schedule may differ",
            stacklevel=2,
        )
    check_same(spec, ready.spec)
    warn(ready.remarks, stacklevel=2)
    return _told(ready.run(progress, stop))


def _told(result: Result) -> Result:
    """Raise the warnings of the result, attributed to the caller."""
    warn([*unserved(result), *result.warnings], stacklevel=3)
    return result
