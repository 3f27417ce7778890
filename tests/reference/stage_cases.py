"""Hypothesis strategies: small replays of pipelines whose stages are spread over servers."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import strategies as st

from . import Graph, GraphStage
from .cases import TYPES, Case
from .contention_cases import contended_cases

# Few values, so that weights and iteration times tie; some are not exact.
BYTES = st.sampled_from([0.0, 1e7, 1e8, 2e8, 1.23e9])
SECONDS = st.sampled_from([0.01, 0.2, 0.2, 0.7])


@st.composite
def graphs(draw: st.DrawFn, gpus: int, max_stages: int = 4) -> Graph:
    """Draw a graph of ``gpus`` replicas."""
    num_stages = draw(st.integers(1, min(gpus, max_stages)))
    cuts = draw(st.sets(st.integers(1, max(1, gpus - 1)), max_size=num_stages - 1))
    ends = [0, *sorted(cut for cut in cuts if cut < gpus), gpus]
    slower = draw(st.sampled_from([1.0, 3.7]))  # on the second GPU type
    stages = []
    for begin, end in pairwise(ends):
        seconds = draw(SECONDS)
        stages.append(
            GraphStage(
                replicas=end - begin,
                compute_s={TYPES[0]: seconds, TYPES[1]: seconds * slower},
                parameter_bytes=draw(BYTES),
                activation_bytes=draw(BYTES) if end < gpus else 0.0,
            )
        )
    return Graph(tuple(stages))


@st.composite
def staged_cases(draw: st.DrawFn, policy: str, placement: str, contention: str) -> Case:
    """Draw a replay of ``policy`` with ``placement`` at the speed ``stages``."""
    case = draw(contended_cases(policy, placement, "ring", contention))
    if draw(st.booleans()):  # wide enough to be cut in many ways
        num_gpus = sum(gpus for gpus, _ in case.servers)
        wide = [replace(job, gpus=min(num_gpus, 3 + job.gpus % 6)) for job in case.jobs]
        case = replace(case, jobs=wide)
    widths = sorted({job.gpus for job in case.jobs})
    models = {width: draw(st.lists(graphs(width), min_size=1, max_size=2)) for width in widths}
    micro_batches = st.fixed_dictionaries(
        {}, optional={"micro_batches": st.sampled_from([0, 1, 3, 7])}
    )
    return replace(
        case,
        jobs=[
            replace(job, profile=None, graph=draw(st.sampled_from(models[job.gpus])))
            for job in case.jobs
        ],
        speed="stages",
        speed_params=draw(micro_batches),
    )
