"""Runs with outages, time limits and checkpoints, written down by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpusched as gs
from gpusched.model.outages import Outages
from gpusched.results.result import Result
from gpusched.schedules.schedule import FAILED, FINISHED, KILLED, StoredSchedule, digest_of
from gpusched.specs.run_spec import OutageSource, RunSpec, TraceSource

SECOND = 1_000_000
Run = tuple[float, float, Mapping[int, int]]
"""Begin and end in seconds, and the mask on each server."""


def failing(
    trace: gs.Trace,
    cluster: gs.Cluster,
    runs: Sequence[Sequence[Run]],
    outages: Outages | None = None,
    *,
    status: Sequence[int] | None = None,
    **seconds: Sequence[float],
) -> Result:
    """A result of these runs of each job.

    ``seconds``: ``failures`` and, in seconds, ``paid``, ``lost`` and ``written`` of each job.
    """
    num_jobs = len(trace)
    ended = np.array([FINISHED] * num_jobs if status is None else status, np.uint8)
    rows = [
        (job, round(begin * SECOND), round(end * SECOND), server, mask)
        for job, own in enumerate(runs)
        for begin, end, masks in own
        for server, mask in sorted(masks.items())
    ]
    columns = zip(*rows, strict=True) if rows else [()] * 5
    names = {"job": "i8", "start_us": "i8", "end_us": "i8", "server": "i8", "mask": "u8"}
    log: dict[str, Any] = {
        name: np.array(values, dtype)
        for (name, dtype), values in zip(names.items(), columns, strict=True)
    }
    ticks = {
        name: np.round(np.array(values) * SECOND).astype(np.int64)
        for name, values in seconds.items()
    }
    held_us = [round(sum(end - begin for begin, end, _ in own) * SECOND) for own in runs]
    nothing, none = np.zeros(num_jobs, np.int64), np.zeros(num_jobs, np.int32)
    failures = np.array(seconds.get("failures", none), np.int32)
    stopped = [len(own) - 1 for own in runs] - failures + (ended == FAILED)
    schedule = StoredSchedule(
        start_us=np.array([round(own[0][0] * SECOND) if own else -1 for own in runs], np.int64),
        finish_us=np.array(
            [
                round(own[-1][1] * SECOND) if of == FINISHED else -1
                for own, of in zip(runs, ended, strict=True)
            ],
            np.int64,
        ),
        held_us=np.array(held_us, np.int64),
        paid_us=ticks.get("paid", nothing),
        preemptions=np.maximum(stopped, 0).astype(np.int32),
        resizes=none,
        num_servers=np.array([len(own[-1][2]) if own else 0 for own in runs], np.int32),
        status=ended,
        reason=np.zeros(num_jobs, np.uint8),
        rows=log,
        digest=digest_of(log, ended, np.zeros(num_jobs, np.uint8)),
        failures=failures,
        lost_us=ticks.get("lost", nothing),
        written_us=ticks.get("written", nothing),
    )
    spec = RunSpec(
        policy="fifo", placement="first-fit", predictor="oracle", seed=0, cluster=cluster,
        trace=TraceSource.of(trace), version=gs.__version__, outages=OutageSource.of(outages),
    )  # fmt: skip
    return Result(trace, cluster, spec, schedule, 0.5, outages=outages)


def outages_of(rows: list[tuple[int, int, int | None, str]]) -> Outages:
    """Outages of (server, start, length, kind), in seconds."""
    server, start, length, kind = zip(*rows, strict=True) if rows else [()] * 4
    ends = [None if n is None else s + n for s, n in zip(start, length, strict=True)]
    return Outages.from_columns(list(server), list(start), ends, list(kind))


PAIR = gs.Cluster.uniform(2, 4)
ALL = 0b1111
TYPES = ("A100", "H100", "L40", "V100")


def one_server_of_a_gang_fails() -> Result:
    """Case F10: job 0 needs both servers of 4, of which server 1 fails from 30 to 60."""
    trace = gs.Trace.from_columns([0, 5], [100, 20], [8, 4])
    both = {0: ALL, 1: ALL}
    return failing(
        trace, PAIR, [[(0, 30, both), (60, 160, both)], [(160, 180, {0: ALL})]],
        Outages.from_columns([1], [30], [60]), failures=[1, 0], lost=[30, 0],
    )  # fmt: skip


def each_end() -> Result:
    """Four servers of 4, each of a type of its own, with a job that ends in another way.

    Job 0 is killed at its limit of 70 s, having saved 60 s and written 4 (case L50). Job 1 fails
    at 40, and its second failure ends it at 60 (F13). Job 2 runs on a server that is drained from
    30 to 120 until it finishes at 100 (F9). Job 3 saves 60 s until 70, and pays 5 s (F2).
    """
    trace = gs.Trace.from_columns(
        [0] * 4, [100] * 4, [4] * 4, id=["limit", "loser", "drained", "saver"],
        gpu_types=[[kind] for kind in TYPES],
    )  # fmt: skip
    return failing(
        trace,
        gs.Cluster(tuple(gs.ServerGroup(1, 4, kind) for kind in TYPES)),
        [
            [(0, 70, {0: ALL})],
            [(0, 40, {1: ALL}), (50, 60, {1: ALL})],
            [(0, 100, {2: ALL})],
            [(0, 70, {3: ALL}), (90, 137, {3: ALL})],
        ],
        Outages.from_columns([1, 1, 2, 3], [40, 60, 30, 70], [50, 70, 120, 90],
                             ["fail", "fail", "drain", "fail"]),
        status=[KILLED, FAILED, FINISHED, FINISHED],
        failures=[0, 2, 0, 1],
        paid=[0, 0, 0, 5],
        lost=[6, 50, 0, 6],
        written=[4, 0, 0, 6],
    )  # fmt: skip
