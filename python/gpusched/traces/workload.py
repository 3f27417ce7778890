"""The workload: jobs as columns, sorted by submit time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.base.rejects import OnBad, Screen
from gpusched.model.job_graphs import AnyGraphs, JobGraph, known_graphs
from gpusched.model.profiles import AnyProfiles
from gpusched.traces import checked_columns as check
from gpusched.traces import job_ids
from gpusched.traces.assembly import assemble
from gpusched.traces.graph_columns import graph_index
from gpusched.traces.intake import given_dates, wall_clock
from gpusched.traces.job_columns import JOB_COLUMNS
from gpusched.traces.profile_columns import given_profiles
from gpusched.traces.trace_changes import GRAPHS_DRAWN as GRAPHS_DRAWN
from gpusched.traces.trace_changes import PROFILES_DRAWN as PROFILES_DRAWN
from gpusched.traces.trace_changes import TraceChanges
from gpusched.traces.trace_frames import TraceFrames
from gpusched.traces.trace_views import TraceViews


class Trace(TraceFrames, TraceViews, TraceChanges):
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
    share_milli, cpu_milli, memory_mib
        int32 and int64 or None: thousandths of a GPU (1000 for whole ones), and of a CPU core, and
        MiB that each worker asks for.
    deadline_us, value
        int64 microseconds, -1 where a job has none, or None; float64 or None: what it is worth to
        meet it, 1 where not given.
    min_gpus, max_gpus
        int32 or None: the widths between which a job may run under an elastic speed.
    gpus_per_node
        int32 or None: GPUs on each of the job's servers; 0: as the placement likes.
    time_limit_us, eligible_us, priority
        int64 microseconds, -1 where a job has none, and float64, or None: the walltime, when the
        job could start, and the source's own priority. No policy uses them.
    partition, account, qos, dependency
        :class:`~gpusched.base.labels.Labels` or None. No policy uses them.
    user, queue, group, status
        :class:`~gpusched.base.labels.Labels` or None.
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
    notes
        What else a reader should know of how the source was read, a sentence each.
    """

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
        source_wait_s: Any = None,
        profile: Any = None,
        profiles: AnyProfiles = (),
        graph: Any = None,
        graphs: AnyGraphs = (),
        time_limit_s: Any = None,
        eligible_s: Any = None,
        priority: Any = None,
        partition: Any = None,
        account: Any = None,
        qos: Any = None,
        dependency: Any = None,
        gpus_per_node: Any = None,
        name: str = "trace",
        epoch: datetime | None = None,
        on_bad: OnBad = "error",
    ) -> Trace:
        """Build a trace from columns of equal length, in any order of submission.

        A column is a list or an array of NumPy, pandas, Polars or Arrow, which is copied. A value
        that is masked or null is missing. Seconds may be durations in any unit.

        Parameters
        ----------
        submit_s, service_s
            Seconds: 0 or more, and more than 0. Rounded half to even to microseconds. Submit
            times may be dates instead, of any library or as ISO 8601 text; the first one becomes
            :attr:`epoch` and second 0.
        gpus
            Whole numbers, 1 or more.
        id
            Unique integers or text; default: the position in the columns.
        user, queue, group
            One name per job (text, integers or :class:`~gpusched.base.labels.Labels`).
        status
            In the same way: ``"ok"``, ``"failed"``, ``"killed"`` or ``"unknown"``, which also
            stands where none is given.
        estimate_s, predicted_s, source_wait_s
            Seconds; NaN where a job has none.
        weight
            More than 0.
        gpu_share
            The part of a GPU that a job of one GPU takes, above 0 and at most 1, counted in
            thousandths; NaN: a whole one.
        cpu, memory_gib
            CPU cores and GiB of memory of each worker, 0 or more; NaN: none.
        deadline_s
            Seconds on the clock of ``submit_s``, or dates where those are; after the submission.
            NaN where a job has none.
        value
            What it is worth to meet the deadline, more than 0; NaN: 1.
        min_gpus, max_gpus
            Whole numbers, at most and at least ``gpus``: the widths between which the job may run
            under an elastic speed; NaN: 1, and no limit.
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
        time_limit_s, priority, partition, account, qos, dependency, eligible_s
            The walltime, more than 0; a number, 0 for NaN; a name per job each; a text such as
            ``"afterok:7"``, empty for none; when the job could start, not before its submission,
            on the clock of ``submit_s``. NaN: none. No policy uses these yet: they are kept.
        gpus_per_node
            Whole numbers that divide ``gpus``: how many each of its servers gives; NaN or 0: as
            the placement likes.
        name, epoch
            A title, and the wall-clock time of second 0, which dates in ``submit_s`` have.
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
        dates = given_dates.dates_in("submit_s", submit_s)
        submit = check.numbers("submit_s", submit_s) if dates is None else dates
        num_rows = len(submit)
        screen = Screen("columns", np.arange(num_rows, dtype=np.int64))
        if not num_rows:
            screen.finish(on_bad)
        timed: dict[str, AnyArray] = {}
        if dates is not None:
            if epoch is not None:
                raise ValueError("epoch: the dates in 'submit_s' have their own")
            moments = {"deadline_s": deadline_s, "eligible_s": eligible_s}
            timed = given_dates.dated(screen, dates, moments)
            epoch = wall_clock.UNIX_EPOCH
        given = {
            "submit_s": submit_s,
            "service_s": service_s,
            "gpus": gpus,
            "estimate_s": estimate_s,
            "predicted_s": predicted_s,
            "weight": weight,
            "gpu_share": gpu_share,
            "cpu": cpu,
            "memory_gib": memory_gib,
            "deadline_s": deadline_s,
            "value": value,
            "min_gpus": min_gpus,
            "max_gpus": max_gpus,
            "checkpoint_s": checkpoint_s,
            "restart_s": restart_s,
            "source_wait_s": source_wait_s,
            "time_limit_s": time_limit_s,
            "eligible_s": eligible_s,
            "priority": priority,
            "gpus_per_node": gpus_per_node,
        }
        given = {
            column: values
            for column, values in given.items()
            if JOB_COLUMNS[column].stored not in timed
        }
        required = [column for column in check.REQUIRED if column in given]
        numeric = timed | check.given_numbers(given, num_rows, required)
        given_names = {
            "user": user,
            "queue": queue,
            "group": group,
            "status": status,
            "partition": partition,
            "account": account,
            "qos": qos,
            "dependency": dependency,
        }
        labels = {
            column: check.labels(column, values, num_rows)
            for column, values in given_names.items()
            if values is not None
        }
        if "status" in labels:
            labels["status"] = check.statuses(screen, labels["status"])
        attributes = assemble(
            screen,
            numeric,
            ids=None if id is None else job_ids.identifiers("id", id, num_rows),
            labels=labels,
            gpu_types=gpu_types,
            on_bad=on_bad,
            name=name,
            epoch=epoch,
            rebase=dates is not None,
        )
        kept = attributes["row"]
        attributes |= given_profiles(profile, profiles, num_rows, kept)
        if graph is None and not isinstance(graphs, JobGraph) and not graphs:
            return cls(**attributes)
        known = known_graphs(graphs)
        if graph is not None:
            graph = graph_index(graph, known, numeric["gpus"])[kept]
        return cls(**attributes).with_graphs(known, graph)
