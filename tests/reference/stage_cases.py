"""Generators of small replays of pipelines whose stages are spread over servers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from gpusched.reference import Graph, GraphStage
from tests.reference.cases import Case
from tests.reference.contention_cases import SLOWER, by_type, contended_cases
from tests.reference.drawing import Generator, Source, flag, some_of
from tests.reference.scales import SHAPES, WIDE

# Few values, so that weights and iteration times tie; some are not exact.
BYTES = (0.0, 1e7, 1e8, 2e8, 1.23e9)
SECONDS = (0.01, 0.2, 0.2, 0.7)


@Generator
def graphs(source: Source, gpus: int, max_stages: int = 4) -> Graph:
    """A graph of ``gpus`` replicas."""
    num_cuts = source.between(1, min(gpus, max_stages)) - 1
    cuts = {source.between(1, max(1, gpus - 1)) for _ in range(num_cuts)}
    ends = [0, *sorted(cut for cut in cuts if cut < gpus), gpus]
    slower = source.one_of(SLOWER)
    return Graph(
        tuple(
            GraphStage(
                replicas=end - begin,
                compute_s=by_type(source.one_of(SECONDS), slower),
                parameter_bytes=source.one_of(BYTES),
                activation_bytes=source.one_of(BYTES) if end < gpus else 0.0,
            )
            for begin, end in pairwise(ends)
        )
    )


@Generator
def staged_cases(
    source: Source, policy: str, placement: str, contention: str, scales: Sequence[str] = SHAPES
) -> Case:
    """A replay of ``policy`` with ``placement`` at the speed ``stages``."""
    case = contended_cases.draw(source, policy, placement, "ring", contention, scales)
    if case.scale in WIDE or flag(source):  # wide enough to be cut in many ways
        num_gpus = sum(gpus for gpus, _ in case.servers)
        wide = [replace(job, gpus=min(num_gpus, 3 + job.gpus % 6)) for job in case.jobs]
        case = replace(case, jobs=wide)
    widths = sorted({job.gpus for job in case.jobs})
    models = {
        width: [graphs.draw(source, width) for _ in range(source.between(1, 2))] for width in widths
    }
    return replace(
        case,
        jobs=[
            replace(job, profile=None, graph=source.one_of(models[job.gpus])) for job in case.jobs
        ],
        speed="stages",
        speed_params=some_of(source, {"micro_batches": (0, 1, 3, 7, 1_000_000)}),
    )
