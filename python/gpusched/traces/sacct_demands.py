"""What jobs ask for by the columns of sacct: GPUs and their types, CPUs, memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64
from gpusched.base.rejects import Screen
from gpusched.base.units import MIB_PER_GIB
from gpusched.traces import slurm_values as slurm
from gpusched.traces.intake.declared_columns import ReadColumns

if TYPE_CHECKING:
    import polars

TRES: Final = ("AllocTRES", "ReqTRES", "AllocGRES", "ReqGRES")
"""What tells GPUs, the first that names some for a job."""
CPUS: Final = ("AllocCPUS", "NCPUS", "ReqCPUS")
NODES: Final = ("AllocNodes", "NNodes", "ReqNodes")
COLUMNS: Final = (*TRES, *CPUS, *NODES, "ReqMem")


def demand_of(read: ReadColumns, gpu_types: str) -> None:
    """Take what each job asks for, and the types that it may run on."""
    screen, text = read.screen, read.data
    given = [(name, _resources(screen, text, name)) for name in TRES if name in text]
    # The first column that names GPUs for a job speaks for it.
    chosen = given[-1][1]
    for _, first in reversed(given[:-1]):
        chosen = [own if own.gpus != 0 else last for own, last in zip(first, chosen, strict=True)]
    gpus = np.array([asked.gpus for asked in chosen], dtype=np.float64)
    screen.show("gpus", given[0][0], text[given[0][0]])
    screen.require(gpus != 0, "gpus", "must name GPUs (a job without)")
    screen.require(~np.isnan(gpus), "gpus", "must tell the number of GPUs")
    cpus = _first(
        np.array([asked.cpus for asked in chosen]),
        *(numbers_of(text[name]) for name in CPUS if name in text),
    )
    memory = np.array([asked.memory_mib for asked in chosen])
    if "ReqMem" in text:
        nodes = _first(*(numbers_of(text[name]) for name in NODES if name in text), np.nan * gpus)
        sizes = zip(text["ReqMem"], cpus.tolist(), nodes.tolist(), strict=True)
        memory = _first(
            memory, np.array([slurm.memory_mib(t, cpus=c, nodes=n) for t, c, n in sizes])
        )
    read.numeric["gpus"] = gpus
    for column, amount in (("cpu", cpus), ("memory_gib", memory / MIB_PER_GIB)):
        if not np.isnan(amount).all():
            read.numeric[column] = amount
            read.of_job.add(column)
    if gpu_types == "any":
        return
    if gpu_types == "requested":
        chosen = next(asked for name, asked in given if name.startswith("Req"))
    # One text for each distinct request.
    names = {asked.types: "|".join(asked.types) for asked in {id(a): a for a in chosen}.values()}
    if any(names):
        read.gpu_types = [names[asked.types] for asked in chosen]


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
    nodes = numbers_of(found[0]).tolist()
    return [
        slurm.Resources(resources.gpus * count if resources.gpus else 0.0, resources.types)
        for resources, count in zip(read, nodes, strict=True)
    ]


def each(values: polars.Series, read: Callable[[str], Any]) -> list[Any]:
    """Read every value; equal ones once."""
    known = {value: read(value) for value in values.unique().to_list()}
    return [known[value] for value in values.to_list()]


def numbers_of(values: polars.Series) -> Float64:
    """Return what are numbers; NaN for all else."""
    import polars

    return values.cast(polars.Float64, strict=False).fill_null(np.nan).to_numpy()


def _first(*columns: AnyArray) -> Float64:
    """Return for each row the first number that is there and positive."""
    chosen = np.array(columns[0], dtype=np.float64)
    for other in columns[1:]:
        chosen = np.where(chosen > 0, chosen, other)
    return np.where(chosen > 0, chosen, np.nan)
