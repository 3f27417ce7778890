"""Which laws a case breaks, and a smaller case that breaks the same one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpusched.clusters.cluster import Cluster
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Law
from gpusched.testing.trace_code import cluster_of, with_columns, with_rows

_NUMBERS = {"submit_s": 0, "service_s": 1, "gpus": 1}
_NEEDED = {*_NUMBERS, "profile", "profiles", "graph", "graphs"}


def first_broken(case: Case, asked: Iterable[Law]) -> tuple[Law, str] | None:
    """Return the first law that does not hold and what is wrong; None if all hold."""
    return next(((law, fault) for law, fault in broken_laws(case, asked)), None)


def broken_laws(case: Case, asked: Iterable[Law]) -> Iterator[tuple[Law, str]]:
    """Yield the laws that do not hold; where the run itself fails, no others."""
    for law in asked:
        if not law.applies(case):
            continue
        try:
            fault = law.fault(case)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            yield law, fault
            if "result" not in vars(case):
                return


def made_smaller(case: Case, law: Law, fault: str) -> tuple[Case, Law, str]:
    """Take away from a case what it can do without and still break the law."""
    while True:
        for other in _smaller_ones(case):
            broken = first_broken(other, (law,))
            if broken is not None:
                case, fault = other, broken[1]
                break
        else:
            return case, law, fault


def _smaller_ones(case: Case) -> Iterator[Case]:
    """Yield cases that are a step smaller, the largest steps first."""
    columns, num_jobs = case.columns, len(case.trace)
    for job in range(num_jobs if num_jobs > 1 else 0):
        yield case.on(with_rows(columns, [row for row in range(num_jobs) if row != job]))
    for name in columns.keys() - _NEEDED:
        yield case.on(with_columns({key: columns[key] for key in columns.keys() - {name}}))
    for cluster in _smaller_clusters(case.cluster):
        yield case.on(case.trace, cluster)
    if "graph" in columns:  # whose widths are those of the jobs
        return
    for name, least in _NUMBERS.items():
        for job, value in enumerate(columns[name]):
            for less in sorted({least, value // 2, value - 1}):
                if least <= less < value:
                    changed = [*columns[name][:job], less, *columns[name][job + 1 :]]
                    try:
                        yield case.on(with_columns(columns, **{name: changed}))
                    except ValueError:  # such as a deadline that then lies before the submission
                        continue


def _smaller_clusters(cluster: Cluster) -> Iterator[Cluster]:
    if cluster.domains:
        return
    last = cluster.servers[-1]
    links = {"nic_gbps": last.nic_gbps, "intra_gbps": last.intra_gbps}
    types = [cluster.gpu_types[i] for i in cluster.server_type.tolist()]
    servers = list(zip(cluster.server_gpus.tolist(), types, strict=True))
    for at in range(len(servers) if len(servers) > 1 else 0):
        yield cluster_of(servers[:at] + servers[at + 1 :], **links)
    for at, (gpus, gpu_type) in enumerate(servers):
        if gpus > 1:
            yield cluster_of([*servers[:at], (gpus - 1, gpu_type), *servers[at + 1 :]], **links)
    if len(set(types)) > 1:
        yield cluster_of([(gpus, types[0]) for gpus, _ in servers], **links)
