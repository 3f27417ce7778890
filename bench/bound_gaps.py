"""How far the best policy is from each lower bound, on the workloads of the state of the field.

python -m bench.bound_gaps    # no times but the bounds'; minutes; real traces from $GPUSCHED_DATA
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import gpusched as gs
from bench.field import field_study
from bench.table import Section
from gpusched.bounds.registry import TOTAL_JCT, known_bounds

POLICIES = ("srtf", "srsf", "sjf", "swf", "serverfilling-srpt", "2d-las")
NEW = ("shared-cost", "priced-time")
METHOD = (
    "The lowest mean JCT of " + ", ".join(f"`{name}`" for name in POLICIES) + " under "
    "`consolidated`, services known and restarts free, over each bound less 1; of the generated "
    "workloads seed 0. `before`: over the best bound but the last two."
)


def workloads() -> Iterator[tuple[str, str, gs.Trace, gs.Cluster]]:
    """Yield the workloads that the field study ranks on, with what they are and their names."""
    study, _ = field_study()
    for entry, of_cluster in zip(study.traces, study.clusters, strict=True):
        cluster = of_cluster.made()
        if entry.generate is not None:
            trace = gs.generate(
                entry.generate, entry.jobs, load=0.9, cluster=cluster, seed=0, model=1
            )
            yield "drawn", entry.label, trace, cluster
            continue
        trace = gs.read_trace(entry.file)
        for window in entry.windows:
            trace = trace.between(window.since, window.until).rebased()
        yield "real windows", entry.label, trace, cluster


def section() -> Section:
    """Run the policies, and bound what they did."""
    names = list(known_bounds(TOTAL_JCT))
    columns = ("workload", "jobs", "best policy", *names, "before", "now", "s")
    out = Section("Gaps to the bounds on the mean JCT, %", METHOD, columns)
    gaps: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for kind, name, trace, cluster in workloads():
        chosen = np.asarray(trace.gpus) <= cluster.num_gpus
        best_us, policy = min((_total_us(trace, cluster, policy), policy) for policy in POLICIES)
        begin = time.process_time()
        found = gs.bounds.lower_bounds(trace, cluster, jobs=chosen, thorough=True).total_jct_us
        seconds = time.process_time() - begin
        gap = {name: 100 * (best_us / float(value) - 1) for name, value in found.items()}
        before = min(value for name, value in gap.items() if name not in NEW)
        now = min(gap.values())
        gaps[kind].append((before, now))
        shown = [f"{value:.1f}" for value in (*(gap[name] for name in names), before, now)]
        out.rows.append((name, f"{chosen.sum():,}", policy, *shown, f"{seconds:.2f}"))
    for kind, some in gaps.items():
        means = [f"{mean:.1f}" for mean in np.mean(some, axis=0)]
        out.rows.append((f"mean of {kind}", "", "", *[""] * len(names), *means, ""))
    if missing := field_study()[1]:
        out.notes.append(f"Left out, as the data are not there: {', '.join(missing)}.")
    return out


def _total_us(trace: gs.Trace, cluster: gs.Cluster, policy: str) -> float:
    """Return the sum of JCT of the jobs that the cluster holds."""
    schedule = gs.simulate(trace, cluster, policy=policy, placement="consolidated").schedule
    finished = np.asarray(schedule.status) == 0
    return float((schedule.finish_us[finished] - trace.submit_us[finished]).sum())


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    warnings.simplefilter("ignore", gs.RunWarning)
    print(section().markdown())
