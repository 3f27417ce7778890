"""A job as a graph: pipeline stages of replicas, their compute times and traffic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from gpusched.base.field_checks import check_distinct, check_integer, check_name, not_negative
from gpusched.model.profiles import PerType, per_type

MAX_REPLICAS: Final = 1_000_000
_MAX_BYTES: Final = 1e15
_MAX_SECONDS: Final = 1e6


class Stage(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Equal replicas of a model part, one GPU each.

    Attributes
    ----------
    replicas
        1 to 1,000,000.
    compute_s
        Compute seconds of a replica per iteration, forward and backward, more than 0: one value
        for all GPU types, or one per type.
    parameter_bytes
        Bytes of parameters of the stage, 0 to 1e15; its replicas all-reduce as many bytes.
    activation_bytes
        Bytes of activations that the whole stage sends to the next per iteration, 0 to 1e15; the
        gradients sent back are as large. 0 for the last stage.

    Raises
    ------
    TypeError, ValueError
        If a value is of a wrong type or out of range; the message names the field.
    """

    replicas: int
    compute_s: PerType
    parameter_bytes: float
    activation_bytes: float = 0.0

    def __post_init__(self) -> None:
        check_integer("replicas", self.replicas, 1, MAX_REPLICAS)
        set_field = msgspec.structs.force_setattr
        set_field(self, "compute_s", per_type("compute_s", self.compute_s, _MAX_SECONDS))
        for gpu_type in self.gpu_types or ("",):
            seconds = self.seconds(gpu_type)
            if not seconds > 0:
                where = f"compute_s[{gpu_type!r}]" if gpu_type else "compute_s"
                raise ValueError(f"{where}: {seconds} must be positive")
        for field in ("parameter_bytes", "activation_bytes"):
            set_field(self, field, not_negative(field, getattr(self, field), _MAX_BYTES))

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types with values; empty: one value for all types."""
        return tuple(self.compute_s) if isinstance(self.compute_s, dict) else ()

    def seconds(self, gpu_type: str) -> float:
        """Return the compute seconds of an iteration on ``gpu_type``.

        Returns
        -------
        float
            NaN without a figure for that type.

        Examples
        --------
        >>> stage = gs.model.Stage(2, {"V100": 0.2}, parameter_bytes=1e8)
        >>> stage.seconds("V100"), stage.seconds("T4")
        (0.2, nan)
        """
        if isinstance(self.compute_s, dict):
            return self.compute_s.get(gpu_type, math.nan)
        return self.compute_s


class JobGraph(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A model and its parallel configuration; one stage is pure data parallelism.

    Each replica of a stage exchanges an equal part of the activations with each replica of the
    next. The replicas of one stage reduce their gradients in a ring.

    Attributes
    ----------
    name
        Unique among the graphs of a trace.
    stages
        In the order of the pipeline, at least one.
    source
        Origin of the values.

    Raises
    ------
    TypeError, ValueError
        If there is no stage, the last one sends activations, or a stage lacks a GPU type that
        another has; the message names graph, stage and field.

    Examples
    --------
    >>> import gpusched as gs
    >>> first = gs.model.Stage(2, 0.2, parameter_bytes=7e8, activation_bytes=1.3e7)
    >>> gs.model.JobGraph("bert 2+1", (first, gs.model.Stage(1, 0.1, parameter_bytes=7e8))).gpus
    3
    """

    name: str
    stages: tuple[Stage, ...]
    source: str = ""

    def __post_init__(self) -> None:
        check_name("name", self.name)
        where = f"graph {self.name!r}: "
        if not isinstance(self.stages, tuple) or not all(isinstance(s, Stage) for s in self.stages):
            raise TypeError(f"{where}stages: must be a tuple of Stage")
        if not self.stages:
            raise ValueError(f"{where}stages: at least one is needed")
        last = len(self.stages) - 1
        if self.stages[last].activation_bytes > 0:
            raise ValueError(
                f"{where}stages[{last}].activation_bytes: must be 0, there is no next stage"
            )
        for position, stage in enumerate(self.stages):
            missing = [t for t in self.gpu_types if math.isnan(stage.seconds(t))]
            if missing:
                raise ValueError(
                    f"{where}stages[{position}].compute_s: "
                    f"has no figure for GPU type {missing[0]!r}"
                )

    @property
    def gpus(self) -> int:
        """Replicas of all stages: the job's number of GPUs."""
        return sum(stage.replicas for stage in self.stages)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types with values; empty: one value for all types."""
        return tuple(dict.fromkeys(t for stage in self.stages for t in stage.gpu_types))


AnyGraphs: TypeAlias = JobGraph | Sequence[JobGraph] | Mapping[str, JobGraph]


def known_graphs(graphs: AnyGraphs) -> tuple[JobGraph, ...]:
    """Return the graphs as a tuple; raise if there are none, or two of one name."""
    if isinstance(graphs, JobGraph):
        graphs = (graphs,)
    known = tuple(graphs.values() if isinstance(graphs, Mapping) else graphs)
    for graph in known:
        if not isinstance(graph, JobGraph):
            raise TypeError(f"graphs: expected a JobGraph, not {graph!r}")
    check_distinct("graphs", [graph.name for graph in known])
    return known
