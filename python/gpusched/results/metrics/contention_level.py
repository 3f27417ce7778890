"""Rings on the links."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "mean_contention_level",
    unit="ratio",
    summary="Mean number of rings on a link while it was used, over all links.",
    definition="mean of the level over all links, each while it was used",
    better="lower",
    needs=("contention",),
    label="rings on a link",
    short="mean rings|on a link",
    group="cluster",
    place=1140,
    window="time",
    rank=360,
)
def _mean_contention_level(run: RunFacts) -> float:
    return run.links.mean_level


@register_metric(
    "max_contention_level",
    unit="count",
    summary="Most gangs on several servers that shared a link at a time.",
    definition="the highest level of any link at any time",
    better="lower",
    needs=("contention",),
    label="most rings on a link",
    short="rings on|a link",
    group="cluster",
    table="main",
    place=210,
    gives_way=None,
    window="time",
    rank=370,
)
def _max_contention_level(run: RunFacts) -> int:
    return run.links.max_level


@register_metric(
    "num_contended_links",
    unit="count",
    summary="Links on which two rings or more ever met.",
    needs=("contention",),
    table="none",
    window="time",
    rank=380,
)
def _num_contended_links(run: RunFacts) -> int:
    return run.links.num_contended
