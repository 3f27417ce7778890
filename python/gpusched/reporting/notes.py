"""Texts around a table of results: captions, footnotes, remarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.wording import duration, plural, written
from gpusched.plugins.info import APPROXIMATE, POLICY_KINDS
from gpusched.plugins.registry import has_flag_of, registered
from gpusched.results.run_remarks import of_results, restart_costs
from gpusched.results.shown_metrics import CLAIRVOYANT as CLAIRVOYANT
from gpusched.results.shown_metrics import MARK
from gpusched.results.shown_metrics import SEES_TRUTH as SEES_TRUTH
from gpusched.results.shown_metrics import is_approximate as is_approximate
from gpusched.results.shown_metrics import policy_name as policy_name
from gpusched.studies.verdicts import pile_ups

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.studies.comparison import Comparison

IS_APPROXIMATE: Final = "default parameters deviate from the publication"


def caption(comparison: Comparison) -> list[str]:
    """The workload, the cluster with the settings, and the part of the runs that is measured."""
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
        measured = [f"metrics cover the run {comparison.window}; {count} submitted in it"]
    spec = first.spec
    settings = f"placement {spec.placement}, predictor {spec.predictor}, seed {spec.seed}"
    if not has_flag_of("speed", spec.speed, "steady"):
        settings += f", speed {spec.speed}, contention {spec.contention}"
    measured += comparison.same_jobs.lines("every policy")
    measured += [
        *pile_ups(comparison.growths),
        *restart_costs(comparison.results),
    ]
    return [workload, f"{cluster}, {settings}", *measured]


def _load(comparison: Comparison, first: Result) -> float:
    """Return the load of the whole run, as in its summary."""
    if comparison.window is not None:
        return float(first.metric("load"))
    return float(next(iter(comparison.summaries.values()))["load"])


def footnotes(comparison: Comparison) -> list[str]:
    """Explain the marks of the table."""
    results = comparison.results
    notes = []
    if sum(not result.clairvoyant for result in results.values()) > 1:
        notes.append(f"{MARK} best value among deployable policies")
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
    """Report how stable the order of the policies is within the trace."""
    found = comparison.tenths() if len(comparison.results) > 1 else {}
    if not found:
        return []
    told = "; ".join(
        f"{label} lower in {one.num_lower}, typically {written(one.typical.value)} times "
        f"({written(one.typical.low)} to {written(one.typical.high)})"
        for label, one in found.items()
    )
    baseline = next(iter(comparison.results))
    return [
        f"mean JCT against {baseline} in ten parts of the trace: {told}",
        "one trace: exact for these jobs; run several seeds for conclusions on similar workloads",
    ]


def remarks(comparison: Comparison) -> list[str]:
    """Rejected rows and jobs with their reasons, and the warnings, one line each."""
    lines = [f"left out of the trace: {line}" for line in comparison.trace.rejects.lines()]
    lines += of_results(comparison.results)
    if comparison.unfinished:
        lines.append(f"interrupted, not in the table: {', '.join(comparison.unfinished)}")
    return lines
