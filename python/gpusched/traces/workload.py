"""The workload: a :class:`Trace` of jobs as columns, sorted by submit time."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, Self

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import (
    AnyArray,
    Bool,
    Float64,
    Int32,
    Int64,
    freeze_columns,
    nearest_rank,
    read_only,
)
from gpusched.base.field_checks import check_name, numbered
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.libraries import polars
from gpusched.base.rejects import OnBad, Rejects, Screen
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us, us_to_seconds
from gpusched.base.units import MIB_PER_GIB, MILLI_PER_CORE, WHOLE_GPU
from gpusched.model.job_graphs import AnyGraphs, JobGraph, known_graphs
from gpusched.model.profiles import AnyProfiles, JobProfile, known_profiles
from gpusched.traces import checked_columns as check
from gpusched.traces.intake.column_choice import INTERARRIVAL, choose_columns
from gpusched.traces.intake.wall_clock import UNIX_EPOCH, is_iso
from gpusched.traces.job_columns import (
    JOB_COLUMNS,
    NO_LIMIT,
    NOT_A_TIME,
    NOT_GIVEN,
    JobColumn,
    moved,
)
from gpusched.traces.text_columns import cumulated, of_a_run

PROFILES_DRAWN: Final = "profiles drawn from "
GRAPHS_DRAWN: Final = "graphs drawn from "
DEADLINES_DRAWN: Final = "deadlines drawn by "
"""Start of the part of a trace's source that describes a draw."""
_RECIPES: Final = {"elasticflow": (0.5, 1.5), "constant": (1.0, 1.0)}
"""Time from submit to deadline, in run times x tightness: drawn uniformly from these ranges.

``elasticflow``: Gu et al., ASPLOS 2023.
"""
_TICK: Final = timedelta(microseconds=1)
_SHOWN_JOBS: Final = 5
_SHOWN_FILES: Final = 3
_TABLES: Final = {"type_set": "type_sets", "profile": "profiles", "graph": "graphs"}
"""The tables that index columns point into."""
_NUM_OF: Final = {
    "status": "num_statuses",
    "qos": "num_qos",
    "dependency": "num_dependencies",
    "ran_on": "num_types_ran_on",
}


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Jobs as read-only columns, sorted by submit time and then by their order in the input.

    A job's index in these columns is its JobId. Build one with :meth:`from_columns`,
    :meth:`from_polars`, :meth:`from_pandas`, :func:`gpusched.read_trace` or
    :func:`gpusched.generate`.

    Attributes
    ----------
    submit_us, service_us, gpus
        int64 microseconds: submission, and run time on an idle cluster; int32: number of GPUs.
    row
        int64: physical line in the source file (1 is the first), or position in the input.
    id
        int64 or text: the job's name in the source.
    estimate_us, predicted_us, checkpoint_us, restart_us, source_wait_us, deadline_us, ...
        Other columns of :data:`~gpusched.traces.job_columns.JOB_COLUMNS`, or None: times as int64
        microseconds, -1 where a job has none, 2**62 where it is held for good; ``share_milli``,
        ``cpu_milli`` and ``memory_mib`` in thousandths and MiB; numbers of GPUs as int32; other
        numbers as float64.
    user, queue, group, status, partition, account, qos, dependency, array, ran_on
        :class:`~gpusched.base.labels.Labels` or None.
    type_sets, type_set
        Distinct sets of allowed GPU types (``()`` = any), and the int32 index of each job's set
        or None if no job is restricted.
    profiles, profile
        The costs of an iteration, and the int32 index of each job's profile or None if the jobs
        have none; see :meth:`with_profiles`.
    graphs, graph
        Stages, replicas and their traffic, and the int32 index of each job's graph or None if the
        jobs have none; see :meth:`with_graphs`.
    epoch
        Wall-clock time of tick 0, if the source has one.
    origin_s
        Seconds subtracted from the source's submit times so that the first is 0.
    reference_type
        The GPU type that run times, estimates and predictions refer to; None: see
        :meth:`with_reference_type`.
    source
        Where the jobs come from, with the choices made in reading them.
    rejects
        Rejected rows of the source.
    notes
        Remarks on how the source was read, a sentence each.
    """

    submit_us: Int64
    service_us: Int64
    gpus: Int32
    row: Int64
    id: AnyArray
    estimate_us: Int64 | None = None
    predicted_us: Int64 | None = None
    weight: Float64 | None = None
    checkpoint_us: Int64 | None = None
    restart_us: Int64 | None = None
    checkpoint_every_us: Int64 | None = None
    checkpoint_write_us: Int64 | None = None
    max_requeues: Int32 | None = None
    requeue_back: Int32 | None = None
    source_wait_us: Int64 | None = None
    share_milli: Int32 | None = None
    cpu_milli: Int64 | None = None
    memory_mib: Int64 | None = None
    deadline_us: Int64 | None = None
    value: Float64 | None = None
    min_gpus: Int32 | None = None
    max_gpus: Int32 | None = None
    time_limit_us: Int64 | None = None
    eligible_us: Int64 | None = None
    cancel_at_us: Int64 | None = None
    array_limit: Int32 | None = None
    priority: Float64 | None = None
    nice: Float64 | None = None
    gpus_per_node: Int32 | None = None
    user: Labels | None = None
    queue: Labels | None = None
    group: Labels | None = None
    status: Labels | None = None
    partition: Labels | None = None
    account: Labels | None = None
    qos: Labels | None = None
    dependency: Labels | None = None
    array: Labels | None = None
    ran_on: Labels | None = None
    type_sets: tuple[tuple[str, ...], ...] = ()
    type_set: Int32 | None = None
    profiles: tuple[JobProfile, ...] = ()
    profile: Int32 | None = None
    graphs: tuple[JobGraph, ...] = ()
    graph: Int32 | None = None
    name: str = "trace"
    source: str = "columns"
    epoch: datetime | None = None
    origin_s: float = 0.0
    reference_type: str | None = None
    rejects: Rejects = field(default_factory=Rejects)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_columns(self)
        wrong = set(() if self.status is None else self.status.names) - set(STATUSES)
        if wrong:
            raise ValueError(f"status: {min(wrong)!r} must be one of {', '.join(STATUSES)}")

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle loses the read-only flag of NumPy arrays

    def __len__(self) -> int:
        return len(self.submit_us)

    @classmethod
    def from_columns(
        cls,
        submit_s: Any,
        service_s: Any,
        gpus: Any,
        *,
        id: Any = None,
        user: Any = None,
        queue: Any = None,
        group: Any = None,
        status: Any = None,
        estimate_s: Any = None,
        predicted_s: Any = None,
        weight: Any = None,
        gpu_share: Any = None,
        cpu: Any = None,
        memory_gib: Any = None,
        deadline_s: Any = None,
        value: Any = None,
        min_gpus: Any = None,
        max_gpus: Any = None,
        gpu_types: Any = None,
        checkpoint_s: Any = None,
        restart_s: Any = None,
        checkpoint_every_s: Any = None,
        checkpoint_write_s: Any = None,
        max_requeues: Any = None,
        requeue_back: Any = None,
        source_wait_s: Any = None,
        profile: Any = None,
        profiles: AnyProfiles = (),
        graph: Any = None,
        graphs: AnyGraphs = (),
        time_limit_s: Any = None,
        eligible_s: Any = None,
        cancel_at_s: Any = None,
        array: Any = None,
        array_limit: Any = None,
        priority: Any = None,
        nice: Any = None,
        partition: Any = None,
        account: Any = None,
        qos: Any = None,
        dependency: Any = None,
        ran_on: Any = None,
        gpus_per_node: Any = None,
        name: str = "trace",
        epoch: datetime | None = None,
        on_bad: OnBad = "error",
    ) -> Self:
        """Build a trace from columns of equal length, in any order of submission.

        A column is a list or an array of NumPy, pandas, Polars or Arrow, which is copied. Masked
        and null values are missing. Seconds may be durations in any unit.

        Parameters
        ----------
        submit_s, service_s
            Seconds: 0 or more, and more than 0. Rounded half to even to microseconds. Submit
            times may be dates instead, of any library or as ISO 8601 text; the first becomes
            :attr:`epoch` and second 0.
        gpus
            Whole numbers, 1 or more.
        id
            Unique integers or text; default: the position in the columns.
        user, queue, group
            One name per job (text, integers or :class:`~gpusched.base.labels.Labels`).
        status
            In the same way: ``"ok"``, ``"failed"``, ``"killed"`` or ``"unknown"``; a missing one
            is ``"unknown"``.
        estimate_s, predicted_s, source_wait_s
            Seconds; NaN where a job has none.
        weight
            More than 0.
        gpu_share
            Share of a GPU that a 1-GPU job takes, above 0 and at most 1, rounded to thousandths;
            NaN: a whole GPU.
        cpu, memory_gib
            CPU cores and GiB of memory of each worker, 0 or more; NaN: none.
        deadline_s
            Seconds on the clock of ``submit_s``, or dates if those are; after the submission.
            NaN where a job has none.
        value
            Value of meeting the deadline, more than 0; NaN: 1.
        min_gpus, max_gpus
            Whole numbers, at most and at least ``gpus``: limits on the job's GPUs under an elastic
            performance model; NaN: 1, and no limit.
        gpu_types
            Allowed types per job as ``"V100|T4"`` or a collection; empty or None = any.
        checkpoint_s, restart_s
            The job's own part of the restart overhead, seconds.
        checkpoint_every_s, checkpoint_write_s
            Seconds of work between two checkpoints, more than 0, and seconds to write one, 0 or
            more: after a failure the job goes on from its last one. NaN: none, and 0.
        max_requeues
            Whole numbers, 0 or more: after so many failures of its servers, the next one ends the
            job; NaN: no limit.
        requeue_back
            1 where the job, after a failure or maintenance of its servers, is queued as if it were
            submitted then; 0 or NaN: it keeps its place.
        time_limit_s
            Seconds after which a run of the job is ended, more than 0; NaN: none.
        profile, profiles
            Per job the name or index of one of the ``profiles``. A single profile applies to all
            jobs.
        graph, graphs
            Per job the name or index of one of the ``graphs``; it must have as many replicas as the
            job has gpus. None: the one graph with so many replicas.
        eligible_s, cancel_at_s
            Seconds on the clock of ``submit_s``, or dates if those are; NaN: none. The job is not
            in the queue before it is eligible, which is not before its submission; infinite: it is
            held for good. The user cancels it at ``cancel_at_s``, after the submission, if it is
            not over.
        dependency
            The jobs that it waits for, in the grammar of Slurm: ``"afterok:7"``,
            ``"after:7+5,singleton"``, ``"afterany:7?afterok:a"``; empty: none. A target is an id,
            or the name of an array.
        array, array_limit
            The array of which the job is a task, empty for none, and how many of its tasks may be
            queued or running at once, 1 or more, equal for all of them; NaN: no limit.
        priority, nice
            Numbers; NaN: 0. Jobs of a higher ``priority - nice`` go first, under policies that work
            through a list.
        partition, account, qos
            A name per job each. These are kept, but no policy uses them.
        ran_on
            The GPU type that each job ran on, empty for none; if types differ in speed, its run
            time refers to that type.
        gpus_per_node
            Whole numbers that divide ``gpus``: GPUs on each of its servers; NaN or 0: the placement
            decides.
        name, epoch
            A title, and the wall-clock time of second 0 (unless ``submit_s`` has dates).
        on_bad
            ``"error"`` raises at the first bad row; ``"reject"`` leaves bad rows out and counts
            them in :attr:`rejects`.

        Returns
        -------
        Trace
            The jobs, sorted by submission.

        Raises
        ------
        TypeError
            If a column has a wrong type; the message names it.
        ValueError
            If a value is bad (the message names column, row, value and rule), lengths differ, an
            id occurs twice, or no job is left.

        Examples
        --------
        >>> trace = gs.Trace.from_columns(submit_s=[0, 5.5], service_s=[3600, 60], gpus=[8, 1])
        >>> len(trace), trace.gpu_seconds
        (2, 28860.0)
        """
        given = {key: value for key, value in locals().items() if key in JOB_COLUMNS}
        from gpusched.traces import model_choice
        from gpusched.traces.intake import given_dates

        dates = given_dates.dates_in("submit_s", submit_s)
        num_rows = len(check.numbers("submit_s", submit_s) if dates is None else dates)
        screen = Screen("columns", np.arange(num_rows, dtype=np.int64))
        if not num_rows:
            screen.finish(on_bad)
        timed: dict[str, AnyArray] = {}
        if dates is not None:
            if epoch is not None:
                raise ValueError("epoch: the dates in 'submit_s' have their own")
            moments = {
                name: given[name]
                for name, column in JOB_COLUMNS.items()
                if column.kind == "moment" and name != "submit_s"
            }
            timed = given_dates.dated(screen, dates, moments)
            epoch = UNIX_EPOCH
        seconds = {
            column: given[column]
            for column in check.NUMERIC
            if JOB_COLUMNS[column].stored not in timed
        }
        required = [column for column in check.REQUIRED if column in seconds]
        numeric = timed | check.given_numbers(seconds, num_rows, required)
        models: dict[str, Any] = {}
        if profile is not None or isinstance(profiles, JobProfile) or profiles:
            models |= model_choice.given_profiles(profile, profiles, num_rows)
        has_graphs = graph is not None or isinstance(graphs, JobGraph) or bool(graphs)
        if graph is not None:
            known = known_graphs(graphs)
            models["graph"] = model_choice.graph_index(graph, known, numeric["gpus"])
        made = cls._of_screened(
            screen,
            numeric,
            ids=None if id is None else check.identifiers("id", id, num_rows),
            labels=check.given_labels(screen, {key: given[key] for key in check.LABELS}, num_rows),
            gpu_types=gpu_types,
            models=models,
            on_bad=on_bad,
            name=name,
            epoch=epoch,
            rebase=dates is not None,
        )
        return made.with_graphs(graphs, made.graph) if has_graphs else made

    @classmethod
    def _of_screened(
        cls,
        screen: Screen,
        numeric: Mapping[str, AnyArray],
        *,
        ids: AnyArray | None = None,
        labels: Mapping[str, Labels] | None = None,
        gpu_types: Any = None,
        models: Mapping[str, Any] | None = None,
        on_bad: OnBad = "error",
        name: str = "trace",
        source: str = "columns",
        epoch: datetime | None = None,
        rebase: bool = False,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Build a trace from the columns of a reader; ``screen`` has the rows.

        Parameters are those of :func:`gpusched.traces.checked_columns.checked_jobs`, and fields.
        ``epoch`` is the wall-clock time of the source's second 0, in UTC if ``screen`` saw times
        with a zone.
        """
        tables: dict[str, Any] = dict(models or {})
        tables["type_sets"], tables["type_set"] = check.allowed_types(gpu_types, len(screen.rows))
        indices = {name: tables.pop(name, None) for name in _TABLES}
        jobs = check.checked_jobs(
            screen,
            numeric,
            ids=ids,
            labels=labels,
            indices=indices,
            on_bad=on_bad,
            rebase=rebase,
        )
        if epoch is not None:
            if epoch.tzinfo is None and any(screen.is_aware.values()):
                epoch = epoch.replace(tzinfo=UTC)
            epoch = _later(screen.source, epoch, jobs.origin_us)
        return cls(
            **jobs.columns,
            **tables,
            name=name,
            source=source,
            epoch=epoch,
            origin_s=us_to_seconds(jobs.origin_us),
            rejects=jobs.rejects,
            notes=notes,
        )

    @classmethod
    def from_polars(
        cls, frame: polars.DataFrame, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Build a trace from a Polars frame (``.collect()`` a lazy one).

        Parameters
        ----------
        columns
            The frame's column for each of gpusched's names, e.g. ``{"service_s": "length"}``.
            gpusched's names and usual ones (``duration``, ``num_gpus`` ...) need not be listed, nor
            ``interarrival_s``, the time since the previous row, instead of ``submit_s``.
            :attr:`notes` lists unused columns. Numbers in a column not named ``submit_s`` may count
            from 1970, as in files. The frame of a result works, too: its status ``"finished"``
            becomes ``"ok"``, others ``"unknown"``.
        options
            ``name``, ``epoch``, ``on_bad``, ``profiles`` and ``graphs`` as in
            :meth:`from_columns`; the frame's column ``profile`` is used only with ``profiles``,
            and ``graph`` only with ``graphs``.

        Returns
        -------
        Trace
            The jobs, sorted by submission; :attr:`notes` lists unused columns.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_columns`, or if two columns match the same name.

        Examples
        --------
        >>> import polars
        >>> frame = polars.DataFrame({"submit": [0, 5], "length": [60, 9], "num_gpus": [8, 1]})
        >>> gs.Trace.from_polars(frame, {"service_s": "length"}).service_s.tolist()
        [60.0, 9.0]
        """
        if not isinstance(frame, polars.DataFrame):
            how = "call .collect() first" if isinstance(frame, polars.LazyFrame) else _other(frame)
            raise TypeError(f"frame: expected a polars.DataFrame, not {_type_of(frame)}; {how}")
        return cls._from_frame({name: frame[name] for name in frame.columns}, columns, options)

    @classmethod
    def from_pandas(
        cls, frame: Any, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """Build a trace from a ``pandas.DataFrame``; parameters as in :meth:`from_polars`.

        Returns
        -------
        Trace
            The jobs, sorted by submission.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_polars`.

        Examples
        --------
        >>> import pandas
        >>> frame = pandas.DataFrame({"submit": [0, 5], "duration": [60, 9], "num_gpus": [8, 1]})
        >>> gs.Trace.from_pandas(frame).gpus.tolist()
        [8, 1]
        """
        if not (hasattr(frame, "columns") and hasattr(frame, "iloc")):
            raise TypeError(
                f"frame: expected a pandas.DataFrame, not {_type_of(frame)}; {_other(frame)}"
            )
        data: dict[str, Any] = {}
        for place, name in enumerate(map(str, frame.columns)):
            if name in data:
                raise ValueError(f"frame: two columns are named {name!r}")
            data[name] = frame.iloc[:, place]
        return cls._from_frame(data, columns, options)

    @classmethod
    def _from_frame(
        cls, data: Mapping[str, Any], mapped: Mapping[str, str] | None, options: Mapping[str, Any]
    ) -> Self:
        """Build a trace of a frame's columns by name; notes list unused ones."""
        models = [column for column in ("profile", "graph") if f"{column}s" in options]
        chosen = choose_columns(list(data), mapped, extra=models)
        taken, notes = {ours: data[theirs] for ours, theirs in chosen.columns.items()}, chosen.notes
        if "status" in taken:  # translate the statuses of a simulation result
            given = taken["status"]
            taken["status"], said = of_a_run(check.labels("status", given, len(given)))
            notes += said
        if chosen.columns.get("submit_s") != "submit_s" and options.get("epoch") is None:
            from gpusched.traces.intake import given_dates

            counted, said = given_dates.since_1970(taken)
            taken, notes = taken | counted, (*said, *notes)
        if INTERARRIVAL in taken:
            gaps = check.numbers(INTERARRIVAL, taken.pop(INTERARRIVAL))
            screen = Screen("columns", np.arange(len(gaps), dtype=np.int64))
            submit_us = cumulated(screen, INTERARRIVAL, gaps)
            taken = {"submit_s": us_to_seconds(submit_us), **taken}
        return dataclasses.replace(cls.from_columns(**taken, **options), notes=notes)

    @staticmethod
    def concat(traces: Sequence[Trace], names: Sequence[str] | None = None) -> Trace:
        """Return the jobs of all traces on their common clock, in order of submission.

        Jobs of one instant keep the order of their traces. Rows are numbered through all traces, as
        are ids that are positions, unless a dependency refers to them. Other ids are kept.

        Parameters
        ----------
        names
            Names of the traces in messages; default: their own.

        Returns
        -------
        Trace
            All jobs; a job has the default in a column that its trace lacks.

        Raises
        ------
        ValueError
            If there is no trace, they have no common clock or reference type, an id is in two of
            them, or one has profiles or graphs.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 9], [60, 60], [1, 1])
        >>> gs.Trace.concat([jobs, jobs.head(1)]).submit_s.tolist()
        [0.0, 0.0, 9.0]
        """
        parts = list(traces)
        if not parts:
            raise ValueError("concat: at least one trace is needed")
        files = [part.name for part in parts] if names is None else list(names)
        begins = _begins(parts, files)
        first = int(np.argmin(begins))
        shifts = [begin - begins[first] for begin in begins]
        moments = [
            {"submit_us": part.submit_us + shift, **moved(part, shift)}
            for part, shift in zip(parts, shifts, strict=True)
        ]
        if len({part.reference_type for part in parts}) > 1:
            raise ValueError(f"{files[0]}: traces with different reference types cannot be joined")
        if any(part.profile is not None or part.graph is not None for part in parts):
            raise ValueError(f"{files[0]}: traces with profiles or graphs cannot be joined")
        columns: dict[str, Any] = {"id": np.concatenate(_ids(parts, files)), "row": _rows(parts)}
        tables: dict[str, tuple[Any, ...]] = {}
        for column in JOB_COLUMNS.values():
            if column.is_numeric:
                columns[column.stored] = _joined(parts, column, moments)
            elif column.kind in ("label", "types"):
                tables[column.stored], columns[column.stored] = _pooled(parts, column)
        columns = {name: values for name, values in columns.items() if values is not None}
        order = np.argsort(columns["submit_us"], kind="stable")
        fields: dict[str, Any] = {
            name: read_only(values[order]) for name, values in columns.items()
        }
        check.check_horizon(files[0], fields["submit_us"], fields["service_us"])
        for name in fields.keys() & {*check.LABELS}:
            fields[name] = Labels(fields[name], tables[name])
        return dataclasses.replace(
            parts[first],
            **fields,
            type_sets=tables["type_set"],
            name=_listed([part.name for part in parts]),
            source=_listed([part.source for part in parts]),
            rejects=_rejects(parts, files),
            notes=_notes(parts),
        )

    def to_polars(self, *, dates: bool = False) -> polars.DataFrame:
        """Return the columns under the names of :meth:`from_columns`, and ``row``.

        Parameters
        ----------
        dates
            Whether submissions, deadlines, eligible times and cancellations become wall-clock
            times (which :meth:`from_polars` reads), if :attr:`epoch` is known and all are in the
            years 1 to 9999. A column with an infinite time has seconds since 1970.

        Returns
        -------
        polars.DataFrame
            Times in seconds, or in UTC or local time; missing values are null.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> jobs.to_polars()["service_s"].to_list()
        [60.0, 9.0, 9.0]
        """
        origin_us = self._origin_us() if dates else None
        data = {}
        for column in JOB_COLUMNS.values():
            if column.kind == "moment" and origin_us is not None and _is_held(self, column):
                ticks = getattr(self, column.stored)
                if (ticks == column.infinite).any():  # no date is infinite
                    data[column.name] = self._series(column, origin_us)
                    continue
                moments = polars.Series(ticks + origin_us)
                if column.is_null:
                    moments = moments.set(polars.Series(ticks == column.default), None)
                zone = None if self.epoch is None or self.epoch.tzinfo is None else "UTC"
                data[column.name] = moments.cast(polars.Datetime("us", zone))
            elif _is_held(self, column):
                data[column.name] = self._series(column)
            if column.name == "gpus":
                data["row"] = polars.Series(self.row)
        return polars.DataFrame(data)

    def _origin_us(self) -> int | None:
        """Return second 0 in ticks since 1970, if all times of the jobs have valid dates."""
        if self.epoch is None:
            return None
        last_us = max(
            int(values.max(where=values != column.infinite, initial=0))
            for column in JOB_COLUMNS.values()
            if column.kind == "moment" and (values := getattr(self, column.stored)) is not None
        )
        try:
            _later(self.name, self.epoch, last_us)
        except ValueError:
            return None
        return since_1970(self.epoch)

    def _series(self, column: JobColumn, shift: int = 0) -> polars.Series:
        """Return an existing column under its public name and in its public unit, moved."""
        values = getattr(self, column.stored)
        if column.kind in ("label", "types", "model"):
            names, codes = self._named(column, values)
            return polars.Series(column.name, names, dtype=polars.String).gather(codes)
        if column.kind == "id" and values.dtype.kind == "U":
            return polars.Series(column.name, values.tolist(), dtype=polars.String)
        plain = values if column.units == 1 else (values + shift) / column.units
        if column.infinite is not None:
            plain = np.where(values == column.infinite, np.inf, plain)
        shown = polars.Series(column.name, plain)
        if column.is_null:
            shown = shown.set(polars.Series(values == column.default), None)
        return shown

    def _named(self, column: JobColumn, values: Any) -> tuple[Sequence[str], AnyArray]:
        """Return the texts in a column, and each job's index into them."""
        if column.kind == "label":
            return values.names, values.codes
        if column.kind == "types":
            return ["|".join(allowed) for allowed in self.type_sets], values
        return [model.name for model in getattr(self, f"{column.name}s")], values

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the columns as an Arrow stream, for example to ``pyarrow.table(trace)``."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def __getitem__(self, key: Any) -> Any:
        """Return a column by its name, or the jobs at these positions.

        Parameters
        ----------
        key
            A name of :meth:`to_polars`; or a position, a slice, one boolean per job, or positions
            in ascending order.

        Returns
        -------
        polars.Series or Trace
            The column as in :meth:`to_polars`, or the jobs.

        Raises
        ------
        KeyError
            If the trace does not have the column.
        IndexError, TypeError, ValueError
            If there is no such job, a mask is wrong, or jobs would change their order.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> jobs["service_s"].to_list(), len(jobs[1:]), jobs[jobs["gpus"] > 1].id.tolist()
        ([60.0, 9.0, 9.0], 2, [0])
        """
        if isinstance(key, str):
            if key == "row":
                return polars.Series("row", self.row)
            if key not in JOB_COLUMNS or not _is_held(self, JOB_COLUMNS[key]):
                held = [name for name, column in JOB_COLUMNS.items() if _is_held(self, column)]
                raise KeyError(f"{self.name} has no column {key!r}{nearest(key, held)}")
            return self._series(JOB_COLUMNS[key])
        if isinstance(key, slice):
            key = np.arange(len(self))[key]
        places = np.asarray(key)
        if places.dtype == np.bool_:
            return self.filter(key)
        places = np.atleast_1d(places)
        if places.dtype.kind not in "iu" and places.size:
            raise TypeError(f"index a trace by column name or job position, not by {key!r:.80}")
        places = np.arange(len(self))[places.astype(np.int64)]
        if not places.size:
            raise ValueError(f"{self.name}: no jobs are left")
        if (np.diff(places) <= 0).any():
            raise ValueError("positions must ascend: jobs stay in order of submission")
        return self._take(places)

    __iter__ = None  # ambiguous: columns or jobs

    @property
    def submit_s(self) -> Float64:
        """Submit times in seconds."""
        return us_to_seconds(self.submit_us)

    @property
    def service_s(self) -> Float64:
        """Run times (``service_s``) in seconds."""
        return us_to_seconds(self.service_us)

    @property
    def gpu_share(self) -> Float64 | None:
        """Share of a GPU that each worker takes, 1 for a whole one; None if all are whole."""
        return None if self.share_milli is None else self.share_milli / WHOLE_GPU

    @property
    def cpu(self) -> Float64 | None:
        """CPU cores that each worker requests, or None if no job requests any."""
        return None if self.cpu_milli is None else self.cpu_milli / MILLI_PER_CORE

    @property
    def memory_gib(self) -> Float64 | None:
        """Memory that each worker requests, GiB, or None if no job requests any."""
        return None if self.memory_mib is None else self.memory_mib / MIB_PER_GIB

    @property
    def deadline_s(self) -> Float64 | None:
        """Deadlines in seconds, NaN where a job has none, or None if no job has one."""
        if self.deadline_us is None:
            return None
        seconds = us_to_seconds(self.deadline_us)
        return np.where(self.deadline_us == NOT_GIVEN, np.nan, seconds)

    @property
    def gpu_seconds(self) -> float:
        """GPU time of all jobs: the sum of gpus (or shares) x run time, in GPU-seconds."""
        gpus = self.gpus if self.share_milli is None else self.gpus * (self.share_milli / WHOLE_GPU)
        return float(np.sum(gpus * self.service_s))

    @property
    def span_us(self) -> int:
        """Time from the first to the last submission, in microseconds."""
        return int(self.submit_us[-1] - self.submit_us[0])

    @property
    def allowed_types(self) -> list[tuple[str, ...]] | None:
        """Allowed GPU types of each job (``()`` = any), or None if no job is restricted."""
        if self.type_set is None:
            return None
        return [self.type_sets[index] for index in self.type_set.tolist()]

    def offered_load(self, gpus: int) -> float:
        """Return the offered load: the sum of gpus x run time over (``gpus`` x arrival span).

        Infinite if all jobs arrive at one instant.

        Returns
        -------
        float
            For example 0.9 if the jobs need nine tenths of the GPUs on average.

        Raises
        ------
        ValueError
            If ``gpus`` is below 1.

        Examples
        --------
        >>> gs.Trace.from_columns([0, 100], [50, 50], [4, 4]).offered_load(8)
        0.5
        """
        if gpus < 1:
            raise ValueError(f"gpus: {gpus!r} must be at least 1")
        span_s = us_to_seconds(self.span_us)
        return self.gpu_seconds / (gpus * span_s) if span_s else float("inf")

    def describe(self) -> dict[str, Any]:
        """Return the main statistics of the trace.

        Returns
        -------
        dict
            Times are seconds; percentiles are nearest-rank.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> jobs.describe()["num_jobs"]
        3
        """
        service, gpus = np.sort(self.service_s), np.sort(self.gpus)
        facts: dict[str, Any] = {
            "name": self.name,
            "source": self.source,
            "num_jobs": len(self),
            "num_rejected": self.rejects.total,
            "epoch": None if self.epoch is None else self.epoch.isoformat(sep=" "),
            "clock": _clock(self.epoch),
            "span_s": us_to_seconds(self.span_us),
            "mean_service_s": float(np.mean(service)),
            "p50_service_s": nearest_rank(service, 50),
            "p95_service_s": nearest_rank(service, 95),
            "max_service_s": float(service[-1]),
            "mean_gpus": float(np.mean(gpus)),
            "p50_gpus": int(nearest_rank(gpus, 50)),
            "max_gpus": int(gpus[-1]),
            "gpu_hours": self.gpu_seconds / 3600,
        }
        facts |= _wishes(self)
        for column in check.LABELS:
            labels = getattr(self, column)
            if labels is not None:
                facts[_NUM_OF.get(column, f"num_{column}s")] = int(
                    np.count_nonzero(labels.counts())
                )
        return facts

    def __repr__(self) -> str:
        if not len(self):
            return f"Trace({self.name!r}: no job)"
        span_s = us_to_seconds(self.span_us)
        span = f"{span_s / 86400:,.1f} days" if span_s >= 86400 else f"{span_s:,.0f} s"
        rejected = f", {self.rejects.total:,} rows rejected" if self.rejects else ""
        return (
            f"Trace({self.name!r}: {len(self):,} jobs over {span}, {int(self.gpus.min()):,} to "
            f"{int(self.gpus.max()):,} GPUs wide, {self.gpu_seconds / 3600:,.1f} GPU hours"
            f"{rejected})"
        )

    def _repr_html_(self) -> str:
        """Return statistics of the trace and its first jobs as HTML tables, for notebooks."""
        from gpusched.base.tables import html_page, table

        first = self.head(_SHOWN_JOBS)
        shown = ("submit_s", "service_s", "gpus")
        rows = [
            [str(first.id[job]), *(f"{getattr(first, name)[job]:g}" for name in shown)]
            for job in range(len(first))
        ]
        if len(self) > len(first):
            rows.append(["...", f"{len(self) - len(first):,} more", "", ""])
        return html_page(repr(self), table("", ["id", *shown], rows).to_html())

    def head(self, num_jobs: int) -> Self:
        """Return the first ``num_jobs`` jobs (all, if there are fewer).

        Returns
        -------
        Trace
            Those jobs.

        Raises
        ------
        ValueError
            If ``num_jobs`` is below 1.

        Examples
        --------
        >>> len(gs.generate("philly", 100, seed=1).head(10))
        10
        """
        if num_jobs < 1:
            raise ValueError(f"head: {num_jobs!r} must be at least 1")
        return self._take(slice(0, num_jobs))

    def between(self, start_s: Any = None, end_s: Any = None) -> Self:
        """Return the jobs submitted in ``[start_s, end_s)``, with unchanged times.

        Parameters
        ----------
        start_s, end_s
            Seconds on the clock of the trace, where second 0 is the first submit of a file; or, if
            :attr:`epoch` is known, a ``datetime`` or an ISO 8601 text: one without a zone is in UTC
            if the epoch has a zone. None: no limit.

        Returns
        -------
        Trace
            Those jobs.

        Raises
        ------
        TypeError, ValueError
            If an argument is neither, or no job is left.

        Examples
        --------
        >>> trace = gs.generate("philly", 2_000, seed=1)
        >>> len(trace.between(0, 86_400)) < len(trace)
        True
        """
        return self.filter(_submitted_within(self, start_s, end_s))

    def filter(self, mask: Any) -> Self:
        """Return the jobs for which ``mask`` is true.

        Parameters
        ----------
        mask
            One boolean per job, without missing values; or a condition in the SQL of Polars on the
            columns of :meth:`gpusched.Trace.to_polars`: ``"gpus >= 8 and user != 'x'"``.

        Returns
        -------
        Trace
            Those jobs; :attr:`source` has the condition.

        Raises
        ------
        TypeError, ValueError
            If it is neither, or no job is left.

        Examples
        --------
        >>> users = ["ann", "bob", "x"]
        >>> trace = gs.Trace.from_columns([0, 5, 9], [60, 60, 60], [1, 8, 16], user=users)
        >>> trace.filter("gpus >= 8 and user != 'x'").gpus.tolist()
        [8]
        >>> trace.filter(trace.gpus >= 8).gpus.tolist()
        [8, 16]
        """
        if isinstance(mask, str):
            taken = self.filter(_fulfilling(self, mask))
            return dataclasses.replace(taken, source=f"{self.source}; filtered by {mask}")
        chosen = np.asarray(mask)
        if np.ma.is_masked(mask):
            raise ValueError("filter: the mask must not have masked values")
        if chosen.dtype != np.bool_:
            raise TypeError(f"filter: the mask must hold booleans, not {chosen.dtype}")
        if chosen.shape != self.submit_us.shape:
            raise ValueError(f"filter: the mask has shape {chosen.shape}, not ({len(self)},)")
        if not chosen.any():
            raise ValueError(f"{self.name}: no jobs are left")
        return self._take(chosen)

    def sample(self, fraction: float, seed: int = 0) -> Self:
        """Return a random sample of about this fraction of the jobs.

        The load falls accordingly; :meth:`with_load` can restore it.

        Parameters
        ----------
        fraction
            Above 0 and at most 1.
        seed
            0 or more. The draw for a job depends only on the seed and its ``row``.

        Returns
        -------
        Trace
            The drawn jobs; :attr:`source` has the fraction and the seed.

        Raises
        ------
        TypeError, ValueError
            If an argument is out of range, or no job is left.

        Examples
        --------
        >>> trace = gs.generate("philly", 2_000, seed=1)
        >>> 100 < len(trace.sample(0.1, seed=3)) < 300
        True
        """
        if isinstance(fraction, bool) or not isinstance(fraction, int | float | np.floating):
            raise TypeError(f"sample: {fraction!r} must be a number")
        if not 0 < fraction <= 1:
            raise ValueError(f"sample: {fraction!r} must be above 0 and at most 1")
        number = draws.uniform(draws.check_seed(seed), draws.SAMPLES, self.row)
        taken = self.filter(number < fraction)
        how = f"{fraction:g} of the jobs drawn (seed {seed})"
        return dataclasses.replace(taken, source=f"{self.source}; {how}")

    def with_columns(self, **columns: Any) -> Self:
        """Return the same jobs with these columns replaced or added.

        Parameters
        ----------
        columns
            By the names of :meth:`from_columns`: one value for all jobs, or one per job in the
            order of the trace, as accepted there except dates; None: remove the column. New submit
            times re-sort the jobs. For models, use :meth:`with_profiles`,
            :meth:`with_throughputs`, :meth:`with_graphs`.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            As :meth:`from_columns`.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 5], [60, 9], [4, 1], user=["ann", "bob"])
        >>> jobs.with_columns(service_s=[30, 9], user=None)["service_s"].to_list()
        [30.0, 9.0]
        >>> jobs.with_columns(cpu=4)["cpu"].to_list()
        [4.0, 4.0]
        """
        for name in columns:
            if name not in check.ALL:
                hint = "see with_profiles" if name == "profile" else "see with_graphs"
                known = f"; {hint}" if name in JOB_COLUMNS else nearest(name, check.ALL)
                raise ValueError(f"with_columns: column {name!r} cannot be set{known}")
            if columns[name] is None and JOB_COLUMNS[name].is_required:
                raise ValueError(f"with_columns: a trace needs the column {name!r}")
        is_one = (int, float, str, timedelta, np.generic)
        every = {
            name: [value] * len(self) if isinstance(value, is_one) else value
            for name, value in columns.items()
        }
        return self._with("with_columns", every)

    def _with(self, caller: str, columns: Mapping[str, Any]) -> Self:
        """Return the jobs with new columns, checked as in :meth:`from_columns`."""
        num_jobs = len(self)
        screen = Screen(caller, self.row)
        given = {name: values for name, values in columns.items() if values is not None}
        new = {name: values for name, values in columns.items() if name in check.NUMERIC}
        numeric = check.given_numbers(new, num_jobs, check.REQUIRED)
        labels: dict[str, Labels] = {}
        for name, column in JOB_COLUMNS.items():
            if name in columns or not _is_held(self, column):
                continue
            values = getattr(self, column.stored)
            if column.kind == "label":
                labels[name] = values
            elif column.kind == "moment":  # the check expects times before they are shifted
                numeric[column.stored] = np.where(values == NOT_GIVEN, NOT_A_TIME, values)
            elif column.kind == "whole" and column.default == NOT_GIVEN:  # checked again: no count
                numeric[name] = np.where(values == NOT_GIVEN, np.nan, values)
            elif column.is_numeric:
                numeric[column.stored] = values
        named = {name: given.get(name) for name in check.LABELS}
        ids = check.identifiers("id", given["id"], num_jobs) if "id" in given else None
        indices = {index: getattr(self, index) for index in _TABLES}
        if "id" not in columns:
            indices["id"] = self.id
        sets = self.type_sets
        if "gpu_types" in columns:
            sets, indices["type_set"] = check.allowed_types(columns["gpu_types"], num_jobs)
        jobs = check.checked_jobs(
            screen,
            numeric,
            ids=ids,
            labels=labels | check.given_labels(screen, named, num_jobs),
            indices=indices,
        )
        fields: dict[str, Any] = dict.fromkeys(JOB_COLUMNS[name].stored for name in columns)
        fields |= {**jobs.columns, "type_sets": sets}
        if "deadline_s" in columns:
            fields["source"] = _without(self.source, DEADLINES_DRAWN)
        made = dataclasses.replace(self, **fields)
        return made if made.graph is None else made.with_graphs(made.graphs, made.graph)

    def rebased(self) -> Self:
        """Return the same jobs with the first submit at 0; adapt ``epoch`` and ``origin_s``.

        Returns
        -------
        Trace
            The same jobs.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([5, 9], [60, 60], [1, 1])
        >>> trace.rebased().submit_s.tolist(), trace.rebased().origin_s
        ([0.0, 4.0], 5.0)
        """
        first = int(self.submit_us[0])
        if not first:
            return self
        return dataclasses.replace(
            self,
            submit_us=read_only(self.submit_us - first),
            **moved(self, -first),
            epoch=None if self.epoch is None else _later(self.name, self.epoch, first),
            origin_s=self.origin_s + us_to_seconds(first),
        )

    def scale_load(self, factor: float) -> Self:
        """Return the same jobs with all gaps between arrivals divided by ``factor``.

        Deadlines keep their distance from the submission.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        ValueError
            If the factor is not finite and positive, or arrivals would lie too far apart.

        Examples
        --------
        >>> gs.Trace.from_columns([0, 100], [50, 50], [4, 4]).scale_load(2).submit_s.tolist()
        [0.0, 50.0]
        """
        if not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"scale_load: {factor!r} must be finite and positive")
        first = self.submit_us[0]
        gaps_s = us_to_seconds(self.submit_us - first) / factor
        if us_to_seconds(int(first)) + gaps_s[-1] > us_to_seconds(MAX_SUBMIT_US):
            raise ValueError(f"scale_load: {factor!r} stretches the arrivals beyond 2^61 us")
        submit_us = first + seconds_to_us(gaps_s)
        check.check_horizon("scale_load", submit_us, self.service_us)
        later = moved(self, submit_us - self.submit_us)
        return dataclasses.replace(self, submit_us=submit_us, **later)

    def with_load(self, load: float, gpus: int) -> Self:
        """Return the same jobs with arrivals rescaled so that ``offered_load(gpus)`` is ``load``.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        ValueError
            If the load is not finite and positive, or all jobs arrive at one instant.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 100], [50, 50], [4, 4])
        >>> trace.with_load(1.0, gpus=8).submit_s.tolist()
        [0.0, 50.0]
        """
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"with_load: {load!r} must be finite and positive")
        present = self.offered_load(gpus)
        if not np.isfinite(present):
            raise ValueError(f"{self.name}: all jobs arrive at one instant; no load can be set")
        return self.scale_load(load / present)

    def with_profiles(
        self,
        profiles: AnyProfiles,
        index: Any = None,
        seed: int = 0,
        weights: Iterable[float] | None = None,
    ) -> Self:
        """Return the same jobs with these profiles, which replace existing ones.

        Parameters
        ----------
        profiles
            One, several, or a mapping such as :func:`gpusched.model.zoo` returns.
        index
            Per job the index or name of its profile. None draws one for each job;
            :attr:`source` then describes the draw.
        seed, weights
            Seed of the draw, 0 or more, and one weight per profile (None: equal ones).

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If there is no profile, a name is used twice, or an index, a name, the seed or a
            weight is wrong; the message names it.

        Examples
        --------
        >>> trace = gs.generate("philly", 50, seed=1).with_profiles(gs.model.zoo(), seed=1)
        >>> trace.profile.shape
        (50,)
        """
        known = known_profiles(profiles)
        jobs = _without(self.source, PROFILES_DRAWN)
        if index is not None:
            names = [profile.name for profile in known]
            given = numbered("profile", index, names, len(self))
            return dataclasses.replace(self, profiles=known, profile=given, source=jobs)
        from gpusched.traces.model_choice import drawn_index

        shares = None if weights is None else list(weights)
        drawn = drawn_index(len(known), len(self), seed, shares)
        how = f"{', '.join(p.name for p in known)} (PCG64, seed {seed}"
        how += ")" if shares is None else f", weights {'/'.join(f'{w:g}' for w in shares)})"
        return dataclasses.replace(
            self, profiles=known, profile=drawn, source=f"{jobs}; {PROFILES_DRAWN}{how}"
        )

    def with_throughputs(
        self,
        throughputs: Mapping[str, JobProfile],
        *,
        seed: int = 0,
        choose: Literal["by-model", "uniform"] = "by-model",
    ) -> Self:
        r"""Return the same jobs with measured throughputs as their profiles.

        Parameters
        ----------
        throughputs
            Profiles by model, such as :func:`gpusched.model.read_throughputs` returns.
        seed
            Seed of the draw, 0 or more. The draw for a job depends only on the seed and its
            ``row``.
        choose
            ``"by-model"``: a job gets the model that its group names; other jobs get a drawn one.
            ``"uniform"``: all are drawn. All models that can run on the job's number of GPUs of
            some type are equally likely; if there are none, all models are, and the run rejects
            the job.

        Returns
        -------
        Trace
            The same jobs; :attr:`source` describes the draw.

        Raises
        ------
        TypeError, ValueError
            If there is no model, one has no throughputs, or an argument is wrong.

        Examples
        --------
        >>> with open("speeds.csv", "w") as file:
        ...     _ = file.write("model,gpu_type,gpus,iterations_per_s\nm,V100,1,2.5\n")
        >>> trace = gs.Trace.from_columns([0], [3600], [1])
        >>> trace.with_throughputs(gs.model.read_throughputs("speeds.csv")).profiles[0].name
        'm'
        """
        from gpusched.traces.model_choice import models_of_groups

        known, index, num_drawn = models_of_groups(
            throughputs, self.group, self.gpus, self.row, seed, choose
        )
        source = _without(self.source, PROFILES_DRAWN)
        if num_drawn:
            jobs = "" if num_drawn == len(self) else f" for {num_drawn:,} jobs of other groups"
            source += f"; {PROFILES_DRAWN}{len(known)} models{jobs} (seed {seed})"
        return dataclasses.replace(self, profiles=known, profile=index, source=source)

    def with_reference_type(self, gpu_type: str | None) -> Self:
        """Return the same jobs with run times that refer to GPUs of this type.

        This matters if types differ in speed, by relative speeds of the cluster's types or by
        measured throughputs. Without it, run times refer, with relative speeds, to the type that
        the job ran on, else to the only one it may use, else to a GPU of speed 1; with throughputs,
        to the fastest type of the cluster that it may use.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If it is not a name. Whether such GPUs exist is checked in a run.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0], [3600], [1]).with_reference_type("V100")
        >>> cluster = gs.Cluster((gs.ServerGroup(1, 1, "V100"), gs.ServerGroup(1, 1, "A100")))
        >>> gs.simulate(jobs, cluster.with_speeds({"A100": 2})).metric("mean_jct_s")
        3600.0
        """
        if gpu_type is not None:
            check_name("reference_type", gpu_type)
        return dataclasses.replace(self, reference_type=gpu_type)

    def with_deadlines(
        self,
        recipe: str = "elasticflow",
        *,
        tightness: float = 1.0,
        seed: int = 0,
        share: float = 1.0,
        value: Any = 1.0,
    ) -> Self:
        """Return the same jobs with drawn deadlines, which replace existing ones.

        Parameters
        ----------
        recipe
            ``"elasticflow"``: submit + U(0.5, 1.5) x ``tightness`` x service (Gu et al., ASPLOS
            2023). ``"constant"``: submit + ``tightness`` x service.
        tightness
            More than 0; below 1 deadlines are tight.
        seed
            Seed of the draws, 0 or more. The draw for a job depends only on the seed and its
            ``row``.
        share
            Fraction of the jobs with a deadline, 0 to 1; the others are best effort.
        value
            Value of meeting a deadline, more than 0: one number, or one per job.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If an argument is of a wrong type or out of range; the message names it.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [8, 1])
        >>> trace.with_deadlines("constant", tightness=2).deadline_s.tolist()
        [7200.0, 1260.0]
        """
        drawn = _drawn_deadlines(self, recipe, tightness, seed, share)
        worth = None
        if not (isinstance(value, int | float) and value == 1):
            each = np.full(len(self), value) if np.ndim(value) == 0 else value
            worth = self._with("with_deadlines", {"value": each, "deadline_s": None}).value
        how = f"{recipe} (tightness {tightness:g}, share {share:g}, seed {seed})"
        jobs = _without(self.source, DEADLINES_DRAWN)
        return dataclasses.replace(
            self, deadline_us=drawn, value=worth, source=f"{jobs}; {DEADLINES_DRAWN}{how}"
        )

    def with_elasticity(self, *, min_gpus: Any = None, max_gpus: Any = None) -> Self:
        """Return the same jobs with limits on their GPUs under an elastic performance model.

        Parameters
        ----------
        min_gpus, max_gpus
            One number per job, as in :meth:`from_columns`; or one for all jobs, where each job may
            still run on its own number of GPUs. None: 1, and no limit.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If a value is wrong; the message names row, value and rule.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [2, 16])
        >>> trace.with_elasticity(max_gpus=8).max_gpus.tolist()
        [8, 16]
        """
        columns: dict[str, Any] = {"min_gpus": min_gpus, "max_gpus": max_gpus}
        for name, width in columns.items():
            if width is not None and np.ndim(width) == 0:
                widths = check.numbers(name, np.full(len(self), width))
                # One number for all never excludes a job's own number of GPUs.
                bound = np.minimum if name == "min_gpus" else np.maximum
                columns[name] = bound(widths, self.gpus) if np.isfinite(widths).all() else widths
        return self._with("with_elasticity", columns)

    def with_graphs(self, graphs: AnyGraphs, index: Any = None) -> Self:
        """Return the same jobs with these graphs, which replace existing ones.

        Parameters
        ----------
        graphs
            One, several, or a mapping.
        index
            Per job the index or name of its graph. None: the one graph with as many replicas as
            the job has GPUs.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If there is no graph, a name is used twice, an index or a name is wrong, or a job's
            gpus are not the replicas of its graph; the message names it.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [8, 8])
        >>> trace.with_graphs(gs.model.graph_for("gpt2-xl", 8)).graph.tolist()
        [0, 0]
        """
        from gpusched.traces.model_choice import check_widths, graph_index

        known = known_graphs(graphs)
        given = graph_index(index, known, self.gpus)
        jobs = _without(self.source, GRAPHS_DRAWN)
        check_widths(known, given, self.gpus, self.row)
        return dataclasses.replace(self, graphs=known, graph=given, source=jobs)

    def _take(self, jobs: AnyArray | slice) -> Self:
        changes: dict[str, Any] = {}
        for column in dataclasses.fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                changes[column.name] = read_only(value[jobs])
            elif isinstance(value, Labels):
                changes[column.name] = value.take(jobs)
        return dataclasses.replace(self, **changes)


def _type_of(frame: Any) -> str:
    return f"{type(frame).__module__.partition('.')[0]}.{type(frame).__qualname__}"


def _other(frame: Any) -> str:
    """Suggest how to build a trace from another kind of object."""
    library = type(frame).__module__.partition(".")[0]
    return {
        "pandas": "see Trace.from_pandas",
        "polars": "see Trace.from_polars",
        "pyarrow": "convert an Arrow table with polars.from_arrow",
    }.get(library, "see Trace.from_columns")


def _submitted_within(trace: Trace, start: Any, end: Any) -> Bool:
    """Return which jobs were submitted in ``[start, end)``.

    ``start``, ``end``: seconds on the clock of the trace, a ``datetime`` or an ISO 8601 text; None:
        no limit.
    """
    inside: Bool = np.ones(len(trace), dtype=np.bool_)
    first = None if start is None else _seconds(trace, "from", start)
    last = None if end is None else _seconds(trace, "to", end)
    if first is not None and last is not None and last < first:
        raise ValueError(f"to: {end} must not lie before {start}")
    submit_s = trace.submit_s
    if first is not None:
        inside &= submit_s >= first
    if last is not None:
        inside &= submit_s < last
    return inside


def _seconds(trace: Trace, which: str, given: Any) -> float:
    """Return seconds on the clock of the trace."""
    if isinstance(given, str):
        given = _moment(which, given)
    if isinstance(given, datetime):
        return us_to_seconds(_ticks(trace, which, given))
    if isinstance(given, bool) or not isinstance(given, int | float | np.integer | np.floating):
        raise TypeError(f"{which}: {given!r} must be seconds, a datetime or an ISO 8601 text")
    if math.isnan(given):
        raise ValueError(f"{which}: {given!r} must be a number of seconds")
    return float(given)


def _moment(which: str, text: str) -> datetime | float:
    try:
        return datetime.fromisoformat(text.strip()) if is_iso(text) else float(text)
    except ValueError:
        raise ValueError(
            f"{which}: {text!r} must be seconds, or a time like 2024-05-01T09:00"
        ) from None


def _ticks(trace: Trace, which: str, moment: datetime) -> int:
    if trace.epoch is None:
        raise ValueError(
            f"{which}: {moment}: {trace.name} has seconds without a date; give seconds"
        )
    epoch = trace.epoch
    if epoch.tzinfo is None and moment.tzinfo is not None:
        raise ValueError(f"{which}: {moment}: {trace.name} has dates without a zone; give none")
    if epoch.tzinfo is None:
        return (moment - epoch) // _TICK
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return (moment - epoch.astimezone(UTC)) // _TICK


def _fulfilling(trace: Trace, condition: str) -> Bool:
    """Return the jobs for which a condition in SQL holds; missing values never fulfil it.

    ``condition``: on the columns of :meth:`gpusched.Trace.to_polars`, in the SQL of Polars: ``"gpus
        >= 8 and user != 'x'"``.
    """
    frame = trace.to_polars()
    try:
        names = dict.fromkeys((*frame.columns, *check.ALL))
        wanted = polars.sql_expr(_with_quoted_names(condition, list(names)))
        unknown = sorted({*wanted.meta.root_names()} - {*frame.columns})
        if unknown:
            is_text = f'"{unknown[0]}"' in condition
            known = nearest(unknown[0], frame.columns)
            hint = f"; put a text in single quotes: {unknown[0]!r}" if is_text else known
            raise ValueError(f"filter: unknown column {unknown[0]!r}{hint}")
        found = frame.select(wanted.alias("wanted"))["wanted"]
    except polars.exceptions.PolarsError as error:
        told = str(error).splitlines()[0]
        raise ValueError(f"filter: {condition!r} cannot be read: {told}") from None
    if found.dtype != polars.Boolean:
        raise ValueError(f"filter: {condition!r} must be a condition, such as gpus >= 8")
    if len(found) == 1:
        found = found.new_from_index(0, frame.height)
    chosen: Bool = found.fill_null(False).to_numpy()
    return chosen


def _with_quoted_names(condition: str, names: Sequence[str]) -> str:
    """Quote column names, since some of them, such as ``user``, are SQL keywords."""
    known = "|".join(map(re.escape, names))
    parts = re.compile(rf"'(?:[^']|'')*'|\"[^\"]*\"|;|\b({known})\b(?!\s*\()")

    def quoted(part: re.Match[str]) -> str:
        if part[0] == ";":  # some versions of Polars ignore what follows
            raise ValueError(f"filter: {condition!r} must be one condition")
        return f'"{part[1]}"' if part[1] else part[0]

    return parts.sub(quoted, condition)


def _wishes(trace: Trace) -> dict[str, Any]:
    """Return statistics of demands, deadlines and elastic limits, for existing columns."""
    facts: dict[str, Any] = {}
    if trace.gpu_share is not None:
        is_part = trace.gpu_share < 1
        facts["num_shares"] = int(np.count_nonzero(is_part))
        facts["mean_share"] = float(np.mean(trace.gpu_share[is_part])) if is_part.any() else None
    for column in ("cpu", "memory_gib"):
        values = getattr(trace, column)
        if values is not None:
            facts[f"mean_{column}"] = float(np.mean(values))
            facts[f"max_{column}"] = float(np.max(values))
    if trace.deadline_s is not None:
        given = np.isfinite(trace.deadline_s)
        # Time from submit to deadline, in run times of the job.
        slack = np.sort((trace.deadline_s - trace.submit_s)[given] / trace.service_s[given])
        facts["num_deadlines"] = len(slack)
        facts["p50_slack"] = float(nearest_rank(slack, 50)) if len(slack) else None
        facts["num_slack_below_1"] = int(np.count_nonzero(slack < 1))
    if trace.value is not None:
        facts["total_value"] = float(np.sum(trace.value))
    if trace.min_gpus is not None or trace.max_gpus is not None:
        least = np.ones_like(trace.gpus) if trace.min_gpus is None else trace.min_gpus
        most = np.full_like(trace.gpus, NO_LIMIT) if trace.max_gpus is None else trace.max_gpus
        facts["num_elastic"] = int(np.count_nonzero(least < most))
    return facts


def with_limits(
    trace: Trace,
    *,
    time_limit_s: float | None = None,
    checkpoint_every_s: float | None = None,
    checkpoint_write_s: float | None = None,
    max_requeues: int | None = None,
    requeue_back: int | None = None,
) -> Trace:
    """Return the same jobs with one value of these columns for all jobs; None keeps a column.

    A time limit is for the jobs without one of their own.
    """
    columns: dict[str, Any] = {
        "checkpoint_every_s": checkpoint_every_s,
        "checkpoint_write_s": checkpoint_write_s,
        "max_requeues": max_requeues,
        "requeue_back": requeue_back,
    }
    if time_limit_s is not None:
        own_us = (
            np.full(len(trace), NOT_GIVEN) if trace.time_limit_us is None else (trace.time_limit_us)
        )
        columns["time_limit_s"] = np.where(own_us == NOT_GIVEN, time_limit_s, own_us / US_PER_S)
    given = {name: value for name, value in columns.items() if value is not None}
    return trace.with_columns(**given) if given else trace


def _without(source: str, begins: str) -> str:
    """Return ``source`` without the part on a draw that no longer applies."""
    return "; ".join(part for part in source.split("; ") if not part.startswith(begins))


def _drawn_deadlines(trace: Trace, recipe: str, tightness: float, seed: int, share: float) -> Int64:
    """Return the deadlines of :meth:`gpusched.Trace.with_deadlines`."""
    if recipe not in _RECIPES:
        raise ValueError(f"recipe: unknown {recipe!r}{nearest(str(recipe), list(_RECIPES))}")
    _check_number("tightness", tightness)
    _check_number("share", share)
    if not (np.isfinite(tightness) and tightness > 0):
        raise ValueError(f"tightness: {tightness!r} must be finite and positive")
    if not 0 <= share <= 1:
        raise ValueError(f"share: {share!r} must lie in 0..1")
    seed = draws.check_seed(seed)
    low, high = _RECIPES[recipe]
    factor = low + (high - low) * draws.uniform(seed, draws.DEADLINES, trace.row)
    slack = np.rint(trace.service_us * (factor * tightness))
    latest = float(MAX_SUBMIT_US)
    if slack.max() > latest:
        raise ValueError(f"tightness: {tightness!r} sets deadlines beyond 2^61 us")
    deadline_us = trace.submit_us + np.maximum(slack, 1).astype(np.int64)
    is_chosen = draws.uniform(seed, draws.HAS_DEADLINE, trace.row) < share
    return np.where(is_chosen, deadline_us, NOT_GIVEN)


def _check_number(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: {number!r} must be a number")


def _clock(epoch: datetime | None) -> str | None:
    """Return the zone of a trace's epoch in words."""
    if epoch is None:
        return None
    return "local time" if epoch.tzinfo is None else str(epoch.tzinfo)


def _later(source: str, epoch: datetime, after_us: int) -> datetime:
    """Return the time ``after_us`` after ``epoch``, in its zone."""
    try:
        if epoch.tzinfo is None:
            return epoch + after_us * _TICK
        # Add in UTC: a wall clock jumps where summer time begins or ends.
        return (epoch.astimezone(UTC) + after_us * _TICK).astimezone(epoch.tzinfo)
    except OverflowError:
        raise ValueError(
            f"{source}: the first submit, {us_to_seconds(after_us):.0f} s after {epoch}, must "
            "lie in the years 1 to 9999"
        ) from None


def since_1970(epoch: datetime) -> int:
    """Return ticks since 1970; times without a zone count as UTC."""
    zone = None if epoch.tzinfo is None else UTC
    return (epoch - UNIX_EPOCH.replace(tzinfo=zone)) // _TICK


def _is_held(trace: Trace, column: JobColumn) -> bool:
    return getattr(trace, column.stored) is not None


def _begins(parts: Sequence[Trace], files: Sequence[str]) -> list[int]:
    """Return the tick of each part's second 0 on the common clock."""

    def kind(part: Trace) -> str:
        if part.epoch is None:
            return "seconds without a date"
        return "dates without a zone" if part.epoch.tzinfo is None else "dates with a zone"

    kinds = [kind(part) for part in parts]
    for file, other in zip(files, kinds, strict=True):
        if other != kinds[0]:
            raise ValueError(
                f"{files[0]} has submit times in {kinds[0]} and {file} in {other}; they have no "
                "common clock"
            )
    begins = []
    for part in parts:
        if part.epoch is None:
            begins.append(round(part.origin_s * US_PER_S))
        else:
            begins.append(since_1970(part.epoch))
    return begins


def _ids(parts: Sequence[Trace], files: Sequence[str]) -> list[AnyArray]:
    ids = [part.id for part in parts]
    if all(_are_positions(part) for part in parts):
        ends = np.cumsum([int(part.id.max()) + 1 for part in parts])
        return [given + end for given, end in zip(ids, [0, *ends[:-1]], strict=True)]
    if any(given.dtype.kind == "U" for given in ids):
        ids = [given.astype(np.str_) for given in ids]
    seen: dict[Any, int] = {}
    for place, given in enumerate(ids):
        for value in given.tolist():
            if seen.setdefault(value, place) != place:
                raise ValueError(
                    f"{files[seen[value]]} and {files[place]}: both have a job {value!r}; an id "
                    "must be unique in all files"
                )
    return ids


def _are_positions(part: Trace) -> bool:
    """Whether ids just number the rows, at most 2 below them, and no dependency names one."""
    named = () if part.dependency is None else part.dependency.names
    if part.id.dtype.kind != "i" or any(re.search(r"\d", name) for name in named):
        return False
    behind = part.row - part.id
    return 0 <= int(behind[0]) <= 2 and bool((behind == behind[0]).all())


def _rows(parts: Sequence[Trace]) -> Int64:
    ends = np.cumsum([int(part.row.max()) + 1 for part in parts])
    rows = [part.row + end for part, end in zip(parts, [0, *ends[:-1]], strict=True)]
    return np.concatenate(rows)


def _joined(
    parts: Sequence[Trace], column: JobColumn, moments: Sequence[Mapping[str, Int64]]
) -> AnyArray | None:
    """Return a column of all jobs; jobs of a part without it get the default."""
    given = [
        moved_us.get(column.stored, getattr(part, column.stored))
        for part, moved_us in zip(parts, moments, strict=True)
    ]
    if all(values is None for values in given):
        return None
    return np.concatenate(
        [
            np.full(len(part), column.default, column.dtype) if values is None else values
            for part, values in zip(parts, given, strict=True)
        ]
    )


def _pooled(parts: Sequence[Trace], column: JobColumn) -> tuple[tuple[Any, ...], Int32 | None]:
    """Return the labels or type sets of all parts, and each job's index into them."""
    given = [getattr(part, column.stored) for part in parts]
    if all(values is None for values in given):
        return (), None
    number: dict[Any, int] = {}
    codes = []
    for part, values in zip(parts, given, strict=True):
        entries: Sequence[Any] = [() if column.kind == "types" else column.default]
        index = np.zeros(len(part), np.int32)
        if isinstance(values, Labels):
            entries, index = values.names, values.codes
        elif values is not None:
            entries, index = part.type_sets, values
        ours = np.array([number.setdefault(entry, len(number)) for entry in entries], np.int32)
        codes.append(ours[index])
    return tuple(number), np.concatenate(codes)


def _rejects(parts: Sequence[Trace], files: Sequence[str]) -> Rejects:
    counts: dict[str, int] = {}
    firsts: dict[str, tuple[int, ...]] = {}
    columns: dict[str, str] = {}
    for part, file in zip(parts, files, strict=True):
        for reason, count in part.rejects.counts.items():
            counts[f"{file}: {reason}"] = count
            firsts[f"{file}: {reason}"] = part.rejects.first[reason]
        columns |= {f"{file}: {reason}": of for reason, of in part.rejects.columns.items()}
    return Rejects(counts, firsts, parts[0].rejects.unit, columns)


def _notes(parts: Sequence[Trace]) -> tuple[str, ...]:
    """Return notes common to all files once, and others with the file's name."""
    shared = set(parts[0].notes).intersection(*(part.notes for part in parts))
    said = [note for note in parts[0].notes if note in shared]
    said += [f"{part.name}: {note}" for part in parts for note in part.notes if note not in shared]
    return tuple(said)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN_FILES} more" if len(names) > _SHOWN_FILES else ""
    return " + ".join(names[:_SHOWN_FILES]) + more
