"""Outages: when servers are down, drained or maintained, from a list or drawn."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from gpusched.base import draws
from gpusched.base.arrays import AnyArray, Float64, Int32, Int64, accumulate, freeze_columns
from gpusched.base.field_checks import check_positive, entries, is_missing, real_numbers
from gpusched.base.rejects import Screen
from gpusched.base.replacing import replacing
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us, us_to_seconds
from gpusched.base.wording import duration, plural
from gpusched.model.cluster import MAX_SERVERS, Cluster

if TYPE_CHECKING:
    import polars

KINDS: Final = ("fail", "drain", "maint")
COLUMNS: Final = ("server", "start_s", "end_s", "kind", "known_s")
FAIL: Final = KINDS.index("fail")
MAINT: Final = KINDS.index("maint")
ANY: Final = tuple(range(len(KINDS)))
HITTING: Final = (FAIL, MAINT)
"""Kinds of outages that interrupt the jobs of their server; the other lets them run on."""
NEVER: Final = -1
"""End of an outage of a server that is never back."""
NEVER_US: Final = 2**62
"""The same, where ends are compared."""
MAX_DRAWN: Final = 2**24
"""Most outages that are drawn."""
_SHOWN_NAMES: Final = 20
_MAX_S: Final = MAX_SUBMIT_US / US_PER_S
Distribution = Literal["exponential", "weibull"]
DISTRIBUTIONS: Final = get_args(Distribution)


@dataclass(frozen=True, eq=False, repr=False)
class Outages:
    """Outages of servers as read-only columns, sorted by start and then by their order.

    A server fails with all jobs on it, or is drained: jobs go on, but none starts. Maintenance
    interrupts jobs as a failure does, but is none, and may be known before. Outages of one server
    may overlap; it is back when none is left. Build them with :meth:`from_columns`,
    :func:`gpusched.read_outages` or :func:`gpusched.generate_outages`.

    Attributes
    ----------
    server
        int32: server of the cluster.
    start_us, end_us
        int64 microseconds on the clock of the trace; an end of -1 is never.
    kind
        uint8: 0 for ``"fail"``, 1 for ``"drain"``, 2 for ``"maint"``.
    row
        int64: line in the source file, or position in the input.
    source
        Where they come from.
    notes
        Remarks on how the source was read, a sentence each.
    until_s
        End of the time for which they were drawn, seconds; None: a complete list.
    known_us
        int64: from when policies know of maintenance; the start for other kinds. None: there is no
        maintenance.
    """

    server: Int32
    start_us: Int64
    end_us: Int64
    kind: npt.NDArray[np.uint8]
    row: Int64
    source: str = "columns"
    notes: tuple[str, ...] = ()
    until_s: float | None = None
    known_us: Int64 | None = None

    def __post_init__(self) -> None:
        freeze_columns(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle loses the read-only flag of NumPy arrays

    def __len__(self) -> int:
        return len(self.server)

    def __repr__(self) -> str:
        return f"Outages({self})"

    def __str__(self) -> str:
        failures, drains, windows = np.bincount(self.kind, minlength=len(KINDS)).tolist()
        counts = f"{plural(failures, 'failure')}, {plural(drains, 'drain')}"
        counts += f", {plural(windows, 'maintenance window')}" * (windows > 0)
        return f"{counts} of {plural(len(np.unique(self.server)), 'server')}, from {self.source}"

    @classmethod
    def from_columns(
        cls,
        server: Any,
        start_s: Any,
        end_s: Any = None,
        kind: Any = None,
        known_s: Any = None,
        *,
        names: Sequence[str] | None = None,
    ) -> Outages:
        """Build outages from columns of equal length, in any order.

        Parameters
        ----------
        server
            Servers of the cluster, counted from 0, or their ``names``.
        start_s, end_s
            Seconds on the clock of the trace, 0 or more; the end is later than the start. NaN or
            None: never back.
        kind
            ``"fail"`` (default), ``"drain"`` or ``"maint"``.
        known_s
            For ``"maint"`` alone: from when policies know of it, up to ``start_s``, which is
            unknown beforehand. NaN or None: 0, from the start of the trace.
        names
            Names of the cluster's servers, in order.

        Returns
        -------
        Outages
            The outages, sorted by start.

        Raises
        ------
        TypeError
            If a column has a wrong type; the message names it.
        ValueError
            If a value is bad (the message names column, row, value and rule), or lengths differ.

        Examples
        --------
        >>> outages = gs.Outages.from_columns([0, 1], [60, 30], [90, None], ["fail", "drain"])
        >>> outages.to_polars()["end_s"].to_list()
        [None, 90.0]
        """
        started = real_numbers("column 'start_s'", start_s)
        if started.ndim != 1:
            raise ValueError(f"column 'start_s' must be one-dimensional, not {started.ndim}")
        screen = Screen("columns", np.arange(len(started), dtype=np.int64))
        nothing = np.full(len(started), np.nan)
        ended = nothing if end_s is None else real_numbers("column 'end_s'", end_s)
        known = nothing if known_s is None else real_numbers("column 'known_s'", known_s)
        kinds = [kind] * len(started)
        if not (kind is None or isinstance(kind, str)):
            kinds = entries("column 'kind'", kind, "text")
        servers = entries("column 'server'", server, "servers")
        return cls._of_screened(screen, servers, started, ended, kinds, known, names=names)

    @classmethod
    def _of_screened(
        cls,
        screen: Screen,
        server: Sequence[Any],
        start_s: AnyArray,
        end_s: AnyArray,
        kind: Sequence[Any],
        known_s: AnyArray,
        *,
        names: Sequence[str] | None = None,
        **said: Any,
    ) -> Outages:
        """Build outages from the columns of a reader; ``screen`` has the rows.

        Parameters are those of :meth:`from_columns`, and ``source`` and ``notes``.
        """
        screen.may_be_empty = True
        values_of = (server, start_s, end_s, kind, known_s)
        given: dict[str, Any] = dict(zip(COLUMNS, values_of, strict=True))
        for name, values in given.items():
            if len(values) != len(screen.rows):
                raise ValueError(
                    f"column {name!r} has length {len(values):,}, not {len(screen.rows):,}"
                )
        screen.show_others(given)
        place = _places(screen, server, names)
        start_us = _ticks(screen, "start_s", start_s)
        has_end = ~np.isnan(end_s.astype(np.float64))
        end_us = _ticks(screen, "end_s", np.where(has_end, end_s, 0))
        screen.require((end_us > start_us) | ~has_end, "end_s", "must be after start_s")
        asked = ["fail" if is_missing(each) or each == "" else each for each in kind]
        is_known = np.array([each in KINDS for each in asked], np.bool_)
        screen.require(is_known, "kind", f"must be {', '.join(KINDS[:-1])} or {KINDS[-1]}")
        is_maint = np.array([each == "maint" for each in asked], np.bool_)
        is_said = ~np.isnan(known_s.astype(np.float64))
        screen.require(is_maint | ~is_said, "known_s", "must be blank unless kind is maint")
        known_us = _ticks(screen, "known_s", np.where(is_said, known_s, 0))
        screen.require(known_us <= start_us, "known_s", "must not be after start_s")
        screen.finish("error")
        order = np.argsort(start_us, kind="stable")
        number = np.array([KINDS.index(each) for each in asked], np.uint8)
        ends = np.where(has_end, end_us, NEVER)
        if is_maint.any():
            said["known_us"] = np.where(is_maint, known_us, start_us)[order]
        return cls(
            place[order], start_us[order], ends[order], number[order], screen.rows[order], **said
        )

    @property
    def is_known_ahead(self) -> bool:
        """Whether policies know of some maintenance before it begins."""
        return self.known_us is not None and bool((self.known_us < self.start_us).any())

    @property
    def sha256(self) -> str:
        """The SHA-256 of the outages, as hexadecimal text."""
        sha = hashlib.sha256(b"gpusched outages 1")
        for values, dtype in zip(self._columns, ("<i4", "<i8", "<i8", "u1"), strict=True):
            sha.update(np.ascontiguousarray(values, dtype).tobytes())
        if self.known_us is not None:
            sha.update(b"known" + np.ascontiguousarray(self.known_us, "<i8").tobytes())
        return sha.hexdigest()

    @property
    def _columns(self) -> tuple[AnyArray, ...]:
        return self.server, self.start_us, self.end_us, self.kind

    def to_polars(self) -> polars.DataFrame:
        """Return the outages as a Polars frame.

        Returns
        -------
        polars.DataFrame
            Columns server, start_s, end_s (null: never back) and kind; with maintenance known_s.

        Examples
        --------
        >>> gs.Outages.from_columns([3], [60], [90]).to_polars().rows()
        [(3, 60.0, 90.0, 'fail')]
        """
        import polars

        ends = [None if end == NEVER else end / US_PER_S for end in self.end_us.tolist()]
        columns = {
            "server": self.server,
            "start_s": us_to_seconds(self.start_us),
            "end_s": polars.Series(ends, dtype=polars.Float64),
            "kind": polars.Series([KINDS[kind] for kind in self.kind], dtype=polars.String),
        }
        if self.known_us is not None:
            said = zip(self.kind.tolist(), self.known_us.tolist(), strict=True)
            known = [us / US_PER_S if kind == MAINT else None for kind, us in said]
            columns["known_s"] = polars.Series(known, dtype=polars.Float64)
        return polars.DataFrame(columns)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the outages as CSV; :func:`gpusched.read_outages` reads it back.

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
        >>> gs.Outages.from_columns([3], [60], [90]).to_csv("outages.csv")
        >>> len(gs.read_outages("outages.csv"))
        1
        """
        frame = self.to_polars()
        with replacing(path) as partial:
            frame.write_csv(partial)


def core_outages(outages: Outages, cluster: Cluster) -> dict[str, list[int]]:
    """Return the arguments of the core's description of a run.

    Servers with several GPU types are several servers there, which have the same outages.

    Returns
    -------
    dict
        ``outage_server``, ``outage_start_us``, ``outage_end_us`` and ``outage_kind``; and
        ``outage_known_us`` if maintenance is known ahead.

    Raises
    ------
    ValueError
        If the cluster does not have a server; the message names the row.
    """
    unknown = np.flatnonzero(outages.server >= cluster.num_servers)
    if unknown.size:
        row, last = int(unknown[0]), cluster.num_servers - 1
        raise ValueError(
            f"{outages.source}, row {outages.row[row]}, column 'server': unknown server "
            f"{outages.server[row]}; the last one is {last}"
        )
    rows, server = list(range(len(outages))), outages.server.tolist()
    if (first := cluster.server_part_of) is not None:
        parts: dict[int, list[int]] = {}
        for part, one in enumerate(first.tolist()):
            parts.setdefault(one, []).append(part)
        pairs = [(row, part) for row in rows for part in parts[first[server[row]]]]
        rows, server = [row for row, _ in pairs], [part for _, part in pairs]
    names = ["start_us", "end_us", "kind", *["known_us"] * outages.is_known_ahead]
    others = {f"outage_{name}": getattr(outages, name)[rows].tolist() for name in names}
    return {"outage_server": server, **others}


def spans(
    cluster: Cluster, outages: Outages | None, kinds: Sequence[int] = ANY
) -> tuple[Int64, Int64, Int64]:
    """Return server, begin and end of the times with an open outage, by server and time.

    Outages that overlap or touch are one.

    Parameters
    ----------
    kinds
        The kinds that count.
    """
    if outages is None:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    columns = [np.array(column, np.int64) for column in core_outages(outages, cluster).values()]
    server, start_us, end_us = (column[np.isin(columns[3], kinds)] for column in columns[:3])
    end_us[end_us < 0] = NEVER_US
    one = np.ones(len(server), np.int64)
    of, time_us, num_open = accumulate(
        np.concatenate((server, server)),
        np.concatenate((start_us, end_us)),
        np.concatenate((one, -one)),
    )
    begins = (num_open > 0) & (np.append(0, num_open)[:-1] == 0)
    return of[begins], time_us[begins], time_us[num_open == 0]


def changed(outages: Outages | None, server: int, us: int, kind: int, *, begins: bool) -> Outages:
    """Return the outages with one more of a server from a time on, or with those of it ended.

    Raises
    ------
    ValueError
        If none of the kind is to be ended.
    """
    known = outages
    if known is None:
        known = replace(Outages.from_columns([], []), source="an open run")
    names = ("server", "start_us", "end_us", "kind", "row", "known_us")
    columns: dict[str, Any] = {name: getattr(known, name) for name in names}
    if known.known_us is None:
        del columns["known_us"]
    if begins:
        more = (server, us, NEVER, kind, len(known), us)[: len(columns)]
        for (name, column), value in zip(columns.items(), more, strict=True):
            columns[name] = np.append(column, np.array(value, column.dtype))
        rows = np.argsort(columns["start_us"], kind="stable")
    else:
        is_open = (known.server == server) & (known.kind == kind) & (known.start_us <= us)
        is_open &= (known.end_us == NEVER) | (known.end_us > us)
        if not is_open.any():
            raise ValueError(f"server: {server} is not {'failed' if kind == FAIL else 'drained'}")
        columns["end_us"] = np.where(is_open, us, known.end_us)
        rows = np.flatnonzero(columns["end_us"] != known.start_us)  # the others never begin
    return replace(known, **{name: column[rows] for name, column in columns.items()})


def outage_remarks(outages: Outages, first_submit_us: int) -> list[str]:
    """Warn about outages that overlap or have no effect."""
    order = np.lexsort((outages.start_us, outages.server))
    server, start_us, end_us = (column[order] for column in outages._columns[:3])
    lasts = (end_us[:-1] == NEVER) | (end_us[:-1] > start_us[1:])
    overlap = order[1:][lasts & (server[1:] == server[:-1])]
    over = np.flatnonzero((outages.end_us != NEVER) & (outages.end_us <= first_submit_us))
    return [
        f"outages: {plural(len(rows), 'row')} {what} (first: row {outages.row[rows].min()})"
        for rows, what in (
            (overlap, "with a start while another outage of the server lasts"),
            (over, "with an end before the first submission"),
        )
        if len(rows)
    ]


def _places(screen: Screen, server: Sequence[Any], names: Sequence[str] | None) -> Int32:
    """Return the servers that numbers or names stand for."""
    known = {} if names is None else {name: place for place, name in enumerate(names)}
    found = np.full(len(server), -1, np.int64)
    for row, value in enumerate(server):
        if value in known:
            found[row] = known[value]
        elif isinstance(value, int | float | np.integer | np.floating):
            is_place = not isinstance(value, bool) and 0 <= value < MAX_SERVERS
            found[row] = value if is_place and value == int(value) else -1
        elif isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) < 10:
            found[row] = int(value)
        elif isinstance(value, str) and known:
            hint = nearest(value, list(known))
            hint = hint if len(known) <= _SHOWN_NAMES or "did you mean" in hint else ""
            raise ValueError(f"{screen.place(row, 'server')}: unknown server {value!r}{hint}")
    screen.require((found >= 0) & (found < MAX_SERVERS), "server", "must be the number of a server")
    return found.astype(np.int32)


def _ticks(screen: Screen, column: str, seconds: AnyArray) -> Int64:
    """Return times in microseconds; those that are not valid are 0."""
    screen.require(np.isfinite(seconds), column, "must be a finite number")
    screen.require(seconds >= 0, column, "must not be negative")
    good = screen.require(seconds <= _MAX_S, column, f"must be at most {_MAX_S:.0f} s")
    return seconds_to_us(np.where(good, seconds, 0))


def generate_outages(
    cluster: Cluster,
    *,
    until_s: float,
    mtbf_s: float,
    repair_s: float,
    distribution: Distribution = "exponential",
    shape: float | None = None,
    repair_distribution: Distribution = "exponential",
    repair_shape: float | None = None,
    seed: int = 0,
) -> Outages:
    """Draw failures of servers, each independent of the others and of the schedule.

    A server fails after a drawn time, is repaired after another, and so on; all are new at 0. A
    longer time only adds outages.

    Parameters
    ----------
    until_s
        Outages start before this time, seconds.
    mtbf_s, repair_s
        Mean time from the start or a repair to the next failure, and mean time to repair, seconds.
    distribution, repair_distribution
        ``"exponential"`` or ``"weibull"``.
    shape, repair_shape
        Shape of a Weibull distribution, more than 0; below 1 the hazard falls.
    seed
        0 or more. Draw n of a server depends only on the seed and its number.

    Returns
    -------
    Outages
        The failures, sorted by start; ``source`` states how they were drawn.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong type or out of range, or there would be more than 16,777,216
        outages; the message names it.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(4)
    >>> outages = gs.generate_outages(cluster, until_s=1e6, mtbf_s=1e5, repair_s=1e4, seed=1)
    >>> 20 < len(outages) < 60
    True
    """
    until_s = check_positive("until_s", until_s, high=_MAX_S)
    up = _Draws("mtbf_s", mtbf_s, distribution, shape)
    down = _Draws("repair_s", repair_s, repair_distribution, repair_shape, "repair_")
    seed = draws.check_seed(seed)
    first = cluster.server_part_of
    every = np.arange(cluster.num_servers)
    servers: Int64 = every if first is None else every[first == every]
    if len(servers) * until_s / (up.mean_s + down.mean_s) > MAX_DRAWN:
        raise ValueError(
            f"mtbf_s: {mtbf_s:g} makes more than {MAX_DRAWN:,} outages until {until_s:g} s"
        )
    until_us = int(seconds_to_us(np.array(until_s)))
    clock_us = np.zeros(len(servers), np.int64)
    found, number = [], 0
    while len(servers):
        start_us = clock_us + up.ticks(seed, servers, 2 * number)
        fails = start_us < until_us
        servers, start_us = servers[fails], start_us[fails]
        repair_us = down.ticks(seed, servers, 2 * number + 1)
        clock_us = np.minimum(start_us + repair_us, MAX_SUBMIT_US)
        found.append((servers, start_us, clock_us))
        number += 1
    server, start_us, end_us = map(np.concatenate, zip(*found, strict=True))
    order = np.lexsort((server, start_us))
    return Outages(
        server[order].astype(np.int32),
        start_us[order],
        end_us[order],
        np.zeros(len(order), np.uint8),
        np.arange(len(order), dtype=np.int64),
        source=f"draws: MTBF {up}, repair {down}, seed {seed}, until {duration(until_s)}",
        until_s=until_s,
    )


class _Draws:
    """A distribution of times with a given mean; ``prefix`` is that of the arguments' names."""

    def __init__(
        self, name: str, mean_s: Any, distribution: Any, shape: Any, prefix: str = ""
    ) -> None:
        self.mean_s = check_positive(name, mean_s, high=_MAX_S)
        if distribution not in DISTRIBUTIONS:
            hint = nearest(str(distribution), DISTRIBUTIONS)
            raise ValueError(f"{prefix}distribution: unknown {distribution!r}{hint}")
        if (shape is None) == (distribution == "weibull"):
            raise ValueError(f"{prefix}shape: must be given for weibull, and only for it")
        self.shape = 1.0 if shape is None else check_positive(f"{prefix}shape", shape, 0.05, 100.0)

    def __str__(self) -> str:
        how = "exponential" if self.shape == 1 else f"Weibull of shape {self.shape:g}"
        return f"{duration(self.mean_s)} ({how})"

    def ticks(self, seed: int, servers: Int64, number: int) -> Int64:
        """Return draw ``number`` of each server in microseconds, at least 1."""
        exponential: Float64 = -np.log1p(-draws.uniform(seed, draws.FAILURES, servers, number))
        scale_s = self.mean_s / math.gamma(1 + 1 / self.shape)
        seconds = np.minimum(scale_s * exponential ** (1 / self.shape), _MAX_S)
        return np.maximum(seconds_to_us(seconds), 1)
