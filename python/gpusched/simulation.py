"""One run: :func:`simulate` hands the columns to the core and wraps what comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpusched import _core
from gpusched.case import job_columns
from gpusched.cluster import Cluster
from gpusched.plugins import PluginInfo, describe
from gpusched.policy import PlacementChoice, Policy
from gpusched.result import Result
from gpusched.spec import RunSpec, TraceSource
from gpusched.workload import Trace

# How often the waiting main thread looks up: Ctrl-C is heard and progress shown at about 10 Hz.
_POLL_SECONDS = 0.1


def simulate(
    trace: Trace,
    cluster: Cluster,
    *,
    policy: str | Policy | _core.Order | _core.Scheduler = "fifo",
    placement: str | PlacementChoice | _core.Placement = "consolidated",
    predictor: str = "oracle",
    seed: int = 0,
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
        What policies know of the service times: ``"oracle"`` (the truth) or ``"estimate"`` (the
        trace's estimates, which every job must have).
    seed
        Of random orders and placements, 0 to 2**64 - 1. Equal arguments give equal digests.
    progress
        Called as ``progress(jobs_done, jobs_total)`` about ten times a second.
    stop
        Ends the run early when it is set.

    Raises
    ------
    ValueError
        If a name, a parameter or a value is wrong; the message names the field and the rule.
    TypeError
        If an argument has another type.
    InvariantError
        If a policy or a placement asks for something impossible; the message names the time,
        the job and the digest of the schedule so far.
    KeyboardInterrupt
        If the run was stopped, within a second.
    """
    if not isinstance(trace, Trace):
        raise TypeError(f"trace: expected a Trace, not {trace!r}")
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise TypeError(f"seed: expected an integer, not {seed!r}")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed: {seed} must lie between 0 and 2**64 - 1")
    decides = _policy_seam(policy)
    places = _placement_seam(placement)
    jobs = _core.JobTable(
        **job_columns(trace, cluster, predictor, uses_estimates="estimate" in decides.info.flags)
    )
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type)
    control = _core.RunControl()

    def run() -> tuple[_core.Schedule, float]:
        begin = time.perf_counter()
        schedule = _core.simulate(
            jobs,
            servers,
            decides.native,
            decides.parameters,
            list(decides.info.flags),
            places.native,
            places.parameters,
            int(seed),
            control,
        )
        return schedule, time.perf_counter() - begin

    schedule, wall_s = _supervised(run, control, progress, stop, len(trace))
    spec = RunSpec(
        policy=decides.label,
        placement=places.label,
        predictor=predictor,
        seed=int(seed),
        cluster=cluster,
        trace=TraceSource.of(trace),
        version=_core.__version__,
    )
    sees_truth = predictor == "oracle" and (
        "clairvoyant" in decides.info.flags
        or ("estimate" in decides.info.flags and trace.estimate_us is None)
    )
    return Result(trace, cluster, spec, schedule, wall_s, clairvoyant=sees_truth)


@dataclass(frozen=True)
class _Chosen:
    """A seam ready for the core: a native name with parameters, or a Python object."""

    label: str
    native: Any
    parameters: dict[str, Any]
    info: PluginInfo


def _policy_seam(policy: str | Policy | _core.Order | _core.Scheduler) -> _Chosen:
    if isinstance(policy, _core.Order | _core.Scheduler):
        kind = "order" if isinstance(policy, _core.Order) else "scheduler"
        label = f"python:{type(policy).__qualname__}"
        return _Chosen(label, policy, {}, describe(type(policy), kind, label))
    choice = Policy.parse(policy) if isinstance(policy, str) else policy
    if not isinstance(choice, Policy):
        raise TypeError(
            f"policy: expected a name, a Policy, an Order or a Scheduler, not {policy!r}"
        )
    return _of_choice(choice)


def _placement_seam(placement: str | PlacementChoice | _core.Placement) -> _Chosen:
    if isinstance(placement, _core.Placement):
        label = f"python:{type(placement).__qualname__}"
        return _Chosen(label, placement, {}, describe(type(placement), "placement", label))
    choice = PlacementChoice.parse(placement) if isinstance(placement, str) else placement
    if not isinstance(choice, PlacementChoice):
        raise TypeError(f"placement: expected a name or a Placement, not {placement!r}")
    return _of_choice(choice)


def _of_choice(choice: Policy | PlacementChoice) -> _Chosen:
    values = choice.core_values()
    seam = choice.info.python_class
    if seam is None:
        return _Chosen(str(choice), choice.name, values, choice.info)
    if choice.info.kind != "order":
        return _Chosen(str(choice), seam(**values), {}, choice.info)
    added = {entry["name"] for entry in describe(seam, "scheduler", choice.name).parameters}
    own = {key: value for key, value in values.items() if key in added}
    rest = {key: value for key, value in values.items() if key not in added}
    return _Chosen(str(choice), seam(**own), rest, choice.info)


def _supervised(
    run: Callable[[], tuple[_core.Schedule, float]],
    control: _core.RunControl,
    progress: Callable[[int, int], None] | None,
    stop: threading.Event | None,
    num_jobs: int,
) -> tuple[_core.Schedule, float]:
    """Run in a thread of its own while this one listens for Ctrl-C and shows progress."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main and progress is None and stop is None:
        return run()
    with ThreadPoolExecutor(1, thread_name_prefix="gpusched-run") as pool:
        future = pool.submit(run)
        try:
            while True:
                try:
                    outcome = future.result(timeout=_POLL_SECONDS)
                    break
                except FutureTimeout:
                    if future.done():
                        raise
                if stop is not None and stop.is_set():
                    control.stop()
                if progress is not None:
                    progress(control.num_finished, num_jobs)
        except _core.Stopped:
            raise KeyboardInterrupt from None
        except BaseException:
            control.stop()
            raise
    if progress is not None:
        progress(num_jobs, num_jobs)
    return outcome
