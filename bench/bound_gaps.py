"""How far the best policy is from each lower bound, on the workloads of the state of the field.

python -m bench.bound_gaps    # no times but the bounds'; minutes; real traces from $GPUSCHED_DATA
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import gpusched as gs
from bench.table import Section
from gpusched.bounds.registry import TOTAL_JCT, known_bounds
from gpusched.field import GENERATED_LOAD, GPUS, NUM_GENERATED, generated, windows

POLICIES = ("srtf", "srsf", "sjf", "swf", "serverfilling-srpt", "2d-las")
NEW = ("shared-cost", "priced-time")
METHOD = (
    "The least mean JCT of " + ", ".join(f"`{name}`" for name in POLICIES) + " under "
    "`consolidated`, services known and restarts free, over each bound less 1; of the generated "
    "workloads seed 0. `before`: over the best bound but the last two."
)


def workloads() -> Iterator[tuple[str, str, gs.Trace, gs.Cluster]]:
    """Yield the workloads that the field study ranks on, with what they are and their names."""
    for one in windows()[0]:
        trace = gs.read_trace(one.jobs["file"])
        for window in one.jobs.get("windows", ()):
            trace = trace.between(window["from"], window["to"]).rebased()
        yield "real windows", one.name, trace, gs.Cluster.uniform(one.servers, GPUS)
    for one in generated():
        cluster = gs.Cluster.uniform(one.servers, GPUS)
        profile, num = one.jobs["generate"], NUM_GENERATED
        trace = gs.generate(profile, num, load=GENERATED_LOAD, cluster=cluster, seed=0)
        yield "drawn", one.name, trace, cluster


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
    if missing := windows()[1]:
        out.notes.append(f"Left out, as the data are not there: {', '.join(missing)}.")
    return out


def _total_us(trace: gs.Trace, cluster: gs.Cluster, policy: str) -> float:
    """Return the sum of JCT of the jobs that the cluster holds."""
    schedule = gs.simulate(trace, cluster, policy=policy, placement="consolidated").schedule
    finished = np.asarray(schedule.status) == 0
    return float((schedule.finish_us[finished] - trace.submit_us[finished]).sum())


if __name__ == "__main__":
    warnings.simplefilter("ignore", gs.RunWarning)
    print(section().markdown())
