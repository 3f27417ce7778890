"""What stands around a table of results: captions, footnotes, remarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import duration, plural
from gpusched.plugins.info import APPROXIMATE, POLICY_KINDS
from gpusched.plugins.registry import has_flag_of, registered
from gpusched.results.run_remarks import of_results, restart_costs
from gpusched.results.shown_metrics import MARK

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

CLAIRVOYANT: Final = "†"
SEES_TRUTH: Final = "clairvoyant: decides by the true service times"
IS_APPROXIMATE: Final = "by default not quite as published"


def policy_name(label: str, result: Result) -> str:
    """The policy, marked where it sees the true services, and where it departs from its source."""
    marks = CLAIRVOYANT if result.clairvoyant else ""
    if is_approximate(result):
        marks += APPROXIMATE
    return f"{label} {marks}" if marks else label


def is_approximate(result: Result) -> bool:
    """Whether the policy departs by default from what was published."""
    return has_flag_of("policy", result.spec.policy, "approximate")


def caption(comparison: Comparison) -> list[str]:
    """What was compared: the workload, the cluster with the settings, and which part of them."""
    trace, cluster = comparison.trace, comparison.cluster
    span = float(trace.submit_s[-1] - trace.submit_s[0])
    workload = f"{trace.name}: {plural(len(trace), 'job')} submitted over {duration(span)}"
    first = next(iter(comparison.results.values()), None)
    load = trace.offered_load(cluster.num_gpus) if first is None else _load(comparison, first)
    if math.isfinite(load):
        workload += f", load {load:.2f}"
    if first is None:
        return [workload, str(cluster)]
    measured = []
    if comparison.window is not None:
        count = plural(int(np.count_nonzero(comparison.counted)), "job")
        measured = [f"metrics: of the run {comparison.window}; {count} submitted in it"]
    spec = first.spec
    settings = f"placement {spec.placement}, predictor {spec.predictor}, seed {spec.seed}"
    if not has_flag_of("speed", spec.speed, "steady"):
        settings += f", speed {spec.speed}, contention {spec.contention}"
    measured += comparison.same_jobs.lines("every policy")
    return [workload, f"{cluster}, {settings}", *measured, *restart_costs(comparison.results)]


def _load(comparison: Comparison, first: Result) -> float:
    """Return the load of the whole run, which a summary of all of it tells."""
    if comparison.window is not None:
        return float(first.metric("load"))
    return float(next(iter(comparison.summaries.values()))["load"])


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the marks in the table."""
    results = comparison.results
    notes = []
    if len(results) > 1:
        notes.append(f"{MARK} best of its metric")
    if any(result.clairvoyant for result in results.values()):
        notes.append(f"{CLAIRVOYANT} {SEES_TRUTH}")
    used = dict.fromkeys(result.spec.policy.partition(":")[0] for result in results.values())
    approximate = [name for name in used if has_flag_of("policy", name, "approximate")]
    if approximate:
        notes.append(f"{APPROXIMATE} {IS_APPROXIMATE}")
    known = registered(*POLICY_KINDS)
    for name in approximate:
        if known[name].differs:
            notes.append(f"{APPROXIMATE} {name}: {known[name].differs}")
    return notes + _tenths(comparison)


def _tenths(comparison: Comparison) -> list[str]:
    """Say how far the order of the policies holds within the trace."""
    found = comparison.tenths() if len(comparison.results) > 1 else {}
    if not found:
        return []
    told = "; ".join(
        f"{label} lower in {one.num_lower}, typically {one.typical.value:.3g} times "
        f"({one.typical.low:.3g} to {one.typical.high:.3g})"
        for label, one in found.items()
    )
    baseline = next(iter(comparison.results))
    return [
        f"mean JCT against {baseline} in ten parts of the trace: {told}",
        "one trace: exact for these jobs; for others like them run several seeds",
    ]


def remarks(comparison: Comparison) -> list[str]:
    """Rejected rows and jobs with their reasons, and the warnings, each one line."""
    lines = [f"left out of the trace: {line}" for line in comparison.trace.rejects.lines()]
    lines += of_results(comparison.results)
    if comparison.unfinished:
        lines.append(f"interrupted, not in the table: {', '.join(comparison.unfinished)}")
    return lines
