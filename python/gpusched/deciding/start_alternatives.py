"""What might make a job start sooner: the same question of other jobs, servers or placements."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import msgspec

from gpusched.clusters.cluster import Cluster
from gpusched.deciding.start_samples import Case, Futures
from gpusched.engine.seams import Chosen, placement_seam
from gpusched.plugins.registry import placements
from gpusched.traces.workload import Trace


def start_alternatives(
    case: Case, job: int, futures: Futures
) -> Iterator[tuple[str, Case, Futures]]:
    """Yield what might make the job start sooner, and the futures that go with it.

    What is changed is changed now: the policy decides at once.
    """
    case = case._replace(first_us=None)
    jobs = case.state.jobs
    gpus = int(jobs.gpus[job])
    for part in (2, 4):
        if gpus % part or jobs.min_gpus is not None:
            continue
        longer = futures.service_us.copy()
        longer[:, job] *= part
        width, service_us = jobs.gpus.copy(), jobs.service_us.copy()
        width[job] //= part
        service_us[job] *= part
        narrower = dataclasses.replace(jobs, gpus=width, service_us=service_us)
        state = dataclasses.replace(case.state, jobs=narrower)
        yield (
            f"{gpus // part} GPU{'s' * (gpus > part)}",
            case._replace(state=state),
            dataclasses.replace(futures, service_us=longer),
        )
    other = _scattering(case.placement, jobs)
    if other is not None:
        yield f"placement {other}", case._replace(placement=placement_seam(other)), futures
    larger = _with_one_more(case.state.cluster, jobs, job)
    if larger is not None:
        state = dataclasses.replace(case.state, cluster=larger, servers=())
        yield "one more server", case._replace(state=state), futures


def _scattering(placement: Chosen, jobs: Trace) -> str | None:
    """Return a placement that takes GPUs wherever they are free; None if this one does."""
    if placement.has("scatters") or placement.has("pooled"):
        return None
    wanted = ["scatters"]
    if jobs.cpu_milli is not None or jobs.memory_mib is not None:
        wanted.append("demands")
    if jobs.share_milli is not None:
        wanted += ["demands", "shares"]
    names = [
        info.name
        for info in placements().values()
        if info.is_native
        and all(info.has(flag) for flag in wanted)
        and not (info.has("random") or info.has("pooled"))
    ]
    return min(names, default=None)


def _with_one_more(cluster: Cluster, jobs: Trace, job: int) -> Cluster | None:
    """Return the cluster with one more of the largest servers that the job may use, behind."""
    allowed = jobs.type_sets[jobs.type_set[job]] if jobs.type_set is not None else ()
    groups = [each for each in cluster.servers if not allowed or each.gpu_type in allowed]
    if not groups:
        return None
    largest = max(groups, key=lambda group: group.gpus)
    added = msgspec.structs.replace(largest, count=1)
    return msgspec.structs.replace(cluster, servers=(*cluster.servers, added))
