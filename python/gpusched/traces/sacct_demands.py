"""What jobs ask for by the columns of sacct: GPUs and their types, CPUs, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.rejects import Screen
from gpusched.base.units import MIB_PER_GIB
from gpusched.traces import slurm_values as slurm

if TYPE_CHECKING:
    import polars

TRES: Final = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
"""What tells GPUs, the first that names some for a job."""
CPUS: Final = ("AllocCPUS", "NCPUS", "ReqCPUS")
NODES: Final = ("AllocNodes", "NNodes", "ReqNodes")
COLUMNS: Final = (*TRES, *CPUS, *NODES, "ReqMem")


def demand_of(
    screen: Screen, text: Mapping[str, polars.Series], gpu_types: str
) -> tuple[dict[str, AnyArray], list[str] | None]:
    """Return what each worker asks for, and the types that each job may run on."""
    given = [(name, _resources(screen, text, name)) for name in TRES if name in text]
    # The first column that names GPUs for a job speaks for it.
    chosen = given[-1][1]
    for _, read in reversed(given[:-1]):
        chosen = [own if own.gpus != 0 else other for own, other in zip(read, chosen, strict=True)]
    gpus = np.array([read.gpus for read in chosen], dtype=np.float64)
    screen.show("gpus", given[0][0], text[given[0][0]])
    screen.require(gpus != 0, "gpus", "must name GPUs (a job without)")
    screen.require(~np.isnan(gpus), "gpus", "must tell the number of GPUs")
    workers = np.maximum(np.nan_to_num(gpus, nan=1), 1)
    cpus = _first(
        np.array([read.cpus for read in chosen]),
        *(_whole(text[name]) for name in CPUS if name in text),
    )
    memory = np.array([read.memory_mib for read in chosen])
    if "ReqMem" in text:
        nodes = _first(*(_whole(text[name]) for name in NODES if name in text), np.nan * gpus)
        asked = zip(text["ReqMem"], cpus.tolist(), nodes.tolist(), strict=True)
        memory = _first(
            memory, np.array([slurm.memory_mib(t, cpus=c, nodes=n) for t, c, n in asked])
        )
    numeric: dict[str, AnyArray] = {"gpus": gpus}
    for column, amount in (("cpu", cpus), ("memory_gib", memory / MIB_PER_GIB)):
        if not np.isnan(amount).all():
            numeric[column] = amount / workers
    if gpu_types == "any":
        return numeric, None
    if gpu_types == "requested":
        chosen = next(read for name, read in given if name.startswith("Req"))
    # One text for each distinct request.
    names = {read.types: "|".join(read.types) for read in {id(r): r for r in chosen}.values()}
    return numeric, [names[read.types] for read in chosen] if any(names) else None


def _resources(
    screen: Screen, text: Mapping[str, polars.Series], name: str
) -> list[slurm.Resources]:
    if name.endswith("TRES"):
        return each(text[name], slurm.of_tres)
    # The older columns tell GPUs for each node.
    found = [text[column] for column in NODES if column in text]
    read: list[slurm.Resources] = each(text[name], slurm.of_gres)
    if not found:
        if any(resources.gpus for resources in read):
            raise ValueError(
                f"{screen.source}, line 1: {name} counts GPUs for each node, and none of "
                f"{', '.join(NODES)} is there (print it with sacct --format=...,NNodes)"
            )
        return read
    nodes = _whole(found[0]).tolist()
    return [
        slurm.Resources(resources.gpus * count if resources.gpus else 0.0, resources.types)
        for resources, count in zip(read, nodes, strict=True)
    ]


def each(values: polars.Series, read: Callable[[str], Any]) -> list[Any]:
    """Read every value; equal ones once."""
    known = {value: read(value) for value in values.unique().to_list()}
    return [known[value] for value in values.to_list()]


def _whole(values: polars.Series) -> Float64:
    import polars

    return values.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy()


def _first(*columns: AnyArray) -> Float64:
    """Return for each row the first number that is there and positive."""
    chosen = np.array(columns[0], dtype=np.float64)
    for other in columns[1:]:
        chosen = np.where(chosen > 0, chosen, other)
    return np.where(chosen > 0, chosen, np.nan)
