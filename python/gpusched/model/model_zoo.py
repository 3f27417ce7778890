"""Profiles and graphs of well-known models: published sizes, measured or scaled compute times.

Measured: lines ``forward_s * batch + backward_s`` through throughput tables (least squares of the
relative error, no coefficient below 0). T4 is the single-GPU row ``step_time - sync_time`` of the
tables of Pollux (Qiao et al., OSDI 2021); V100, P100 and K80 are ``oracle_throughputs.json`` of
Gavel (Narayanan et al., OSDI 2020), whose other table differs by up to a factor of two on V100.
For a type without measurements, both coefficients are scaled by the ratio of ResNet-50's seconds
per sample on two measured types; the times of a model without any measurements are those of a
measured one, scaled by multiply-adds per sample.

Graphs use the compute times of :func:`gpusched.model.zoo`. Assumptions beyond published sizes:

- Convolutional networks are data parallel, one stage. Transformers are 2 to 4 pipeline stages of
  equal numbers of layers, and each stage is data parallel; on one GPU they are one stage.
- Every GPU handles as many samples per iteration as in data parallelism, the ``batch`` of the
  profile: a pipeline of S stages processes S such batches in sequence, each stage 1/S of the
  layers. So an iteration computes as long as in data parallelism; only the bytes differ.
- Activations between two stages are one single-precision vector of the hidden size per token:
  samples x tokens x hidden x 4 bytes. Nothing is compressed, overlapped or recomputed.
- Embeddings belong to the first stage. The last stage's copy for a tied output projection, and its
  computation, are ignored.
- Gradient accumulation of A steps computes and sends activations A times, and reduces once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from gpusched.base.suggest import nearest
from gpusched.model.job_graphs import JobGraph, Stage
from gpusched.model.profiles import JobProfile

# Seconds per sample and per iteration, four digits. The unnamed type "gpu" is assumed a V100.
MEASURED: Final[dict[str, dict[str, tuple[float, float]]]] = {
    "resnet50": {
        "V100": (0.002627, 0.01576),
        "P100": (0.007227, 0.005552),
        "K80": (0.02229, 0.0),
        "T4": (0.004314, 0.07064),
    },
    "resnet18-cifar10": {
        "V100": (0.0001850, 0.009512),
        "P100": (0.0003162, 0.01534),
        "K80": (0.001438, 0.03180),
        "T4": (0.0006496, 0.01989),
    },
    "bert-base": {"T4": (0.05827, 0.2095)},
    "deepspeech2": {"T4": (0.02548, 0.1894)},
    "yolov3": {"T4": (0.02651, 0.1736)},
    "ncf": {"T4": (4.564e-07, 0.007215)},
}
GPU_TYPES: Final = ("V100", "P100", "K80", "T4")

# Multiply-adds per sample, 1e9: of an image for the first, 384 tokens of a sentence for BERT-base
# (parameters outside the embeddings times tokens; the products inside attention are ignored).
_RESNET50_WORK: Final = 4.09
_BERT_BASE_WORK: Final = 12 * 12 * 768**2 * 384 / 1e9

_POLLUX: Final = "T4: Pollux tables"
_GAVEL: Final = "V100, P100, K80: Gavel oracle table"
_SCALED: Final = "other types by ResNet-50's seconds per sample"


def zoo() -> dict[str, JobProfile]:
    """Return profiles of 14 well-known models by name.

    Gradients are in single precision: 4 bytes per parameter. Each profile's ``source`` gives the
    origin of its parameters and compute times, and the assumptions. There are values for V100,
    P100, K80 and T4; ``gpu``, the type of a cluster that names none, has those of V100.

    Returns
    -------
    dict
        A :class:`JobProfile` for each name.

    Examples
    --------
    >>> import gpusched as gs
    >>> gs.model.zoo()["resnet50"].gradient_bytes
    102200000.0
    """
    profiles = (
        _measured("resnet18-cifar10", 44.7e6, 128, f"11.2 M parameters; {_GAVEL}; {_POLLUX}"),
        _measured("resnet50", 102.2e6, 64, f"25.6 M parameters (torchvision); {_GAVEL}; {_POLLUX}"),
        _image("resnet152", 241e6, 32, 11.51, "60.2 M parameters (torchvision)"),
        _image("vgg16", 553e6, 32, 15.47, "138.4 M parameters (torchvision)"),
        _image("vgg19", 575e6, 32, 19.63, "143.7 M parameters (torchvision)"),
        _image("inception-v3", 95.3e6, 64, 5.71, "23.8 M parameters, no auxiliary head (Keras)"),
        _image("alexnet", 244.4e6, 128, 0.71, "61.1 M parameters (torchvision)"),
        _measured("yolov3", 248e6, 8, f"62.0 M parameters (yolov3.weights); {_POLLUX}; {_SCALED}"),
        _measured("deepspeech2", 152e6, 20, f"38 M parameters (Amodei et al., ICML 2016, the size "
                  f"at which it compares models); {_POLLUX}; {_SCALED}"),
        _measured("ncf", 6.41e6, 4096, f"1.60 M parameters (NeuMF, 32 factors, 3 layers, MovieLens "
                  f"1M: assumed to be what was measured); {_POLLUX}; {_SCALED}"),
        _measured("bert-base", 440e6, 12, f"110 M parameters (Devlin et al., NAACL 2019); {_POLLUX}"
                  f" (SQuAD); {_SCALED}"),
        _text("bert-large", 1.36e9, 4, 24 * 12 * 1024**2 * 384, "340 M parameters (Devlin et al., "
              "NAACL 2019), 384 tokens"),
        _text("xlnet-large", 1.44e9, 4, 24 * 12 * 1024**2 * 384, "360 M parameters (Yang et al., "
              "NeurIPS 2019), 384 tokens"),
        _text("gpt2-xl", 6.2e9, 1, 48 * 12 * 1600**2 * 1024, "1.56 G parameters (Radford et al., "
              "2019), 1,024 tokens"),
    )  # fmt: skip
    return {profile.name: profile for profile in profiles}


def _measured(name: str, gradient_bytes: float, batch: float, source: str) -> JobProfile:
    return _profile(name, gradient_bytes, batch, _on_every_type(name), source)


def _image(
    name: str, gradient_bytes: float, batch: float, work: float, parameters: str
) -> JobProfile:
    """Scale ResNet-50's time per sample to ``work`` (1e9 multiply-adds of an image)."""
    ratio = work / _RESNET50_WORK
    lines = {
        gpu_type: (per_sample * ratio, fixed)
        for gpu_type, (per_sample, fixed) in _on_every_type("resnet50").items()
    }
    source = (
        f"{parameters}; estimated: {ratio:.3g} times the seconds per sample of resnet50 "
        f"({work:g} over {_RESNET50_WORK:g} GMAC), the same per iteration"
    )
    return _profile(name, gradient_bytes, batch, lines, source)


def _text(
    name: str, gradient_bytes: float, batch: float, work: float, parameters: str
) -> JobProfile:
    """Scale BERT-base's time per sample to ``work`` (multiply-adds of a sequence)."""
    ratio = work / 1e9 / _BERT_BASE_WORK
    lines = {
        gpu_type: (per_sample * ratio, fixed)
        for gpu_type, (per_sample, fixed) in _on_every_type("bert-base").items()
    }
    source = (
        f"{parameters}; estimated: {ratio:.3g} times the seconds per sample of bert-base "
        "(parameters outside of the embeddings times tokens), the same per iteration"
    )
    return _profile(name, gradient_bytes, batch, lines, source)


def _on_every_type(name: str) -> dict[str, tuple[float, float]]:
    lines = {}
    for gpu_type in GPU_TYPES:
        if gpu_type in MEASURED[name]:
            lines[gpu_type] = MEASURED[name][gpu_type]
        else:
            ratio = MEASURED["resnet50"][gpu_type][0] / MEASURED["resnet50"]["T4"][0]
            per_sample, fixed = MEASURED[name]["T4"]
            lines[gpu_type] = (per_sample * ratio, fixed * ratio)
    return lines | {"gpu": lines["V100"]}


def _profile(
    name: str,
    gradient_bytes: float,
    batch: float,
    lines: dict[str, tuple[float, float]],
    source: str,
) -> JobProfile:
    forward = {gpu_type: per_sample for gpu_type, (per_sample, _) in lines.items()}
    backward = {gpu_type: fixed for gpu_type, (_, fixed) in lines.items()}
    return JobProfile(name, gradient_bytes, batch, forward, backward, source)


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
"""The models of the A-SRPT study."""


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
        1 or more. If not a multiple of the stages, the first stages have one replica more, and
        replicas of the others more work.
    stages
        Pipeline stages; None: the largest of 4, 3 and 2 that divides ``gpus``, else that fits.
    accumulation
        Batches between two exchanges of gradients, 1 or more.

    Returns
    -------
    JobGraph
        The stages and their traffic.

    Raises
    ------
    ValueError
        If the model is unknown, or a number out of range; the message names it.

    Examples
    --------
    >>> import gpusched as gs
    >>> graph = gs.model.graph_for("gpt2-xl", 8)
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
    """Return the possible numbers of stages of a job of this model, the default first."""
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
