"""Reads measured throughputs: Gavel's and Pollux's tables, profiles, CSV and frames."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from gpusched.base.delimited_text import read_table
from gpusched.base.files import naming
from gpusched.base.source import Source
from gpusched.models import gavel_tables
from gpusched.models.profiles import JobProfile, profiles_of
from gpusched.models.throughput_tables import Curve, runs_anywhere
from gpusched.models.throughputs import COLUMNS, OnRise, Throughputs, checked_rises, profile_of

if TYPE_CHECKING:
    import polars


def read_throughputs(
    source: str | os.PathLike[str] | Any,
    *,
    on_rise: OnRise = "note",
    global_batch: int | Mapping[str, int] | None = None,
) -> Throughputs:
    r"""Read iterations per second by model, GPU type and number of GPUs.

    Parameters
    ----------
    source
        One of these:

        - ``.json``: a table of Gavel (OSDI 2020). A job type is a model, an isolated figure a
          throughput, ``*_unconsolidated`` the figures for spread GPUs; types are in capitals.
          Keys without a number of GPUs are of one GPU.
        - a folder: the tables of Pollux (OSDI 2021), a folder per model, measured on T4.
        - ``.toml``, or ``.json`` with ``profiles``: see :func:`gpusched.models.read_profiles`.
        - any other file: CSV with the columns model, gpu_type, gpus, iterations_per_s and, if
          there are such figures, spread (tabs in ``.tsv``).
        - a Polars or pandas frame with these columns.
    on_rise
        Where a further GPU gains more than the one before: ``"note"`` it in ``notes``, raise an
        ``"error"``, or ``"lower"`` such figures, see :meth:`Throughputs.concave`.
    global_batch
        For Pollux: samples per iteration of all GPUs, one number or one per model. None: the most
        that were measured on one GPU.

    Returns
    -------
    Throughputs
        By model; ``notes`` says what is odd in the figures.

    Raises
    ------
    OSError
        If a file cannot be opened.
    TypeError, ValueError
        If it is malformed, a figure is negative or not finite, a model has none, or fits no GPU
        type; the message names the source and the row, or the model.

    Examples
    --------
    >>> with open("speeds.csv", "w") as file:
    ...     _ = file.write("model,gpu_type,gpus,iterations_per_s\nm,V100,1,2.5\nm,V100,2,4.0\n")
    >>> "m" in gs.models.read_throughputs("speeds.csv")
    True
    """
    if hasattr(source, "columns"):
        return checked_rises(_of_frame(_polars(source), "frame"), on_rise)
    path = Path(source)
    with naming(path):
        return checked_rises(_read(path, global_batch), on_rise)


def _read(path: Path, global_batch: int | Mapping[str, int] | None) -> Throughputs:
    if global_batch is not None and not path.is_dir():
        raise ValueError(f"{path}: global_batch is for the tables of Pollux, a folder")
    if path.is_dir():
        return _read_pollux(path, global_batch)
    source = Source(path)
    if source.suffix == ".toml":
        return Throughputs(profiles_of(source), str(path))
    return _read_json(source) if source.suffix == ".json" else _read_csv(source)


def _read_json(source: Source) -> Throughputs:
    keys = msgspec.json.decode(source.text, type=dict[str, msgspec.Raw]).keys()
    if keys == {"profiles"}:
        return Throughputs(profiles_of(source), str(source))
    return _read_gavel(source)


def _read_gavel(source: Source) -> Throughputs:
    path = source.path
    packed: dict[str, dict[str, Curve]] = {}
    spread: dict[str, dict[str, Curve]] = {}
    num_partnered = num_unscaled = 0
    for name, table in gavel_tables.read_isolated(source).items():
        is_spread = name.endswith(gavel_tables.UNCONSOLIDATED)
        gpu_type = name.removesuffix(gavel_tables.UNCONSOLIDATED).upper()
        for key, rate in table.items():
            if rate is None:
                num_partnered += 1
                continue
            num_unscaled += key.gpus is None
            curves = (spread if is_spread else packed).setdefault(key.job_type, {})
            curves.setdefault(gpu_type, {})[key.gpus or 1] = rate
    if not packed:
        raise ValueError(f"{path}: has no isolated throughput")
    notes = []
    if num_partnered:
        notes.append(f"{num_partnered:,} entries left out: measured beside a partner only")
    if num_unscaled:
        notes.append(f"{num_unscaled:,} entries name no number of GPUs, taken for one")
    profiles = []
    for model, tables in packed.items():
        with _naming(path):
            samples = _gavel_samples(model, tables)
            profiles.append(
                profile_of(model, tables, spread.get(model, {}), source=path.name, **samples)
            )
    return Throughputs(profiles, str(path), tuple(notes))


def _gavel_samples(model: str, tables: Mapping[str, Curve]) -> dict[str, Any]:
    """Return what a worker does by itself; a step is a batch, or one sample if no size is named.

    The batch that all workers share is as large as that of the widest gang in the table.
    """
    batch = gavel_tables.batch_size(model) or 1
    alone = {gpu_type: curve[1] * batch for gpu_type, curve in tables.items() if 1 in curve}
    if not any(alone.values()):
        return {}
    widest = max(n for curve in tables.values() for n, rate in curve.items() if rate > 0)
    return {"samples_per_s": alone, "global_batch": batch * widest}


def _read_pollux(path: Path, global_batch: int | Mapping[str, int] | None) -> Throughputs:
    from gpusched.models.step_times import read_pollux

    table = read_pollux(path)
    profiles = []
    for application, part in sorted(table.partition_by("application", as_dict=True).items()):
        model = str(application[0])
        given = global_batch.get(model) if isinstance(global_batch, Mapping) else global_batch
        with _naming(path):
            profiles.append(_pollux_profile(model, part, given))
    return Throughputs(profiles, str(path))


def _pollux_profile(model: str, part: polars.DataFrame, given: int | None) -> JobProfile:
    import polars

    alone = part.filter(polars.col("gpus") == 1)
    if given is None:
        if alone.is_empty():
            raise ValueError(f"profile {model!r}: global_batch: is missing, none ran on one GPU")
        given = int(np.max(alone["batch"].to_numpy()))
    if isinstance(given, bool) or not isinstance(given, int | np.integer):
        raise TypeError(f"profile {model!r}: global_batch: {given!r} must be an integer")
    if given < 1:
        raise ValueError(f"profile {model!r}: global_batch: {given} must be at least 1")
    packed: Curve = {}
    spread: Curve = {}
    for gpus, rows in sorted(part.partition_by("gpus", as_dict=True).items()):
        count = int(gpus[0])
        servers = rows["servers"].to_numpy()
        # On as few servers as were measured, and on as many.
        for curve, number in ((packed, servers.min()), (spread, servers.max())):
            chosen = rows.filter(polars.col("servers") == int(number))
            step_s = _step_s(chosen, given / count)
            if step_s is not None:
                curve[count] = 1 / step_s
    if not packed:
        raise ValueError(f"profile {model!r}: no number of GPUs was measured at batch {given}")
    samples: dict[str, Any] = {"global_batch": int(given)}
    if 1 in packed:
        samples["samples_per_s"] = {"T4": packed[1] * given}
    tables = ({"T4": packed}, {"T4": spread} if spread else {})
    return profile_of(model, *tables, source="Pollux tables, T4", **samples)


def _step_s(rows: polars.DataFrame, batch: float) -> float | None:
    """Read the mean step time at a batch per GPU, straight between the nearest two measured ones.

    None outside of the batches that were measured.
    """
    sizes = rows["batch"].to_numpy()
    seconds = rows["step_s"].to_numpy()
    known = np.unique(sizes)
    if not known[0] <= batch <= known[-1]:
        return None
    above = int(np.searchsorted(known, batch))
    high = float(np.mean(seconds[sizes == known[above]]))
    if known[above] == batch:
        return high
    low = float(np.mean(seconds[sizes == known[above - 1]]))
    part = (batch - known[above - 1]) / (known[above] - known[above - 1])
    return low + (high - low) * float(part)


def _read_csv(source: Source) -> Throughputs:
    import polars

    table = read_table(source, separator="\t" if source.suffix == ".tsv" else ",")
    return _of_frame(polars.DataFrame(table.columns), str(source), table.lines.tolist())


def _polars(frame: Any) -> polars.DataFrame:
    import polars

    return frame if isinstance(frame, polars.DataFrame) else polars.DataFrame(dict(frame.items()))


def _of_frame(
    frame: polars.DataFrame, where: str, lines: Sequence[int] | None = None
) -> Throughputs:
    """Read a table; messages tell the line of a row, or its number where there are no lines."""
    for name in COLUMNS[:-1]:
        if name not in frame.columns:
            listed = ", ".join(frame.columns)
            raise ValueError(f"{where}: column {name!r} is missing; there are {listed}")
    if frame.is_empty():
        raise ValueError(f"{where}: has no rows")
    unit = "row" if lines is None else "line"
    rows = frame.select([name for name in COLUMNS if name in frame.columns]).to_dicts()
    packed: dict[str, dict[str, Curve]] = {}
    spread: dict[str, dict[str, Curve]] = {}
    for number, row in zip(range(len(rows)) if lines is None else lines, rows, strict=True):
        place = f"{where}, {unit} {number}, column"
        model, gpu_type = (_name(place, name, row[name]) for name in ("model", "gpu_type"))
        count = _count(place, row["gpus"])
        curve = packed.setdefault(model, {}).setdefault(gpu_type, {})
        if count in curve:
            raise ValueError(f"{place} 'gpus': {model!r} on {count} {gpu_type} is there twice")
        curve[count] = _rate(place, "iterations_per_s", row["iterations_per_s"])
        other = row.get("spread")
        if other is not None and other != "" and other == other:  # a NaN differs from itself
            rates = spread.setdefault(model, {}).setdefault(gpu_type, {})
            rates[count] = _rate(place, "spread", other)
    for model, tables in packed.items():
        if not runs_anywhere(tables):
            raise ValueError(f"{where}: model {model!r} has no throughput above 0 on any GPU type")
    profiles = []
    for model, tables in packed.items():
        with _naming(where):
            profiles.append(profile_of(model, tables, spread.get(model, {}), source=where))
    return Throughputs(profiles, where)


def _name(place: str, column: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{place} {column!r}: {value!r} must be a name")
    return value.strip()


def _count(place: str, value: Any) -> int:
    number = _number(value)
    if number is None or not 1 <= number <= 1_000_000 or number != int(number):
        raise ValueError(f"{place} 'gpus': {value!r} must be a whole number, 1 or more")
    return int(number)


def _rate(place: str, column: str, value: Any) -> float:
    number = _number(value)
    if number is None or not 0 <= number < float("inf"):
        raise ValueError(f"{place} {column!r}: {value!r} must be finite and at least 0")
    return number


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


class _naming:
    """Puts where a profile comes from before what is wrong with it."""

    def __init__(self, where: object) -> None:
        self._where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"{self._where}: {error}") from None
