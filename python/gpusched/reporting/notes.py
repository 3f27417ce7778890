"""What stands around a table of results: captions, footnotes, remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import duration, plural
from gpusched.plugins.registry import speed_has
from gpusched.results.shown_metrics import MARK
from gpusched.schedules.schedule import REJECT_REASONS

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

CLAIRVOYANT: Final = "†"


def policy_name(label: str, result: Result) -> str:
    """The policy, marked where it sees the true service times."""
    return f"{label} {CLAIRVOYANT}" if result.clairvoyant else label


def caption(comparison: Comparison) -> list[str]:
    """What was compared, in two lines: the workload, then the cluster and the settings."""
    trace, cluster = comparison.trace, comparison.cluster
    span = float(trace.submit_s[-1] - trace.submit_s[0])
    workload = f"{trace.name}: {plural(len(trace), 'job')} submitted over {duration(span)}"
    load = trace.load(cluster.num_gpus)
    if math.isfinite(load):
        workload += f", load {load:.2f}"
    spec = next((result.spec for result in comparison.results.values()), None)
    if spec is None:
        return [workload, str(cluster)]
    settings = f"placement {spec.placement}, predictor {spec.predictor}, seed {spec.seed}"
    if not speed_has(spec.speed, "steady"):
        settings += f", speed {spec.speed}, contention {spec.contention}"
    return [workload, f"{cluster}, {settings}"]


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the marks in the table."""
    results = comparison.results
    notes = []
    if len(results) > 1:
        notes.append(f"{MARK} best of its metric")
    if any(result.clairvoyant for result in results.values()):
        notes.append(f"{CLAIRVOYANT} clairvoyant: decides by the true service times")
    return notes


def remarks(comparison: Comparison) -> list[str]:
    """Rejected rows and jobs with their reasons, and the warnings, each one line."""
    lines = [f"left out of the trace: {line}" for line in comparison.trace.rejects.lines()]
    lines += _shared({label: _unserved(result) for label, result in comparison.results.items()})
    lines += _shared({label: list(result.warnings) for label, result in comparison.results.items()})
    if comparison.unfinished:
        lines.append(f"interrupted, not in the table: {', '.join(comparison.unfinished)}")
    return lines


def _unserved(result: Result) -> list[str]:
    """``12 jobs rejected: needs more GPUs than the cluster has`` for each reason."""
    summary = result.summary()
    lines = []
    if summary["num_rejected"]:
        counts = np.bincount(result.schedule.reason, minlength=len(REJECT_REASONS)).tolist()
        reasons = zip(counts, REJECT_REASONS, strict=True)
        lines = [
            f"{plural(count, 'job')} rejected: {why}" for count, why in reasons if count and why
        ]
    if num_unfinished := int(summary["num_unfinished"]):
        lines.append(f"{plural(num_unfinished, 'job')} unfinished, left out of the job metrics")
    return lines


def _shared(lines: Mapping[str, Sequence[str]]) -> list[str]:
    """Each distinct line once, led by the policies it holds for unless it holds for all."""
    holders: dict[str, list[str]] = {}
    for label, texts in lines.items():
        for text in texts:
            holders.setdefault(text, []).append(label)
    return [
        text if len(labels) == len(lines) else f"{', '.join(labels)}: {text}"
        for text, labels in holders.items()
    ]
