"""Convert run times to the GPU types of a cluster: relative speeds, and reference types."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import Float64, Int64, read_only
from gpusched.base.labels import Labels
from gpusched.base.memo import Memo
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SERVICE_US
from gpusched.base.wording import plural
from gpusched.engine.seams import speed_seam
from gpusched.model.cluster import Cluster
from gpusched.model.profiles import JobProfile, filled_table
from gpusched.plugins.policy import ContentionChoice, SpeedChoice
from gpusched.specs.case import iteration_limits
from gpusched.traces.checked_columns import NOT_GIVEN, check_horizon
from gpusched.traces.model_columns import RELATIVE, without_mark
from gpusched.traces.workload import Trace

_TABLE: Final = "table"
_CLOSE: Final = 1e-9
_RUN_TIMES: Final = ("service_us", "estimate_us", "predicted_us")


def restate_services(
    trace: Trace,
    cluster: Cluster,
    speed: str | SpeedChoice | None,
    contention: str | ContentionChoice,
) -> tuple[Trace, SpeedChoice, ContentionChoice]:
    """Return the jobs, the speed and the contention of a run.

    A speed that reads throughputs takes a service as the run time on the fastest types that a job
    may use. Services, estimates and predictions for other types are converted; converting again
    changes nothing. Jobs without profiles get some with the speeds of the cluster's types, at the
    jobs' own numbers of GPUs.
    """
    paces, shares = speed_seam(trace, speed, contention)
    is_open = speed is None and paces.has("steady")
    restate: Callable[[Trace, Cluster], Trace] | None = None
    if goes_by_speeds(trace, cluster) and (is_open or paces.has("throughputs")):
        restate, paces = _by_speeds, SpeedChoice.parse(_TABLE)
    elif trace.reference_type and trace.profile is not None and paces.has("throughputs"):
        restate = _by_throughputs
    if restate is None:
        return trace, paces, shares
    return _restated_traces.of(trace, cluster, lambda: restate(trace, cluster)), paces, shares


_restated_traces: Memo[Trace, Trace] = Memo(4)


def goes_by_speeds(trace: Trace, cluster: Cluster) -> bool:
    """Whether jobs run at the speeds of the cluster's types, as no other speed is named."""
    return cluster.has_speeds and trace.profile is None and trace.graph is None


def say_run_times(trace: Trace, cluster: Cluster) -> list[str]:
    """Report which GPU types the run times are assumed for, if it affects the schedule."""
    if not goes_by_speeds(trace, cluster):
        return []
    if trace.reference_type is not None:
        return [f"run times: those on {trace.reference_type}, as declared"]
    own, ran = _own_types(trace), _types_ran_on(trace)
    is_there = np.isin(ran, cluster.gpu_types)
    of = {
        "the type used": is_there,
        "the only type allowed": ~is_there & (own != ""),
        "a GPU of speed 1": ~is_there & (own == ""),
    }
    counts = {where: int(np.count_nonzero(jobs)) for where, jobs in of.items() if jobs.any()}
    each = [
        f"on {where}" + (f" ({plural(count, 'job')})" if len(counts) > 1 else "")
        for where, count in counts.items()
    ]
    return [f"run times assumed: {', '.join(each)}"]


def restate_for_types(trace: Trace, speeds: Mapping[str, float], types: Sequence[str]) -> Trace:
    """Convert run times to clusters of ``types`` alone, with ``speeds`` relative to one."""
    ran = _types_ran_on(trace)
    is_gone = ~np.isin(ran, ["", *types])
    if not is_gone.any():
        return trace
    rates = _speeds_of(ran, speeds) / _speeds_of(_own_types(trace), speeds)
    left = Labels.of(np.where(is_gone, "", ran))
    return _times(dataclasses.replace(trace, ran_on=left), np.where(is_gone, rates, 1.0))


def _own_types(trace: Trace) -> Any:
    """Return the only type that each job may use; empty if there are several."""
    if trace.type_set is None:
        return np.full(len(trace), "")
    return np.array([names[0] if len(names) == 1 else "" for names in trace.type_sets])[
        trace.type_set
    ]


def _types_ran_on(trace: Trace) -> Any:
    if trace.ran_on is None:
        return np.full(len(trace), "")
    return np.array(trace.ran_on.names)[trace.ran_on.codes]


def _speeds_of(types: Any, speeds: Mapping[str, float]) -> Float64:
    names, place = np.unique(types, return_inverse=True)
    return np.array([speeds.get(str(name), 1.0) for name in names])[place.reshape(-1)]


def _by_speeds(trace: Trace, cluster: Cluster) -> Trace:
    speeds = cluster.speeds
    ran = _types_ran_on(trace)
    known = np.where(np.isin(ran, cluster.gpu_types), ran, _own_types(trace))
    rates = _speeds_of(known, speeds)
    if trace.reference_type is not None:
        if trace.reference_type not in speeds:
            known = nearest(trace.reference_type, cluster.gpu_types)
            raise ValueError(
                f"reference_type: the cluster has no {trace.reference_type!r}, so its speed is "
                f"unknown; name a type of the cluster, or none and speeds relative to it{known}"
            )
        rates[:] = speeds[trace.reference_type]
    # A profile has figures for one number of GPUs; jobs with another number are rejected.
    widths, profile = np.unique(np.minimum(trace.gpus, cluster.num_gpus), return_inverse=True)
    profiles = tuple(
        JobProfile(
            f"{width} GPUs",
            throughput={name: {width: speed} for name, speed in speeds.items()},
            source=RELATIVE,
        )
        for width in widths.tolist()
    )
    given = read_only(profile.reshape(-1).astype(np.int32))
    return _restated(dataclasses.replace(trace, profiles=profiles, profile=given), cluster, rates)


def _by_throughputs(trace: Trace, cluster: Cluster) -> Trace:
    reference = trace.reference_type
    assert reference is not None
    assert trace.profile is not None
    pairs = np.column_stack([trace.profile, trace.gpus])
    kinds, of_job = np.unique(pairs, axis=0, return_inverse=True)
    tables = [trace.profiles[profile].throughput for profile, _ in kinds.tolist()]
    known = [
        filled_table({reference: table[reference]}, [width])[reference][width]
        if reference in table else 0.0
        for table, (_, width) in zip(tables, kinds.tolist(), strict=True)
    ]  # fmt: skip
    if not any(known):
        there = list(dict.fromkeys(name for table in tables for name in table))
        raise ValueError(
            f"reference_type: no job has a throughput for {reference!r}{nearest(reference, there)}"
        )
    return _restated(trace, cluster, np.array(known)[of_job.reshape(-1)])


def _restated(trace: Trace, cluster: Cluster, rates: Float64) -> Trace:
    """Convert run times at ``rates`` to those at the best rate that each job can have.

    Jobs without a rate, and those that cannot run, stay unchanged.
    """
    low_s = iteration_limits(trace, cluster, speed=_TABLE)["low"]
    made = _times(trace, rates * np.where(np.isfinite(low_s), low_s, 0.0))
    unknown = int(np.count_nonzero(rates == 0))
    stated_on = trace.reference_type or "GPUs of speed 1"
    left = f", except {plural(unknown, 'job')} without a figure there" if unknown else ""
    source = f"{without_mark(trace.source)}; run times restated from those on {stated_on}{left}"
    return dataclasses.replace(made, reference_type=None, ran_on=None, source=source)


def _times(trace: Trace, factor: Float64) -> Trace:
    """Scale the run times of each job by its factor; invalid factors count as 1."""
    factor = np.where((factor > 0) & (np.abs(factor - 1) > _CLOSE), factor, 1.0)
    changes: dict[str, Any] = {}
    for name in _RUN_TIMES:
        values: Int64 | None = getattr(trace, name)
        if values is not None:
            # A factor of 1 preserves even values that a double cannot hold.
            times = np.maximum(np.rint(np.minimum(values * factor, 2.0**62)), 1).astype(np.int64)
            is_same = (factor == 1) | (values == NOT_GIVEN)
            changes[name] = read_only(np.where(is_same, values, times))
    if int(changes["service_us"].max()) > MAX_SERVICE_US:
        raise ValueError(f"{trace.name}: on the types of the cluster a job runs beyond 2^53 us")
    check_horizon(trace.name, trace.submit_us, changes["service_us"])
    return dataclasses.replace(trace, **changes)
