"""Reads tables of measured step times."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.delimited_text import Table, read_table
from gpusched.base.files import naming
from gpusched.base.real_data import need_data
from gpusched.base.source import Source

if TYPE_CHECKING:
    import polars as pl

_COLUMNS: Final = {
    "placements": ("placement", "local_bsz", "step_time", "sync_time"),
    "scalability": ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"),
}


def read_pollux(path: str | os.PathLike[str] | None = None) -> pl.DataFrame:
    r"""Read the step times that Pollux measured on servers of four T4.

    Parameters
    ----------
    path
        The folder with a subfolder per application; None: ``pollux`` in ``$GPUSCHED_DATA``.

    Returns
    -------
    polars.DataFrame
        ``application``, ``table`` (placements or scalability), ``placement`` (text; GPUs per
        server, a digit each), ``servers``, ``gpus``, ``batch`` (samples per GPU), ``step_s`` and
        ``sync_s``.

    Raises
    ------
    OSError
        If a file cannot be opened.
    ValueError
        If there is no folder, a header differs, or a value is not as it must be; the message
        names file and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("pollux/bert").mkdir(parents=True)
    >>> _ = Path("pollux/bert/placements.csv").write_text(
    ...     "placement,local_bsz,step_time,sync_time\n11,8,0.5,0.1\n"
    ... )
    >>> _ = Path("pollux/bert/scalability.csv").write_text(
    ...     "num_nodes,num_replicas,local_bsz,step_time,sync_time\n1,2,8,0.4,0.1\n"
    ... )
    >>> gs.models.read_pollux("pollux")["gpus"].to_list()
    [2, 2]
    """
    if path is None:
        path = need_data("pollux", "read_pollux")
    with naming(path):
        return _read_folder(Path(path))


def _read_folder(path: Path) -> pl.DataFrame:
    import polars as pl

    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    frames = [_read(folder / f"{name}.csv", name) for folder in folders for name in _COLUMNS]
    if not frames:
        raise ValueError(f"{path}: has no folder of an application")
    return pl.concat(frames)


def _read(path: Path, name: str) -> pl.DataFrame:
    import polars as pl

    table = read_table(Source(path))
    raw = pl.DataFrame(table.columns)
    if tuple(raw.columns) != _COLUMNS[name]:
        raise ValueError(f"{path}: line 1: expected {','.join(_COLUMNS[name])}")
    if name == "scalability":
        digits = _even_placements(table, raw["num_nodes"], raw["num_replicas"])
        raw = raw.with_columns(pl.Series("placement", digits, dtype=pl.String))
    _require(table, raw["placement"], raw["placement"].str.contains("^[1-9]+$"), "digits from 1 up")
    numbers = {"local_bsz": "batch", "step_time": "step_s", "sync_time": "sync_s"}
    columns = []
    for theirs, ours in numbers.items():
        values = raw[theirs].cast(pl.Float64, strict=False).alias(ours)
        good = values.is_finite() & (values >= 0 if ours == "sync_s" else values > 0)
        _require(table, raw[theirs], good, "a positive number" if ours != "sync_s" else "0 or more")
        columns.append(values)
    per_server = raw["placement"].str.split("").list.eval(pl.element().cast(pl.Int64))
    return pl.DataFrame(
        [
            pl.repeat(path.parent.name, len(raw), eager=True).alias("application"),
            pl.repeat(name, len(raw), eager=True).alias("table"),
            raw["placement"],
            per_server.list.len().cast(pl.Int64).alias("servers"),
            per_server.list.sum().alias("gpus"),
            *columns,
        ]
    )


def _even_placements(table: Table, servers: pl.Series, gpus: pl.Series) -> list[str]:
    """Spread the GPUs evenly over the servers, the first ones take what is left."""
    import polars as pl

    for column in (servers, gpus):
        good = column.str.contains("^[1-9][0-9]{0,3}$")
        _require(table, column, good, "a whole number, 1 or more")
    counts = (servers.cast(pl.Int64), gpus.cast(pl.Int64))
    _require(table, gpus, counts[1] >= counts[0], "at least one per server")
    _require(table, gpus, counts[1] <= 9 * counts[0], "at most nine per server")
    return [
        "".join(str(w // s + (index < w % s)) for index in range(s))
        for s, w in zip(counts[0].to_list(), counts[1].to_list(), strict=True)
    ]


def _require(table: Table, values: pl.Series, good: pl.Series, rule: str) -> None:
    bad = np.flatnonzero(~good.fill_null(False).to_numpy())
    if bad.size:
        row = int(bad[0])
        raise ValueError(
            f"{table.source}: line {table.lines[row]}, column {values.name!r}: {values[row]!r} "
            f"must be {rule}"
        )
