"""The workload: jobs as columns, sorted by submit time."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import columns as check
from gpusched import frames, trace_facts
from gpusched.arrays import AnyArray, Float64, Int32, Int64, read_only
from gpusched.assembly import assemble, check_horizon
from gpusched.job_graphs import AnyGraphs, JobGraph, check_widths, graph_index, known_graphs
from gpusched.labels import Labels
from gpusched.profiles import (
    AnyProfiles,
    JobProfile,
    drawn_index,
    given_profiles,
    known_profiles,
    profile_index,
)
from gpusched.rejects import OnBad, Rejects, Screen
from gpusched.ticks import MAX_SUBMIT_US, seconds_to_us, us_to_seconds

if TYPE_CHECKING:
    import polars


PROFILES_DRAWN: Final = "profiles drawn from "
GRAPHS_DRAWN: Final = "graphs drawn from "
"""Begins the part of a trace's source that tells of a draw."""


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Jobs as read-only columns, sorted by submit time and then by their order in the input.

    A job's index in these columns is its JobId. Build one with :meth:`from_columns`,
    :meth:`from_polars`, :meth:`from_pandas`, :func:`gpusched.read_trace` or
    :func:`gpusched.generate`.

    Attributes
    ----------
    submit_us, service_us
        int64 microseconds: submission, and run time on an idle cluster.
    gpus
        int32: width of the gang.
    row
        int64: physical line in the source file (1 is the first), or position in the input.
    id
        int64 or text: the job's name in the source.
    estimate_us, predicted_us, checkpoint_us, restart_us, source_wait_us
        int64 microseconds or None. -1 in the first two or in ``source_wait_us``: not given.
    weight
        float64 or None.
    user, queue, group, status
        :class:`~gpusched.labels.Labels` or None.
    type_sets, type_set
        Distinct sets of allowed GPU types (``()`` = any), and the int32 index of each job's set
        or None if no job is restricted.
    profiles, profile
        What an iteration costs, and the int32 index of each job's profile or None if the jobs
        have none; see :meth:`with_profiles`.
    graphs, graph
        Stages, replicas and what they exchange, and the int32 index of each job's graph or None
        if the jobs have none; see :meth:`with_graphs`.
    epoch
        Wall-clock time of tick 0, if the source has one.
    origin_s
        What was subtracted from the source's own submit times to make the first one 0.
    source
        Where the jobs come from, with the choices made in reading them.
    rejects
        Rows of the source that are not jobs.
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
    source_wait_us: Int64 | None = None
    user: Labels | None = None
    queue: Labels | None = None
    group: Labels | None = None
    status: Labels | None = None
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
    rejects: Rejects = field(default_factory=Rejects)

    def __post_init__(self) -> None:
        for column in dataclasses.fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, column.name, read_only(value))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # NumPy forgets the read-only flag in a pickle

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
        gpu_types: Any = None,
        checkpoint_s: Any = None,
        restart_s: Any = None,
        source_wait_s: Any = None,
        profile: Any = None,
        profiles: AnyProfiles = (),
        graph: Any = None,
        graphs: AnyGraphs = (),
        name: str = "trace",
        epoch: datetime | None = None,
        on_bad: OnBad = "error",
    ) -> Trace:
        """Build a trace from columns of equal length, in any order of submission.

        Parameters
        ----------
        submit_s, service_s
            Seconds: 0 or more, and more than 0. Rounded half to even to microseconds.
        gpus
            Whole numbers, 1 or more.
        id
            Unique integers or text; default: the position in the columns.
        user, queue, group, status
            One name per job (text, integers or :class:`~gpusched.labels.Labels`).
        estimate_s, predicted_s, source_wait_s
            Seconds; NaN where a job has none.
        weight
            More than 0.
        gpu_types
            Allowed types per job as ``"V100|T4"`` or a collection; empty or None = any.
        checkpoint_s, restart_s
            The job's own share of the restart cost, seconds.
        profile, profiles
            Per job the name of one of the ``profiles``, or its index. One single profile is that
            of every job.
        graph, graphs
            Per job the name of one of the ``graphs``, or its index; it must have as many replicas
            as the job has gpus. None: the one graph of this width.
        name, epoch
            A title, and the wall-clock time of second 0.
        on_bad
            ``"error"`` raises at the first bad row; ``"reject"`` leaves bad rows out and counts
            them in :attr:`rejects`.

        Raises
        ------
        TypeError
            If a column has a wrong type; the message names it.
        ValueError
            If a value is bad (the message names column, row, value and rule), lengths differ, an
            id occurs twice, or no job is left.
        """
        submit = check.numbers("submit_s", submit_s)
        num_rows = len(submit)
        screen = Screen("columns", np.arange(num_rows, dtype=np.int64))
        if not num_rows:
            screen.finish(on_bad)
        given = {
            "submit_s": submit,
            "service_s": service_s,
            "gpus": gpus,
            "estimate_s": estimate_s,
            "predicted_s": predicted_s,
            "weight": weight,
            "checkpoint_s": checkpoint_s,
            "restart_s": restart_s,
            "source_wait_s": source_wait_s,
        }
        numeric = {
            column: check.numbers(column, values, num_rows)
            for column, values in given.items()
            if values is not None or column in check.REQUIRED
        }
        named = {"user": user, "queue": queue, "group": group, "status": status}
        attributes = assemble(
            screen,
            numeric,
            ids=None if id is None else check.identifiers("id", id, num_rows),
            labels={
                column: check.labels(column, values, num_rows)
                for column, values in named.items()
                if values is not None
            },
            gpu_types=gpu_types,
            on_bad=on_bad,
            name=name,
            epoch=epoch,
        )
        kept = attributes["row"]
        attributes |= given_profiles(profile, profiles, num_rows, kept)
        if graph is None and not isinstance(graphs, JobGraph) and not graphs:
            return cls(**attributes)
        known = known_graphs(graphs)
        if graph is not None:
            graph = graph_index(graph, known, numeric["gpus"])[kept]
        return cls(**attributes).with_graphs(known, graph)

    @classmethod
    def from_polars(
        cls, frame: polars.DataFrame, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Trace:
        """Build a trace from a Polars frame.

        Parameters
        ----------
        columns
            The frame's name for each of ours, e.g. ``{"service_s": "duration"}``; columns of the
            frame that have our names are taken without being listed.
        options
            ``name``, ``epoch``, ``on_bad``, ``profiles`` and ``graphs`` as in
            :meth:`from_columns`; the frame's column ``profile`` is taken only with ``profiles``,
            and ``graph`` only with ``graphs``.
        """
        taken = frames.columns_of_polars(frame, columns, models=_models(options))
        return cls.from_columns(**taken, **options)

    @classmethod
    def from_pandas(
        cls, frame: Any, columns: Mapping[str, str] | None = None, **options: Any
    ) -> Trace:
        """Build a trace from a ``pandas.DataFrame``; parameters as in :meth:`from_polars`."""
        taken = frames.columns_of_pandas(frame, columns, models=_models(options))
        return cls.from_columns(**taken, **options)

    def __len__(self) -> int:
        return len(self.submit_us)

    def __repr__(self) -> str:
        span_s = us_to_seconds(self.span_us)
        span = f"{span_s / 86400:,.1f} days" if span_s >= 86400 else f"{span_s:,.0f} s"
        rejected = f", {self.rejects.total:,} rows rejected" if self.rejects else ""
        return (
            f"Trace({self.name!r}: {len(self):,} jobs over {span}, {int(self.gpus.min()):,} to "
            f"{int(self.gpus.max()):,} GPUs wide, {self.gpu_seconds / 3600:,.1f} GPU hours"
            f"{rejected})"
        )

    @property
    def submit_s(self) -> Float64:
        """Submit times in seconds."""
        return us_to_seconds(self.submit_us)

    @property
    def service_s(self) -> Float64:
        """Service times in seconds."""
        return us_to_seconds(self.service_us)

    @property
    def gpu_seconds(self) -> float:
        """Work of all jobs: the sum of gpus x service, in GPU-seconds."""
        return float(np.sum(self.gpus * self.service_s))

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

    def load(self, gpus: int) -> float:
        """Return the sum of gpus x service over (``gpus`` x arrival span).

        Infinite where all jobs arrive at one instant.
        """
        if gpus < 1:
            raise ValueError(f"gpus: {gpus!r} must be at least 1")
        span_s = us_to_seconds(self.span_us)
        return self.gpu_seconds / (gpus * span_s) if span_s else float("inf")

    def head(self, num_jobs: int) -> Trace:
        """Return the first ``num_jobs`` jobs (all, if there are fewer)."""
        if num_jobs < 1:
            raise ValueError(f"head: {num_jobs!r} must be at least 1")
        return self._take(slice(0, num_jobs))

    def between(self, start_s: float, end_s: float) -> Trace:
        """Return the jobs submitted in ``[start_s, end_s)``; their times stay as they are."""
        submit_s = self.submit_s
        return self.filter((submit_s >= start_s) & (submit_s < end_s))

    def filter(self, mask: Any) -> Trace:
        """Return the jobs for which the boolean ``mask`` is true."""
        chosen = np.asarray(mask)
        if chosen.dtype != np.bool_:
            raise TypeError(f"filter: the mask must hold booleans, not {chosen.dtype}")
        if chosen.shape != self.submit_us.shape:
            raise ValueError(f"filter: the mask has shape {chosen.shape}, not ({len(self)},)")
        if not chosen.any():
            raise ValueError(f"{self.name}: no jobs are left")
        return self._take(chosen)

    def scale_load(self, factor: float) -> Trace:
        """Return the same jobs with all gaps between arrivals divided by ``factor``."""
        if not (np.isfinite(factor) and factor > 0):
            raise ValueError(f"scale_load: {factor!r} must be finite and positive")
        first = self.submit_us[0]
        gaps_s = us_to_seconds(self.submit_us - first) / factor
        if us_to_seconds(int(first)) + gaps_s[-1] > us_to_seconds(MAX_SUBMIT_US):
            raise ValueError(f"scale_load: {factor!r} stretches the arrivals beyond 2^61 us")
        stretched = dataclasses.replace(self, submit_us=first + seconds_to_us(gaps_s))
        check_horizon("scale_load", stretched.submit_us, stretched.service_us)
        return stretched

    def with_load(self, load: float, gpus: int) -> Trace:
        """Return the same jobs with arrivals rescaled so that ``load(gpus)`` is ``load``."""
        if not (np.isfinite(load) and load > 0):
            raise ValueError(f"with_load: {load!r} must be finite and positive")
        present = self.load(gpus)
        if not np.isfinite(present):
            raise ValueError(f"{self.name}: all jobs arrive at one instant; no load can be set")
        return self.scale_load(load / present)

    def with_profiles(
        self,
        profiles: AnyProfiles,
        index: Any = None,
        seed: int = 0,
        weights: Iterable[float] | None = None,
    ) -> Trace:
        """Return the same jobs with these profiles in place of any they had.

        Parameters
        ----------
        profiles
            One, several, or a mapping such as :func:`gpusched.zoo` returns.
        index
            Per job the index of its profile, or the name. None draws one for each job, which
            :attr:`source` then tells.
        seed, weights
            Of the draw: 0 or more, and one weight per profile (None: equal ones).

        Raises
        ------
        TypeError, ValueError
            If there is no profile, a name is used twice, or an index, a name, the seed or a
            weight is wrong; the message names it.
        """
        known = known_profiles(profiles)
        jobs = _without(self.source, PROFILES_DRAWN)
        if index is not None:
            given = profile_index(index, known, len(self))
            return dataclasses.replace(self, profiles=known, profile=given, source=jobs)
        shares = None if weights is None else list(weights)
        drawn = drawn_index(len(known), len(self), seed, shares)
        how = f"{', '.join(p.name for p in known)} (PCG64, seed {seed}"
        how += ")" if shares is None else f", weights {'/'.join(f'{w:g}' for w in shares)})"
        return dataclasses.replace(
            self, profiles=known, profile=drawn, source=f"{jobs}; {PROFILES_DRAWN}{how}"
        )

    def with_graphs(self, graphs: AnyGraphs, index: Any = None) -> Trace:
        """Return the same jobs with these graphs in place of any they had.

        Parameters
        ----------
        graphs
            One, several, or a mapping.
        index
            Per job the index of its graph, or the name. None: the one graph that is as wide as
            the job.

        Raises
        ------
        TypeError, ValueError
            If there is no graph, a name is used twice, an index or a name is wrong, or a job's
            gpus are not the replicas of its graph; the message names it.
        """
        known = known_graphs(graphs)
        given = graph_index(index, known, self.gpus)
        jobs = _without(self.source, GRAPHS_DRAWN)
        changed = dataclasses.replace(self, graphs=known, graph=given, source=jobs)
        check_widths(changed)
        return changed

    def to_polars(self) -> polars.DataFrame:
        """Return the columns under the names of :meth:`from_columns`, times in seconds, plus row.

        Values that were not given are null.
        """
        return frames.polars_of(self)

    def describe(self) -> dict[str, Any]:
        """Return the facts that a reader of the trace wants first.

        Times are seconds; percentiles are nearest-rank.
        """
        return trace_facts.describe(self)

    def _take(self, jobs: AnyArray | slice) -> Trace:
        changes: dict[str, Any] = {}
        for column in dataclasses.fields(self):
            value = getattr(self, column.name)
            if isinstance(value, np.ndarray):
                changes[column.name] = value[jobs]
            elif isinstance(value, Labels):
                changes[column.name] = Labels(value.codes[jobs], value.names)
        return dataclasses.replace(self, **changes)


def _models(options: Mapping[str, Any]) -> list[str]:
    """Name the columns of a frame that say which of the models in ``options`` a job has."""
    return [column for column in ("profile", "graph") if f"{column}s" in options]


def _without(source: str, begins: str) -> str:
    """Return ``source`` without the part that tells of a draw that no longer counts."""
    return "; ".join(part for part in source.split("; ") if not part.startswith(begins))
