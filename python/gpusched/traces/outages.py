"""Outages for a trace: read from files (also the events of Slurm's accounting), or drawn."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from gpusched.base.arrays import Float64, Int64
from gpusched.base.defaults import REPAIR_S
from gpusched.base.files import decode_toml, naming
from gpusched.base.rejects import Screen
from gpusched.base.source import Source
from gpusched.base.suggest import HintedError, nearest
from gpusched.base.ticks import US_PER_S, us_to_seconds
from gpusched.base.wording import plural
from gpusched.model.cluster import Cluster
from gpusched.model.outages import COLUMNS, Outages, generate_outages
from gpusched.traces import slurm_values as slurm
from gpusched.traces import text_columns as parse
from gpusched.traces.formats import generic_csv, generic_parquet, sacct, slurm_nodes
from gpusched.traces.intake.wall_clock import local_zone, ticks_of
from gpusched.traces.job_columns import NOT_A_TIME
from gpusched.traces.workload import Trace, since_1970

if TYPE_CHECKING:
    import polars

_EVENTS: Final = ("NodeName", "TimeStart", "TimeEnd", "State")
"""Columns of ``sacctmgr list event``."""
_OPEN: Final = ("unknown", "none", "n/a")
_NUM_SHOWN: Final = 5
Columns = Mapping[str, "polars.Series"]


def read_outages(
    path: str | os.PathLike[str],
    *,
    names: Sequence[str] | str | os.PathLike[str] | None = None,
    trace: Trace | None = None,
    time_zone: str | None = None,
    max_bytes: int | None = None,
) -> Outages:
    r"""Read outages of servers from a file.

    Known are CSV and Parquet with the columns of :meth:`Outages.from_columns
    <gpusched.model.outages.Outages.from_columns>` (``target`` is ``server``), TOML with a table
    ``[[outages]]`` each, and ``sacctmgr list event -P``: there ``MAINT`` is maintenance, ``DOWN``
    and ``FAIL`` are failures and ``DRAIN`` drains; other states, and nodes without a name in
    ``names``, are left out and counted in ``notes``.

    Parameters
    ----------
    names
        Names of the cluster's servers, in order; or the list of Slurm's servers that
        :func:`read_cluster` read the cluster from.
    trace
        The jobs: dates count from its second 0, and outages that end before are left out. Seconds
        count from there, too: from the first submission of a file.
    time_zone
        Time zone of dates without one, as in :func:`read_trace`.
    max_bytes
        As in :func:`read_trace`.

    Returns
    -------
    Outages
        The outages; ``notes`` has remarks.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is malformed, a server or a column is unknown, a value is bad, or there are dates but
        no ``trace`` with dates; the message names file, line, column, value and rule.

    Examples
    --------
    >>> with open("outages.csv", "w") as file:
    ...     _ = file.write("server,start_s,end_s,kind\n3,60,90,fail\n1,30,,drain\n")
    >>> gs.read_outages("outages.csv")
    Outages(1 failure, 1 drain of 2 servers, from outages.csv)
    """
    source = Source(path, max_bytes=max_bytes)
    known = names
    if isinstance(names, str | os.PathLike):
        inventory = Source(names, max_bytes=max_bytes)
        with naming(inventory):
            known = slurm_nodes.server_names(inventory)
    with naming(source), local_zone(time_zone):
        return _read(source, known, trace)


def _read(source: Source, names: Any, trace: Trace | None) -> Outages:
    if source.suffix == ".toml":
        screen, columns = _of_toml(source)
    elif generic_parquet.recognises(source):
        screen, columns, _ = generic_parquet.open_parquet(source)
    elif set(_EVENTS) <= {*source.first_line.strip().split("|")}:
        return _of_events(source, names, trace)
    else:
        screen, columns, _ = generic_csv.open_csv(source)
    asked = {"server" if name == "target" else name: name for name in columns}
    for ours, theirs in asked.items():
        if ours not in COLUMNS:
            raise ValueError(f"{source}: unknown column {theirs!r}{nearest(theirs, COLUMNS)}")
        screen.show(ours, theirs, columns[theirs])
    for ours in ("server", "start_s"):
        if ours not in asked:
            raise ValueError(f"{source}: column {ours!r} is missing; there are {', '.join(asked)}")
    if len(asked) < len(columns):
        raise ValueError(f"{source}: either of the columns 'server' and 'target' must be left out")
    num_rows = len(screen.rows)
    start_s, end_s, known_s = (
        _seconds(screen, name, columns[asked[name]], trace)
        if name in asked
        else np.full(num_rows, np.nan)
        for name in ("start_s", "end_s", "known_s")
    )
    kind = columns[asked["kind"]].to_list() if "kind" in asked else [None] * num_rows
    server = columns[asked["server"]].to_list()
    notes: tuple[str, ...] = ()
    if trace is not None and trace.epoch is None and trace.origin_s:
        notes = (f"outages: seconds after the first submission ({trace.origin_s:g} in its file)",)
    return _made(screen, server, (start_s, end_s, known_s), kind, names, notes)


def _of_toml(source: Source) -> tuple[Screen, Columns]:
    """Return the tables of a TOML file as columns of text."""
    import polars

    kind = dict[Literal["outages"], list[dict[str, int | float | str]]]
    tables = decode_toml(source.text, kind).get("outages", [])
    names = dict.fromkeys(name for table in tables for name in table)
    columns = {
        name: polars.Series(name, [str(table.get(name, "")) for table in tables]) for name in names
    }
    return Screen(str(source), np.arange(len(tables), dtype=np.int64)), columns


def _of_events(source: Source, names: Any, trace: Trace | None) -> Outages:
    """Read ``sacctmgr list event -P``."""
    table = sacct.read_sacct_table(source, "|", _EVENTS, ("Reason",))
    if names is None:
        raise HintedError(
            f"{source}: lists servers by name, and those of the cluster have none",
            " (pass names=)", " (give the output of sinfo --json as --cluster)",
        )  # fmt: skip
    screen, text = table.screen(), table.columns
    for name, label in (("start_s", "TimeStart"), ("end_s", "TimeEnd")):
        screen.show(name, label, text[label])
    start_s = _seconds(screen, "start_s", text["TimeStart"], trace)
    ends = text["TimeEnd"]
    ends = ends.set(ends.str.to_lowercase().is_in(_OPEN), "")
    end_s = _seconds(screen, "end_s", ends, trace)
    known, others, unknown = set(names), Counter[str](), Counter[str]()
    rows, servers, kinds = [], [], []
    pairs = zip(text["NodeName"].to_list(), text["State"].to_list(), strict=True)
    for row, (nodes, state) in enumerate(pairs):
        kind = _kind_of(state)
        if kind is None or not nodes:
            others[state or "blank"] += 1
            continue
        for node in slurm.names_of(nodes):
            if node not in known:
                unknown[node] += 1
                continue
            rows.append(row)
            servers.append(node)
            kinds.append(kind)
    if not rows and unknown:
        first = next(iter(unknown))
        raise ValueError(f"{source}: no server of the cluster is named as {first!r} is")
    notes = tuple(
        f"{plural(counts.total(), 'event')} left out: {what} {_shown(counts)}"
        for counts, what in ((others, "states"), (unknown, "unknown servers"))
        if counts
    )
    times_s = (start_s, end_s, np.full(len(start_s), np.nan))
    return _made(screen, servers, times_s, kinds, names, notes, np.array(rows, np.int64))


def _made(
    screen: Screen,
    server: Sequence[Any],
    times_s: Sequence[Float64],
    kind: Sequence[Any],
    names: Any,
    notes: tuple[str, ...] = (),
    rows: Int64 | None = None,
) -> Outages:
    """Return the outages, those with dates from second 0 on.

    Parameters
    ----------
    times_s
        Start, end, and from when maintenance is known.
    rows
        Rows of the file that servers and kinds belong to; None: one after another.
    """
    screen.may_be_empty = True
    screen.finish("error")
    every = np.arange(len(screen.rows)) if rows is None else rows
    start_s, end_s, known_s = (column[every] for column in times_s)
    kept = np.arange(len(every))
    if screen.is_aware:  # it has dates
        over = end_s <= 0
        kept, start_s = np.flatnonzero(~over), np.maximum(start_s, 0)
        known_s = np.maximum(known_s, 0)
        if over.any():
            count = int(np.count_nonzero(over))
            notes += (f"{plural(count, 'outage')} left out: over before second 0 of the trace",)
    part = Screen(screen.source, screen.rows[every][kept], screen.unit)
    for name, (label, values) in screen.shown.items():
        part.show(name, label, [values[row] for row in every[kept].tolist()])
    return Outages._of_screened(
        part,
        [server[row] for row in kept.tolist()],
        start_s[kept],
        end_s[kept],
        [kind[row] for row in kept.tolist()],
        known_s[kept],
        names=names,
        source=screen.source,
        notes=notes,
    )


def _kind_of(state: str) -> str | None:
    """Return the kind of a state such as ``DOWN*`` or ``IDLE+DRAIN``; None for others."""
    words = state.upper().split("+")
    if any(word.startswith("MAINT") for word in words):
        return "maint"
    if any(word.startswith(("DOWN", "FAIL")) for word in words):
        return "fail"
    return "drain" if any(word.startswith("DRAIN") for word in words) else None


def _shown(counts: Counter[str]) -> str:
    told = ", ".join(f"{name} ({count:,})" for name, count in counts.most_common(_NUM_SHOWN))
    more = len(counts) - _NUM_SHOWN
    return f"{told} and {more:,} more" if more > 0 else told


def _seconds(screen: Screen, name: str, values: polars.Series, trace: Trace | None) -> Float64:
    """Return times on the clock of the trace in seconds, NaN where there is none."""
    may_miss = name != "start_s"
    if not parse.is_wall_clock(values):
        read = parse.numbers(screen, name, screen.label(name), values, may_miss=may_miss)
        return read.astype(np.float64)
    epoch = None if trace is None else trace.epoch
    if epoch is None:
        raise HintedError(
            f"{screen.source}: has dates, and the trace has none",
            " (pass trace=, with dates)", "",
        )  # fmt: skip
    missing = NOT_A_TIME if may_miss else None
    ticks = ticks_of(screen, name, screen.label(name), values, missing=missing)
    if screen.is_aware.get(name, False) != (epoch.tzinfo is not None):
        which = ("without", "with") if epoch.tzinfo is not None else ("with", "without")
        raise ValueError(
            f"{screen.source}: has dates {which[0]} a time zone, and the trace {which[1]} one; set "
            "time_zone"
        )
    return np.where(ticks == NOT_A_TIME, np.nan, (ticks - since_1970(epoch)) / US_PER_S)


def drawn_for(
    trace: Trace, cluster: Cluster, mtbf_s: float, repair_s: float = REPAIR_S, seed: int = 0
) -> Outages:
    """Draw exponential failures for a run of this trace.

    They last until the last submission, and four times as long afterwards as the jobs take on the
    whole cluster, or the longest one alone.
    """
    alone_s = float(trace.service_s.max())
    until_s = us_to_seconds(int(trace.submit_us[-1])) + 4 * max(
        alone_s, trace.gpu_seconds / cluster.num_gpus
    )
    return generate_outages(cluster, until_s=until_s, mtbf_s=mtbf_s, repair_s=repair_s, seed=seed)
