"""Over how many servers jobs are spread."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "mean_servers",
    unit="ratio",
    summary="Mean number of servers over which a job's GPUs are spread.",
    definition="servers of a job's last allocation; 0 under `count`",
    better="lower",
    label="servers per job",
    short="servers|/ job",
    group="cluster",
    place=1160,
    window="jobs",
    rank=320,
)
def _mean_servers(run: RunFacts) -> float:
    return run.mean(run.measures.num_servers)
