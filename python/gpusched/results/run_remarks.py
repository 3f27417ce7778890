"""What a run lacks or leaves out, one sentence each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.plugins.info import POLICY_KINDS
from gpusched.plugins.registry import has_flag_of, registered
from gpusched.prediction.registry import predicts_by
from gpusched.schedules.schedule import FINISHED, REJECT_REASONS, REJECTED, STATUSES, UNFINISHED
from gpusched.traces.model_columns import misread_services

if TYPE_CHECKING:
    from gpusched.base.arrays import Int64
    from gpusched.results.cost import RunLog


def lacking(result: RunLog) -> list[str]:
    """Name what the policy decides by and the trace does not have."""
    known = registered(*POLICY_KINDS).get(result.spec.policy.partition(":")[0])
    if known is None:
        return []
    trace, lines = result.trace, []
    if known.has("deadlines"):
        lines += _missing(trace.deadline_us, len(trace), known.name, "deadline", "deadlines", "")
    if known.has("estimate") and not predicts_by(result.spec.predictor, "estimate_us"):
        instead = f": the predictor {result.spec.predictor} stands in"
        lines += _missing(
            trace.estimate_us, len(trace), known.name, "estimate", "users' estimates", instead
        )
    return lines


def misread(result: RunLog) -> list[str]:
    """Say where the speed takes services for other run times than the trace states."""
    if not has_flag_of("speed", result.spec.speed, "throughputs"):
        return []
    return misread_services(result.trace, result.cluster)


def unserved(result: RunLog) -> list[str]:
    """``12 jobs rejected: needs more GPUs than the cluster has`` for each reason."""
    status = np.asarray(result.schedule.status)
    if not np.count_nonzero(status != FINISHED):
        return []
    lines = []
    if np.any(status == REJECTED):
        counts = np.bincount(result.schedule.reason, minlength=len(REJECT_REASONS)).tolist()
        reasons = zip(counts, REJECT_REASONS, strict=True)
        lines = [
            f"{plural(count, 'job')} rejected: {why}" for count, why in reasons if count and why
        ]
    for code in range(UNFINISHED, len(STATUSES)):
        if count := int(np.count_nonzero(status == code)):
            lines.append(f"{plural(count, 'job')} {STATUSES[code]}, left out of the job metrics")
    return lines


def restart_costs(results: Mapping[str, RunLog]) -> list[str]:
    """Say what the policies that preempt pay for it, in a sentence; nothing if none does."""
    preempting = {
        label: result for label, result in results.items() if np.any(result.schedule.preemptions)
    }
    if not preempting:
        return []
    from gpusched.audit.declarations import RestartRule

    costs: dict[str, list[str]] = {}
    for label, result in preempting.items():
        cost, trace = RestartRule.of(result.spec.policy).cost_us, result.trace
        cost_s = cost(trace, np.arange(len(trace)), trace.gpus.astype(np.int64)) / US_PER_S
        said = dict.fromkeys(duration(end) for end in (cost_s.min(), cost_s.max()))
        costs.setdefault(" to ".join(said) if cost_s.any() else "nothing", []).append(label)
    told = "; ".join(f"{cost} under {', '.join(labels)}" for cost, labels in costs.items())
    hint = " (the trace states no cost: --restart TIME, or a column restart_s)"
    return [f"a restart after a preemption costs {told}{hint if 'nothing' in costs else ''}"]


def shared(lines: Mapping[str, Sequence[str]]) -> list[str]:
    """Each distinct line once, led by the policies it holds for unless it holds for all."""
    holders: dict[str, list[str]] = {}
    for label, texts in lines.items():
        for text in texts:
            holders.setdefault(text, []).append(label)
    return [
        text
        if len(labels) == len(lines) or text.startswith(f"{labels[0].partition(':')[0]} ")
        else f"{', '.join(labels)}: {text}"
        for text, labels in holders.items()
    ]


def of_results(results: Mapping[str, RunLog]) -> list[str]:
    """All that results have to say: whom they did not serve, and their warnings."""
    lines = shared({label: unserved(result) for label, result in results.items()})
    return lines + shared({label: list(result.warnings) for label, result in results.items()})


def _missing(
    column: Int64 | None, num_jobs: int, policy: str, one: str, all_of_them: str, instead: str
) -> list[str]:
    """Return the sentence for a column that is not there, or not for every job."""
    num_there = 0 if column is None else int(np.count_nonzero(np.asarray(column) >= 0))
    if num_there == num_jobs:
        return []
    if num_there == 0:
        return [f"{policy} decides by {all_of_them}, and no job has one{instead}"]
    if not instead:  # jobs without a deadline have none; that is no fault
        return []
    num_missing = num_jobs - num_there
    has = "has" if num_missing == 1 else "have"
    return [
        f"{policy} decides by {all_of_them}, and {plural(num_missing, 'job')} {has} no {one}"
        f"{instead}"
    ]
