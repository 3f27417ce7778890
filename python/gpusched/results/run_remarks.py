"""Warnings of a run: missing inputs, ignored settings, unserved jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.model.profiles import greatest_count
from gpusched.plugins.info import POLICY_KINDS
from gpusched.plugins.registry import has_flag_of, registered
from gpusched.prediction.registry import predicts_by
from gpusched.schedules.schedule import (
    FAILED,
    FINISHED,
    KILLED,
    REJECT_REASONS,
    REJECTED,
    STATUSES,
    UNFINISHED,
    UNKNOWN_TO_SPEED,
)
from gpusched.traces.job_columns import precedence_of
from gpusched.traces.model_columns import RELATIVE, misread_services

if TYPE_CHECKING:
    from gpusched.base.arrays import Int64
    from gpusched.model.cluster import Cluster
    from gpusched.results.cost import RunLog
    from gpusched.traces.workload import Trace

_WHY: Final = {KILLED: " at the time limit", FAILED: " after too many interruptions"}
_RESTART: Final = "a restart costs"
_NOTHING: Final = "nothing"
_HINT: Final = " (the trace states no cost: --restart TIME, or a column restart_s)"


def of_run(result: RunLog) -> list[str]:
    """Return a result's warnings on missing, misread and ignored inputs."""
    return [
        *lacking(result.trace, result.spec.policy, result.spec.predictor),
        *unranked(result),
        *misread(result),
        *unread_types(result.trace, result.cluster, result.spec.speed),
    ]


def lacking(trace: Trace, policy: str, predictor: str) -> list[str]:
    """Warn about columns that the policy needs and the trace does not have."""
    known = registered(*POLICY_KINDS).get(policy.partition(":")[0])
    if known is None:
        return []
    lines = []
    if known.has("deadlines"):
        lines += _missing(trace.deadline_us, len(trace), known.name, "deadline", "deadlines", "")
    if known.has("estimate") and not predicts_by(predictor, "estimate_us"):
        is_true = predicts_by(predictor, "service_us")
        used = f"true run times ({predictor})" if is_true else f"predictor {predictor}"
        instead = f"; using {used} instead"
        lines += _missing(
            trace.estimate_us, len(trace), known.name, "estimate", "run-time estimates", instead
        )
    return lines


def unranked(result: RunLog) -> list[str]:
    """Warn about a policy that does not look at the priorities of the jobs."""
    if _looks_at_priorities(result) or not _has_priorities(result):
        return []
    return [f"policy={result.spec.policy} does not use priorities"]


def goes_by_priority(result: RunLog) -> bool:
    """Whether the policy ordered jobs of different priorities by them."""
    return _looks_at_priorities(result) and _has_priorities(result)


def _looks_at_priorities(result: RunLog) -> bool:
    known = registered(*POLICY_KINDS).get(result.spec.policy.partition(":")[0])
    return known is None or known.has("priorities")  # who gives an object of their own knows


def _has_priorities(result: RunLog) -> bool:
    return precedence_of(result.trace, result.spec.priority_age_s or None) is not None


def misread(result: RunLog) -> list[str]:
    """Warn if the performance model reads run times differently than the trace states."""
    if not has_flag_of("speed", result.spec.speed, "throughputs"):
        return []
    return misread_services(result.trace, result.cluster)


def unread_types(trace: Trace, cluster: Cluster, speed: str) -> list[str]:
    """Warn if GPU types count as equally fast although jobs may choose, or speeds are given."""
    types = cluster.gpu_types
    if cluster.has_speeds and not any(profile.source == RELATIVE for profile in trace.profiles):
        return [f"speed {speed} ignores the speeds of the cluster's GPU types"]
    if len(types) < 2 or not has_flag_of("speed", speed, "steady"):
        return []
    sets = trace.type_sets if trace.type_set is not None else ((),)
    may_choose = np.array([len({*types} & {*(names or types)}) > 1 for names in sets])
    free = may_choose[0] if trace.type_set is None else may_choose[trace.type_set]
    num_free = int(np.count_nonzero(np.broadcast_to(free, len(trace))))
    if not num_free:
        return []
    return [
        f"{', '.join(types)} count as equally fast for {plural(num_free, 'job')} that may run on "
        "several; set the types' speeds (speed = ... in the cluster, --type-speeds) or "
        "--throughputs"
    ]


def unserved(result: RunLog) -> list[str]:
    """Return lines such as ``12 jobs rejected: needs more GPUs than the cluster has``."""
    status = np.asarray(result.schedule.status)
    if not np.count_nonzero(status != FINISHED):
        return []
    lines = []
    if np.any(status == REJECTED):
        counts = np.bincount(result.schedule.reason, minlength=len(REJECT_REASONS)).tolist()
        reasons = zip(counts, REJECT_REASONS, strict=True)
        lines = [
            f"{plural(count, 'job')} rejected: {why}{_widths_unknown(result, code)}"
            for code, (count, why) in enumerate(reasons)
            if count and why
        ]
    for code in range(UNFINISHED, len(STATUSES)):
        if count := int(np.count_nonzero(status == code)):
            what = f"{STATUSES[code]}{_WHY.get(code, '')}"
            lines.append(f"{plural(count, 'job')} {what}, left out of the job metrics")
    return lines


def _widths_unknown(result: RunLog, code: int) -> str:
    """Describe the sizes of jobs that the speed cannot run, and where its tables end."""
    trace = result.trace
    ends = [greatest_count(known.throughput) for known in trace.profiles if known.throughput]
    if REJECT_REASONS[code] != UNKNOWN_TO_SPEED or not ends:
        return ""
    gpus = trace.gpus[np.asarray(result.schedule.reason) == code]
    widths = " to ".join(dict.fromkeys(f"{end:,}" for end in (gpus.min(), gpus.max())))
    return f" (of {widths} GPUs; throughputs end at {max(ends):,}, see Throughputs.extended)"


def restart_costs(results: Mapping[str, RunLog]) -> list[str]:
    """Describe the restart costs of runs whose jobs restart; empty if none does."""
    costs: dict[str, list[str]] = {}
    for label, result in results.items():
        if _restarts(result):
            costs.setdefault(_restart_cost(result), []).append(label)
    if not costs:
        return []
    told = "; ".join(f"{cost} under {', '.join(labels)}" for cost, labels in costs.items())
    return [f"{_RESTART} {told}{_HINT if _NOTHING in costs else ''}"]


def free_restarts(result: RunLog) -> list[str]:
    """Warn if jobs of the run restart without restart costs."""
    own = result.trace.restart_us
    if own is not None and own.any():  # so the rules of the policy need not be loaded
        return []
    if _restarts(result) and _restart_cost(result) == _NOTHING:
        return [f"{_RESTART} {_NOTHING}{_HINT}"]
    return []


def _restarts(result: RunLog) -> bool:
    schedule = result.schedule
    return bool(np.any(schedule.preemptions) or np.any(schedule.failures))


def _restart_cost(result: RunLog) -> str:
    from gpusched.audit.declarations import RestartRule

    cost, trace = RestartRule.of(result.spec.policy).cost_us, result.trace
    cost_s = cost(trace, np.arange(len(trace)), trace.gpus.astype(np.int64)) / US_PER_S
    said = dict.fromkeys(duration(end) for end in (cost_s.min(), cost_s.max()))
    return " to ".join(said) if cost_s.any() else _NOTHING


def shared(lines: Mapping[str, Sequence[str]]) -> list[str]:
    """Merge equal lines; prefix each with its policies unless it applies to all."""
    holders: dict[str, list[str]] = {}
    for label, texts in lines.items():
        for text in texts:
            holders.setdefault(text, []).append(label)
    return [
        text
        if len(labels) == len(lines)
        or text.startswith((f"{labels[0].partition(':')[0]} ", f"policy={labels[0]} "))
        else f"{', '.join(labels)}: {text}"
        for text, labels in holders.items()
    ]


def of_results(results: Mapping[str, RunLog]) -> list[str]:
    """Return the warnings of several results, and their rejected or unfinished jobs."""
    lines = shared({label: unserved(result) for label, result in results.items()})
    return lines + shared({label: list(result.warnings) for label, result in results.items()})


def _missing(
    column: Int64 | None, num_jobs: int, policy: str, one: str, all_of_them: str, instead: str
) -> list[str]:
    """Return the warning for a column that is missing for some or all jobs."""
    num_there = 0 if column is None else int(np.count_nonzero(np.asarray(column) >= 0))
    if num_there == num_jobs:
        return []
    if num_there == 0:
        return [f"{policy} needs {all_of_them}, but no job has one{instead}"]
    if not instead:  # some jobs may have no deadline
        return []
    num_missing = num_jobs - num_there
    has = "has" if num_missing == 1 else "have"
    return [
        f"{policy} needs {all_of_them}, but {plural(num_missing, 'job')} {has} no {one}{instead}"
    ]
