"""Measured throughputs of several models: what :func:`gpusched.model.read_throughputs` returns."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec
import numpy as np

from gpusched.base.delimited_text import Table as TextTable
from gpusched.base.delimited_text import read_table
from gpusched.base.files import naming
from gpusched.base.libraries import polars
from gpusched.base.real_data import need_data
from gpusched.base.replacing import replacing
from gpusched.base.source import Source
from gpusched.model.profiles import (
    AnyProfiles,
    Curve,
    JobProfile,
    Table,
    filled_table,
    greatest_count,
    known_profiles,
    lowered,
    profiles_of,
    runs_anywhere,
)

OnRise = Literal["note", "error", "lower"]
ON_RISE: Final = ("note", "error", "lower")
COLUMNS: Final = ("model", "gpu_type", "gpus", "iterations_per_s", "spread")
"""Columns of a table in a file or a frame; the last one is optional."""


class Throughputs(Mapping[str, JobProfile]):
    """Profiles with throughputs, by model.

    Parameters
    ----------
    profiles
        Profiles with distinct names.
    source
        Origin of the profiles.
    notes
        Omitted or unusual values, one sentence each.

    Examples
    --------
    >>> import gpusched as gs
    >>> profile = gs.model.JobProfile("m", throughput={"V100": {1: 10.0, 2: 18.0}})
    >>> from gpusched.model.throughputs import Throughputs
    >>> Throughputs(profile)["m"].throughput["V100"][2]
    18.0
    """

    def __init__(
        self, profiles: AnyProfiles, source: str = "profiles", notes: tuple[str, ...] = ()
    ) -> None:
        self._profiles = {profile.name: profile for profile in known_profiles(profiles)}
        for profile in self._profiles.values():
            if not (profile.throughput or profile.samples_per_s):
                raise ValueError(f"{source}: profile {profile.name!r} has no throughput")
        self.source = source
        self.notes = notes

    def __getitem__(self, model: str) -> JobProfile:
        return self._profiles[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._profiles)

    def __len__(self) -> int:
        return len(self._profiles)

    def __repr__(self) -> str:
        types = ", ".join(self.gpu_types)
        return f"Throughputs({len(self)} models on {types}, from {self.source})"

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that some model has throughputs for."""
        named = [(*p.throughput, *p.samples_per_s) for p in self._profiles.values()]
        return tuple(dict.fromkeys(gpu_type for types in named for gpu_type in types))

    def concave(self) -> Throughputs:
        """Return tables in which no GPU gains more than the previous one.

        From the lowest number of GPUs on, a throughput that rises faster than before is lowered to
        the line; the others stay.

        Returns
        -------
        Throughputs
            Tables of the same models; these are unchanged.

        Examples
        --------
        >>> measured = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18, 4: 40}})
        >>> gs.model.Throughputs(measured).concave()["m"].throughput["V100"][4]
        34.0
        """
        return self._changed(
            lambda table: {name: lowered(curve) for name, curve in table.items()},
            f"{self.source}, lowered to concave tables",
        )

    def extended(self, max_gpus: int) -> Throughputs:
        """Extrapolate the tables to ``max_gpus``, doubling the number of GPUs.

        See :func:`gpusched.model.profiles.filled_table`. A type with one known number of GPUs
        follows the other types; a model without a type with more stays unchanged.

        Returns
        -------
        Throughputs
            Tables of the same models; these are unchanged.

        Raises
        ------
        TypeError
            If ``max_gpus`` is not an integer.
        ValueError
            If it does not lie in 1..1,000,000.

        Examples
        --------
        >>> measured = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> list(gs.model.Throughputs(measured).extended(8)["m"].throughput["V100"])
        [1, 2, 4, 8]
        """
        if isinstance(max_gpus, bool) or not isinstance(max_gpus, int | np.integer):
            raise TypeError(f"max_gpus: {max_gpus!r} must be an integer")
        if not 1 <= max_gpus <= 1_000_000:
            raise ValueError(f"max_gpus: {max_gpus} must lie in 1..1,000,000")

        def extend(table: Table) -> Table:
            if all(len(curve) == 1 for curve in table.values()):
                return table
            known = {count for curve in table.values() for count in curve}
            last = greatest_count(table)
            while last * 2 <= max_gpus:
                last *= 2
                known.add(last)
            if last < max_gpus:
                last = int(max_gpus)
                known.add(last)
            return filled_table(table, sorted(known), last)

        return self._changed(extend, f"{self.source}, extended to {max_gpus} GPUs")

    def to_polars(self) -> polars.DataFrame:
        """Return the measured throughputs as a Polars frame.

        Returns
        -------
        polars.DataFrame
            Columns model, gpu_type, gpus, iterations_per_s and spread (null: none).

        Examples
        --------
        >>> measured = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> gs.model.Throughputs(measured).to_polars().rows()
        [('m', 'V100', 1, 10.0, None), ('m', 'V100', 2, 18.0, None)]
        """
        rows = [
            (name, gpu_type, count, number, profile.spread_throughput.get(gpu_type, {}).get(count))
            for name, profile in self._profiles.items()
            for gpu_type, curve in profile.throughput.items()
            for count, number in curve.items()
        ]
        types = (polars.String, polars.String, polars.Int64, polars.Float64, polars.Float64)
        schema = dict(zip(COLUMNS, types, strict=True))
        return polars.DataFrame(rows, schema=schema, orient="row")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV; :func:`gpusched.model.read_throughputs` reads it back.

        Returns
        -------
        None
            The file is replaced atomically.

        Raises
        ------
        OSError
            If the file cannot be written; an existing one is unchanged.

        Examples
        --------
        >>> measured = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> gs.model.Throughputs(measured).to_csv("measured.csv")
        >>> gs.model.read_throughputs("measured.csv")["m"].throughput["V100"][2]
        18.0
        """
        frame = self.to_polars()
        with replacing(path) as partial:
            frame.write_csv(partial)

    def _changed(self, change: Callable[[Table], Table], source: str) -> Throughputs:
        profiles = []
        for profile in self._profiles.values():
            changes: dict[str, Any] = {
                field: change(getattr(profile, field))
                for field in ("throughput", "spread_throughput")
                if getattr(profile, field)
            }
            profiles.append(msgspec.structs.replace(profile, **changes))
        return Throughputs(profiles, source, self.notes)


def checked_rises(throughputs: Throughputs, on_rise: str) -> Throughputs:
    """Note, reject or lower tables that are not concave.

    Raises ValueError if ``on_rise`` is ``"error"`` and there is one; the message names the first.
    """
    if on_rise not in ON_RISE:
        raise ValueError(f"on_rise: {on_rise!r} must be one of {', '.join(ON_RISE)}")
    lines = [line for profile in throughputs.values() for line in profile.check_concave()]
    if not lines:
        return throughputs
    others = f" (and {len(lines) - 1:,} more tables)" if len(lines) > 1 else ""
    said = f"not concave: {lines[0]}{others}"
    if on_rise == "error":
        raise ValueError(f"{throughputs.source}: {said}")
    noted = Throughputs(dict(throughputs), throughputs.source, (*throughputs.notes, said))
    return noted.concave() if on_rise == "lower" else noted


def profile_of(
    model: str, packed: Mapping[str, Curve], spread: Mapping[str, Curve], **others: Any
) -> JobProfile:
    """Make a profile of tables, without types that were measured spread only."""
    kept = {gpu_type: curve for gpu_type, curve in spread.items() if gpu_type in packed}
    return JobProfile(model, throughput=dict(packed), spread_throughput=kept, **others)


_SCALED_KEY: Final = re.compile(r"\('([^']+)', ([1-9]\d{0,5})\)")
_BATCH: Final = re.compile(r".*\(batch size ([1-9]\d{0,8})\)")
UNCONSOLIDATED: Final = "_unconsolidated"


class Key(NamedTuple):
    """A key of a table: the job type, and its number of GPUs or None."""

    job_type: str
    gpus: int | None


def parse_key(text: str) -> Key:
    """Parse ``('ResNet-18 (batch size 16)', 4)`` or the job type alone, without evaluating it."""
    scaled = _SCALED_KEY.fullmatch(text)
    return Key(scaled[1], int(scaled[2])) if scaled else Key(text, None)


def batch_size(job_type: str) -> int | None:
    """Return the batch size in a job type, or None."""
    named = _BATCH.fullmatch(job_type)
    return None if named is None else int(named[1])


def read_isolated(source: Source) -> dict[str, dict[Key, float | None]]:
    """Return steps per second of jobs that share no GPU, by the file's GPU types.

    None if a job was measured only with a partner.
    """
    with naming(source):
        tables = msgspec.json.decode(source.text, type=dict[str, dict[str, dict[str, Any]]])
    return {
        gpu_type: {
            parse_key(key): _gavel_number(f"{source}: {gpu_type!r}, {key!r}", entry.get("null"))
            for key, entry in table.items()
        }
        for gpu_type, table in tables.items()
    }


def _gavel_number(place: str, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{place}: the throughput must be below 1.8e308") from None


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

        - ``.json``: a table of Gavel (OSDI 2020). Job types are models, isolated values are
          throughputs, ``*_unconsolidated`` those of spread GPUs; types become upper case. Keys
          without a number of GPUs mean one GPU.
        - a folder: the tables of Pollux (OSDI 2021), a folder per model, measured on T4.
        - ``.toml``, or ``.json`` with ``profiles``: see :func:`gpusched.model.read_profiles`.
        - any other file: CSV with the columns model, gpu_type, gpus, iterations_per_s and
          optionally spread (tabs in ``.tsv``).
        - a Polars or pandas frame with these columns.
    on_rise
        If a GPU gains more than the previous one: ``"note"`` it in ``notes``, raise an
        ``"error"``, or ``"lower"`` such values, see :meth:`Throughputs.concave`.
    global_batch
        For Pollux: samples per iteration of all GPUs, one number or one per model. None: the
        largest number measured on one GPU.

    Returns
    -------
    Throughputs
        Throughputs by model; ``notes`` lists unusual values.

    Raises
    ------
    OSError
        If a file cannot be opened.
    TypeError, ValueError
        If the source is malformed, a value is negative or not finite, a model has none, or fits no
        GPU type; the message names the source and the row, or the model.

    Examples
    --------
    >>> with open("speeds.csv", "w") as file:
    ...     _ = file.write("model,gpu_type,gpus,iterations_per_s\nm,V100,1,2.5\nm,V100,2,4.0\n")
    >>> "m" in gs.model.read_throughputs("speeds.csv")
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
    for name, table in read_isolated(source).items():
        is_spread = name.endswith(UNCONSOLIDATED)
        gpu_type = name.removesuffix(UNCONSOLIDATED).upper()
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
        notes.append(f"{num_partnered:,} entries left out: measured only with a partner")
    if num_unscaled:
        notes.append(f"{num_unscaled:,} entries without a number of GPUs; assumed 1")
    profiles = []
    for model, tables in packed.items():
        with naming(path):
            samples = _gavel_samples(model, tables)
            profiles.append(
                profile_of(model, tables, spread.get(model, {}), source=path.name, **samples)
            )
    return Throughputs(profiles, str(path), tuple(notes))


def _gavel_samples(model: str, tables: Mapping[str, Curve]) -> dict[str, Any]:
    """Return a single worker's samples; a step is a batch, or one sample without a batch size.

    The global batch is that of the largest job in the table.
    """
    batch = batch_size(model) or 1
    alone = {gpu_type: curve[1] * batch for gpu_type, curve in tables.items() if 1 in curve}
    if not any(alone.values()):
        return {}
    widest = max(n for curve in tables.values() for n, rate in curve.items() if rate > 0)
    return {"samples_per_s": alone, "global_batch": batch * widest}


_POLLUX_COLUMNS: Final = {
    "placements": ("placement", "local_bsz", "step_time", "sync_time"),
    "scalability": ("num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"),
}


def read_pollux(path: str | os.PathLike[str] | None = None) -> polars.DataFrame:
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
        If there is no folder, a header differs, or a value is invalid; the message names file
        and line.

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
    >>> gs.model.read_pollux("pollux")["gpus"].to_list()
    [2, 2]
    """
    if path is None:
        path = need_data("pollux", "read_pollux")
    with naming(path):
        return _pollux_folder(Path(path))


def _pollux_folder(path: Path) -> polars.DataFrame:
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir())
    frames = [
        _pollux_table(folder / f"{name}.csv", name)
        for folder in folders
        for name in _POLLUX_COLUMNS
    ]
    if not frames:
        raise ValueError(f"{path}: has no application folder")
    return polars.concat(frames)


def _pollux_table(path: Path, name: str) -> polars.DataFrame:
    table = read_table(Source(path))
    raw = polars.DataFrame(table.columns)
    if tuple(raw.columns) != _POLLUX_COLUMNS[name]:
        raise ValueError(f"{path}: line 1: expected {','.join(_POLLUX_COLUMNS[name])}")
    if name == "scalability":
        digits = _even_placements(table, raw["num_nodes"], raw["num_replicas"])
        raw = raw.with_columns(polars.Series("placement", digits, dtype=polars.String))
    _require(table, raw["placement"], raw["placement"].str.contains("^[1-9]+$"), "digits from 1 up")
    numbers = {"local_bsz": "batch", "step_time": "step_s", "sync_time": "sync_s"}
    columns = []
    for theirs, ours in numbers.items():
        values = raw[theirs].cast(polars.Float64, strict=False).alias(ours)
        good = values.is_finite() & (values >= 0 if ours == "sync_s" else values > 0)
        _require(table, raw[theirs], good, "a positive number" if ours != "sync_s" else "0 or more")
        columns.append(values)
    per_server = raw["placement"].str.split("").list.eval(polars.element().cast(polars.Int64))
    return polars.DataFrame(
        [
            polars.repeat(path.parent.name, len(raw), eager=True).alias("application"),
            polars.repeat(name, len(raw), eager=True).alias("table"),
            raw["placement"],
            per_server.list.len().cast(polars.Int64).alias("servers"),
            per_server.list.sum().alias("gpus"),
            *columns,
        ]
    )


def _even_placements(table: TextTable, servers: polars.Series, gpus: polars.Series) -> list[str]:
    """Spread the GPUs evenly over the servers, with the remainder on the first ones."""
    for column in (servers, gpus):
        good = column.str.contains("^[1-9][0-9]{0,3}$")
        _require(table, column, good, "a whole number, 1 or more")
    counts = (servers.cast(polars.Int64), gpus.cast(polars.Int64))
    _require(table, gpus, counts[1] >= counts[0], "at least one per server")
    _require(table, gpus, counts[1] <= 9 * counts[0], "at most nine per server")
    return [
        "".join(str(w // s + (index < w % s)) for index in range(s))
        for s, w in zip(counts[0].to_list(), counts[1].to_list(), strict=True)
    ]


def _require(table: TextTable, values: polars.Series, good: polars.Series, rule: str) -> None:
    bad = np.flatnonzero(~good.fill_null(False).to_numpy())
    if bad.size:
        row = int(bad[0])
        raise ValueError(
            f"{table.source}: line {table.lines[row]}, column {values.name!r}: {values[row]!r} "
            f"must be {rule}"
        )


def _read_pollux(path: Path, global_batch: int | Mapping[str, int] | None) -> Throughputs:
    table = read_pollux(path)
    profiles = []
    for application, part in sorted(table.partition_by("application", as_dict=True).items()):
        model = str(application[0])
        given = global_batch.get(model) if isinstance(global_batch, Mapping) else global_batch
        with naming(path):
            profiles.append(_pollux_profile(model, part, given))
    return Throughputs(profiles, str(path))


def _pollux_profile(model: str, part: polars.DataFrame, given: int | None) -> JobProfile:
    alone = part.filter(polars.col("gpus") == 1)
    if given is None:
        if alone.is_empty():
            raise ValueError(f"profile {model!r}: global_batch is needed, as none ran on one GPU")
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
        # On the fewest and on the most servers that were measured.
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
    """Return the mean step time at a batch per GPU, interpolated between measured ones.

    None outside the measured batches.
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
    table = read_table(source, separator="\t" if source.suffix == ".tsv" else ",")
    return _of_frame(polars.DataFrame(table.columns), str(source), table.lines.tolist())


def _polars(frame: Any) -> polars.DataFrame:
    return frame if isinstance(frame, polars.DataFrame) else polars.DataFrame(dict(frame.items()))


def _of_frame(
    frame: polars.DataFrame, where: str, lines: Sequence[int] | None = None
) -> Throughputs:
    """Read a table; messages give the line of a row, or its number if there are no lines."""
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
            raise ValueError(f"{place} 'gpus': {model!r} on {count} {gpu_type} occurs twice")
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
        with naming(where):
            profiles.append(profile_of(model, tables, spread.get(model, {}), source=where))
    return Throughputs(profiles, where)


def _name(place: str, column: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{place} {column!r}: {value!r} must be a name")
    return value.strip()


def _count(place: str, value: Any) -> int:
    number = _number(value)
    if number is None or not 1 <= number <= 1_000_000 or number != int(number):
        raise ValueError(f"{place} 'gpus': {value!r} must be an integer of at least 1")
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
