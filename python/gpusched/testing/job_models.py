"""Small profiles and graphs for the speeds that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpusched.base.libraries import need
from gpusched.models.job_graphs import JobGraph, Stage
from gpusched.models.profiles import JobProfile

need("hypothesis", "gpusched.testing", "gpusched[testing]")

from hypothesis import strategies as st  # noqa: E402

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy


def profiles(name: str, types: Sequence[str], max_gpus: int) -> SearchStrategy[JobProfile]:
    """Profiles with what every speed reads, for widths to ``max_gpus``."""
    widths = [width for width in (1, 2, 4, 8, 16, 32, 64) if width < 2 * max_gpus]
    return st.builds(
        _profile,
        st.just(name),
        st.just(tuple(types)),
        st.just(widths),
        st.sampled_from((1e8, 1e9, 0.0)),
        st.sampled_from((0.125, 0.5)),
        st.sampled_from((0, 8, 64)),
    )


def _profile(
    name: str,
    types: tuple[str, ...],
    widths: list[int],
    gradient_bytes: float,
    compute_s: float,
    drag: int,
) -> JobProfile:
    curve = {width: 8.0 * width * 64 / (64 + drag * width) for width in widths}
    return JobProfile(
        name,
        gradient_bytes=gradient_bytes,
        batch=1,
        forward_s=compute_s / 2,
        backward_s=compute_s / 2,
        throughput=dict.fromkeys(types, curve),
        samples_per_s=dict.fromkeys(types, 100.0),
        global_batch=128,
    )


@st.composite
def graphs_of(draw: DrawFn, widths: Sequence[int]) -> list[JobGraph]:
    """A graph for each of the widths, of one stage or two."""
    graphs = []
    for width in widths:
        parts = [width]
        if width > 1 and draw(st.booleans()):
            parts = [1, width - 1]
        parameter_bytes = draw(st.sampled_from((0.0, 1e8)))
        stages: list[Any] = [
            Stage(
                replicas=count,
                compute_s=0.25,
                parameter_bytes=parameter_bytes,
                activation_bytes=0.0 if stage + 1 == len(parts) else 1e7,
            )
            for stage, count in enumerate(parts)
        ]
        graphs.append(JobGraph(f"width{width}", tuple(stages)))
    return graphs
