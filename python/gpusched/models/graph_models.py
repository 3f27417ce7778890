"""Graphs of well-known models: how a job of some GPUs is parallel, and what its stages exchange.

Compute times are those of :func:`gpusched.models.zoo`. What is assumed beyond the published sizes:

- Convolutional networks are data parallel, one stage. Transformers are 2 to 4 pipeline stages of
  equal numbers of layers, and each stage is data parallel; on one GPU they are one stage.
- Every GPU handles as many samples per iteration as in data parallelism, the ``batch`` of the
  profile: a pipeline of S stages takes S such batches, one after the other, through 1/S of the
  layers each. So an iteration computes as long as in data parallelism, and only bytes differ.
- Activations between two stages are one single-precision vector of the hidden size per token:
  samples x tokens x hidden x 4 bytes. Nothing is compressed, overlapped or recomputed.
- Embeddings are with the first stage. The copy that a tied output projection needs in the last
  one, and its computation, are left out.
- Gradient accumulation of A steps computes and sends activations A times, and reduces once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from gpusched.base.suggest import nearest
from gpusched.models.job_graphs import JobGraph, Stage
from gpusched.models.model_zoo import zoo
from gpusched.models.profiles import JobProfile

PIPELINE_STAGES: Final = (4, 3, 2)


class _Transformer(msgspec.Struct, frozen=True):
    layers: int
    hidden: int
    tokens: int
    embedding_parameters: int
    source: str


_TRANSFORMERS: Final = {
    "bert-large": _Transformer(
        24, 1024, 384, (30_522 + 512 + 2) * 1024,
        "24 layers of 1,024, vocabulary 30,522, 512 positions (Devlin et al., NAACL 2019)",
    ),
    "xlnet-large": _Transformer(
        24, 1024, 384, 32_000 * 1024,
        "24 layers of 1,024, vocabulary 32,000 (Yang et al., NeurIPS 2019)",
    ),
    "gpt2-xl": _Transformer(
        48, 1600, 1024, (50_257 + 1024) * 1600,
        "48 layers of 1,600, vocabulary 50,257, 1,024 positions (Radford et al., 2019)",
    ),
}  # fmt: skip
MODELS: Final = ("resnet152", "vgg19", *_TRANSFORMERS)
"""The models of our study of A-SRPT."""


def graph_for(
    model: str, gpus: int, *, stages: int | None = None, accumulation: int = 1
) -> JobGraph:
    """Return the graph of a model on ``gpus`` GPUs.

    Parameters
    ----------
    model
        One of ``resnet152``, ``vgg19`` (data parallel), ``bert-large``, ``xlnet-large`` and
        ``gpt2-xl`` (pipelines).
    gpus
        1 or more. Where they are no multiple of the stages, the first stages have one replica
        more, and the others more to do.
    stages
        Of the pipeline; None: the most of 4, 3 and 2 that divide ``gpus``, or else fit.
    accumulation
        Batches between two exchanges of gradients, 1 or more.

    Returns
    -------
    JobGraph
        Its stages, and what they send each other.

    Raises
    ------
    ValueError
        If the model is unknown, or a number out of range; the message names it.

    Examples
    --------
    >>> import gpusched as gs
    >>> graph = gs.models.graph_for("gpt2-xl", 8)
    >>> [stage.replicas for stage in graph.stages]
    [2, 2, 2, 2]
    """
    if model not in MODELS:
        raise ValueError(f"model: unknown {model!r}{nearest(str(model), MODELS)}")
    for field, value in (("gpus", gpus), ("accumulation", accumulation)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{field}: {value!r} must be an integer")
        if value < 1:
            raise ValueError(f"{field}: {value} must be at least 1")
    possible = stages_of(model, gpus)
    if stages is None:
        stages = possible[0]
    if stages not in range(1, min(gpus, max(possible)) + 1):
        raise ValueError(f"stages: {stages!r} must lie in 1..{min(gpus, max(possible))}")
    profile = zoo()[model]
    suffix = f" a{accumulation}" if accumulation > 1 else ""
    if model not in _TRANSFORMERS:
        compute = {t: profile.compute_s(t) * accumulation for t in profile.gpu_types}
        whole = Stage(gpus, compute, profile.gradient_bytes)
        return JobGraph(f"{model} 1x{gpus}{suffix}", (whole,), profile.source)
    return _pipeline(_TRANSFORMERS[model], profile, gpus, stages, accumulation, suffix)


def stages_of(model: str, gpus: int) -> tuple[int, ...]:
    """Return the numbers of stages that a job of this model may have, the default one first."""
    if model not in _TRANSFORMERS or gpus == 1:
        return (1,)
    even = tuple(stages for stages in PIPELINE_STAGES if gpus % stages == 0)
    return even or tuple(stages for stages in PIPELINE_STAGES if stages <= gpus)


def _pipeline(
    model: _Transformer,
    profile: JobProfile,
    gpus: int,
    stages: int,
    accumulation: int,
    suffix: str,
) -> JobGraph:
    replicas = [gpus // stages + (stage < gpus % stages) for stage in range(stages)]
    embedding_bytes = 4.0 * model.embedding_parameters
    layer_bytes = (profile.gradient_bytes - embedding_bytes) / model.layers
    samples = gpus * profile.batch * accumulation
    activation_bytes = samples * model.tokens * model.hidden * 4

    def parts() -> Iterator[Stage]:
        for stage, count in enumerate(replicas):
            layers = model.layers // stages + (stage < model.layers % stages)
            part = gpus / count * layers / model.layers * accumulation
            yield Stage(
                replicas=count,
                compute_s={t: profile.compute_s(t) * part for t in profile.gpu_types},
                parameter_bytes=layers * layer_bytes + (embedding_bytes if stage == 0 else 0.0),
                activation_bytes=activation_bytes if stage + 1 < stages else 0.0,
            )

    even = len(set(replicas)) == 1
    shape = f"{stages}x{replicas[0]}" if even else "+".join(map(str, replicas))
    source = (
        f"{profile.source}; {model.source}; {samples:g} samples of {model.tokens:,} tokens per "
        "iteration"
    )
    return JobGraph(f"{profile.name} {shape}{suffix}", tuple(parts()), source)
