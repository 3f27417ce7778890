"""One run: :func:`simulate` by its parts, :func:`run` by a specification."""

from __future__ import annotations

import threading
import warnings
from typing import TYPE_CHECKING

import msgspec

from gpusched import _core
from gpusched.base.progress import OnProgress
from gpusched.base.run_warning import warn
from gpusched.clusters.cluster import Cluster
from gpusched.engine.ready_run import Ready
from gpusched.plugins.identity import PythonObject
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.results.run_remarks import unserved
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.prediction import Predictor


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
    InvariantError
        If a policy or a placement asks for something impossible; the message names the time,
        the job and the digest of the schedule so far.
    Cancelled
        If ``stop`` was set, within a second; it holds the jobs that had finished.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Warns
    -----
    RunWarning
        If jobs were rejected or not finished, or the policy lacks what it decides by.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> result = gs.simulate(trace, cluster, policy="srtf")
    >>> result.summary()["num_finished"]
    100
    """
    ready = Ready(
        trace, cluster, policy, placement, predictor, speed, contention, seed=seed, verify=verify
    )
    return _told(ready.run(progress, stop))


def simulate_quietly(
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
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Result:
    """Do as :func:`simulate`, without its warnings: for who tells them, or knows of them."""
    ready = Ready(
        trace, cluster, policy, placement, predictor, speed, contention, seed=seed, verify=verify
    )
    return ready.run(progress, stop)


def run(
    spec: RunSpec,
    trace: Trace,
    *,
    policy: Policy | _core.Order | _core.Scheduler | None = None,
    placement: PlacementChoice | _core.Placement | None = None,
    predictor: Predictor | None = None,
    verify: bool = False,
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
    verify, progress, stop
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
    Cancelled, InvariantError, KeyboardInterrupt
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
    _check_trace(spec, trace)
    ready = Ready(
        trace,
        spec.cluster,
        policy if policy is not None else _named("policy", spec.policy),
        placement if placement is not None else _named("placement", spec.placement),
        predictor if predictor is not None else _untrained(spec.predictor),
        spec.speed,
        spec.contention,
        seed=spec.seed,
        verify=verify,
    )
    _check_same(spec, ready.spec)
    return _told(ready.run(progress, stop))


def _told(result: Result) -> Result:
    """Warn of what the result has to say, in the name of who called for it."""
    warn([*unserved(result), *result.warnings], stacklevel=3)
    return result


def _check_trace(spec: RunSpec, trace: Trace) -> None:
    found, wanted = fingerprint(trace), spec.trace
    if found != wanted.sha256:
        raise ValueError(
            f"trace: {trace.name} ({len(trace):,} jobs, SHA-256 {found[:12]}...) is not what the "
            f"specification ran on: {wanted.name} ({wanted.num_jobs:,} jobs, SHA-256 "
            f"{wanted.sha256[:12]}..., from {wanted.source})"
        )


def _named(role: str, text: str) -> str:
    if text.startswith("python:"):
        raise ValueError(
            f"{role}: {text} was an object written in Python; give one like it as {role}="
        )
    return text


def _untrained(text: str) -> str:
    if "@" in text:
        raise ValueError(
            f"predictor: {text} had been trained; give it, from load_predictor, as predictor="
        )
    return text


def _check_same(spec: RunSpec, ready: RunSpec) -> None:
    """Compare all that decides the schedule; the trace has been."""
    if spec.version != ready.version:
        warnings.warn(
            f"the specification is of gpusched {spec.version} and this is {ready.version}: the "
            "schedule may differ",
            stacklevel=3,
        )
    for name in ("policy", "placement", "predictor", "speed", "contention"):
        wanted, found = getattr(spec, name), getattr(ready, name)
        if wanted != found:
            raise ValueError(f"{name}: {found} is not that of the specification: {wanted}")
    known = {thing.role: thing for thing in ready.python}
    for wanted in spec.python:
        _check_object(wanted, known.pop(wanted.role, None))
    for thing in known.values():
        raise ValueError(f"{thing.role}: {thing.name} is not in the specification")


def _check_object(wanted: PythonObject, found: PythonObject | None) -> None:
    name = f"{wanted.module}.{wanted.name}"
    if found is None:
        raise ValueError(f"{wanted.role}: the specification has {name}, which is not given")
    if wanted.unreadable:
        raise ValueError(f"{wanted.role}: {name} cannot be told from others ({wanted.unreadable})")
    for field in msgspec.structs.fields(wanted):
        if getattr(wanted, field.name) != getattr(found, field.name):
            raise ValueError(
                f"{wanted.role}: {found.module}.{found.name} differs from the specification's "
                f"{name} in {field.name}"
            )
