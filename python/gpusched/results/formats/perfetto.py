"""Timelines for Perfetto and Chrome's ``about:tracing``: JSON trace events."""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int64
from gpusched.base.libraries import polars
from gpusched.base.ticks import US_PER_S
from gpusched.model.outages import ANY, KINDS, spans
from gpusched.results.format_registry import Exported, ScheduleFormat, register_schedule_format

PER_GPU = 1000
"""Lanes per GPU: lane = GPU number times this, plus an offset for jobs that share it."""


def lanes_of(rows: Mapping[str, AnyArray]) -> Int64:
    """Return the lane of each row on its server: its lowest GPU, times 1,000.

    Jobs that share a GPU, and jobs of a pool without servers, get the next free lane.
    """
    mask = rows["mask"].astype(np.uint64)
    lowest = mask & (~mask + np.uint64(1))
    gpu = np.zeros(len(mask), dtype=np.int64)
    held = lowest > 0
    gpu[held] = np.round(np.log2(lowest[held].astype(np.float64))).astype(np.int64)
    lane = gpu * PER_GPU
    order = np.lexsort((rows["end_us"], rows["start_us"], lane, rows["server"]))
    place = np.stack([rows["server"][order], lane[order]])
    same = (place[:, 1:] == place[:, :-1]).all(axis=0)
    overlaps = same & (rows["start_us"][order][1:] < rows["end_us"][order][:-1])
    if overlaps.any():
        _spread(rows, order, lane)
    return lane


def _spread(rows: Mapping[str, AnyArray], order: AnyArray, lane: Int64) -> None:
    """Move rows that overlap an earlier one to the first free lane."""
    server, start_us, end_us = (rows[name].tolist() for name in ("server", "start_us", "end_us"))
    group: tuple[int, int] | None = None
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    num_lanes = 0
    for row in order.tolist():
        of = (server[row], int(lane[row]))
        if of != group:
            group, free, busy, num_lanes = of, [], [], 0
        while busy and busy[0][0] <= start_us[row]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            chosen = heapq.heappop(free)
        else:
            chosen, num_lanes = num_lanes, num_lanes + 1
        heapq.heappush(busy, (end_us[row], chosen))
        lane[row] += chosen


# Characters to escape in JSON: required ones, and those beyond ASCII.
_TO_ESCAPE: Final = r'[^ -~]|["\\]'
# Colour names of Chrome's viewer; Perfetto colours by the name of the job.
_COLOURS: Final = (
    "thread_state_running", "thread_state_iowait", "thread_state_runnable", "rail_response",
    "rail_animation", "rail_idle", "rail_load", "startup", "heap_dump_stack_frame", "good",
    "generic_work", "cq_build_running", "cq_build_passed", "yellow", "olive",
    "vsync_highlight_color",
)  # fmt: skip
# Process and thread ids begin with 1: Perfetto treats process 0 as Linux's idle process, and older
# versions merge threads 0 and 1 of a process.
_SERVERS_ROW: Final = 1
_LANES_ROW: Final = 1
_AFTER_LANES: Final = 1_000_000


def write(exported: Exported, path: Path, *, tracks: str) -> list[str]:
    """Write a slice for every allocation: a process for each server, a thread for each lane.

    Complete events (``X``), with ``ts`` and ``dur`` in whole microseconds, and metadata events
    (``M``) with names and order. No two slices of a thread overlap. A server with outages has a
    thread for each kind of them, above the others.
    """
    rows = {name: np.asarray(values) for name, values in exported.intervals.items()}
    if tracks == "gpu":
        rows = _by_gpu(rows)
    lane = lanes_of(rows)
    server: AnyArray = rows["server"].astype(np.int64)
    job = rows["job"]
    begin, end = _of_jobs(exported)
    colour = polars.Series(_COLOURS).gather(job % len(_COLOURS))
    lines = polars.select(
        polars.concat_str(
            begin.gather(job),
            polars.lit(',"ph":"X","ts":'),
            polars.Series(rows["start_us"]).cast(polars.String),
            polars.lit(',"dur":'),
            polars.Series(rows["end_us"] - rows["start_us"]).cast(polars.String),
            polars.lit(',"pid":'),
            polars.Series(server + _SERVERS_ROW).cast(polars.String),
            polars.lit(',"tid":'),
            polars.Series(lane + _LANES_ROW).cast(polars.String),
            polars.lit(',"cname":"'),
            colour,
            end.gather(job),
        )
    )
    with open(path, "wb") as file:
        file.write(b'{"displayTimeUnit":"ms","traceEvents":[\n')
        lines.write_csv(
            file, include_header=False, quote_style="never", separator="\x1f", line_terminator=",\n"
        )
        down = _outages(exported)
        lanes = polars.DataFrame({"server": server, "lane": lane}).unique().rows()
        used = {*lanes, *(place for place, _, _ in down)}
        more = [_outage(*each) for each in down]
        more += _names_of_tracks(exported, sorted(used), is_per_gpu=tracks == "gpu")
        file.write(",\n".join(json.dumps(event) for event in more).encode())
        file.write(b"\n]}\n")
    num_left = int(np.count_nonzero((exported.over_us < 0) & ~exported.is_rejected))
    num_rejected = int(np.count_nonzero(exported.is_rejected))
    lost = [f"{num_rejected:,} rejected jobs have no slice"] if num_rejected else []
    return lost + ([f"{num_left:,} jobs are unfinished"] if num_left else [])


def _of_jobs(exported: Exported) -> tuple[polars.Series, polars.Series]:
    """Return the JSON before and after the name of each job's slices."""
    trace = exported.trace
    wait_us = np.maximum(np.asarray(exported.schedule.start_us) - trace.submit_us, 0)
    seconds, rest = np.divmod(wait_us, US_PER_S)
    user = polars.Series(["}}"], dtype=polars.String)
    if trace.user is not None:
        named = [f',"user":{json.dumps(name)}}}}}' if name else "}}" for name in trace.user.names]
        user = polars.Series(named, dtype=polars.String).gather(trace.user.codes)
    ids = trace.id if trace.id.dtype.kind == "i" else trace.id.tolist()
    jobs = polars.select(
        begin=polars.concat_str(
            polars.lit('{"name":"job '), _escaped(polars.Series(ids)), polars.lit('"')
        ),
        end=polars.concat_str(
            polars.lit('","args":{"gpus":'),
            polars.Series(trace.gpus).cast(polars.String),
            polars.lit(',"first wait (s)":'),
            polars.Series(seconds).cast(polars.String),
            polars.lit("."),
            polars.Series(rest).cast(polars.String).str.zfill(6),
            polars.lit(user),
        ),
    )
    return jobs["begin"], jobs["end"]


def _escaped(values: polars.Series) -> polars.Series:
    """Escape values for JSON, without the quotes."""
    texts = values.cast(polars.String)
    if values.dtype.is_integer():
        return texts
    odd = texts.str.contains(_TO_ESCAPE).arg_true()
    return texts.scatter(odd, [json.dumps(text)[1:-1] for text in texts.gather(odd)])


def _by_gpu(rows: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Return a row per GPU instead of per server; a pool has none."""
    if len(rows["job"]) == 0 or rows["server"][0] < 0:
        return rows
    masks = rows["mask"].astype(np.uint64)
    parts = []
    for gpu in range(64):
        held = np.flatnonzero((masks >> np.uint64(gpu)) & np.uint64(1))
        if len(held):
            part = {name: values[held] for name, values in rows.items()}
            parts.append(part | {"mask": np.full(len(held), 1 << gpu, dtype=np.uint64)})
    return {name: np.concatenate([part[name] for part in parts]) for name in rows}


def _outages(exported: Exported) -> list[tuple[tuple[int, int], int, int]]:
    """Return the outages until the last interval: server and lane, begin and end."""
    last_us = int(np.max(exported.intervals["end_us"], initial=0))
    return [
        ((server, kind - len(KINDS)), begin_us, min(end_us, last_us))
        for kind in ANY
        for server, begin_us, end_us in zip(
            *(each.tolist() for each in spans(exported.cluster, exported.outages, [kind])),
            strict=True,
        )
        if begin_us < last_us
    ]


def _outage(place: tuple[int, int], begin_us: int, end_us: int) -> dict[str, Any]:
    server, lane = place
    return {
        "name": KINDS[lane], "ph": "X", "ts": begin_us, "dur": end_us - begin_us,
        "pid": server + _SERVERS_ROW, "tid": _thread(lane), "cname": "grey", "args": {},
    }  # fmt: skip


def _thread(lane: int) -> int:
    return lane + _LANES_ROW if lane >= 0 else -lane + _AFTER_LANES


def _names_of_tracks(
    exported: Exported, used: Sequence[tuple[int, int]], *, is_per_gpu: bool
) -> list[dict[str, Any]]:
    cluster = exported.cluster
    events: list[dict[str, Any]] = []
    for of in sorted({place for place, _ in used}):
        name = str(cluster)
        if of >= 0:
            kind = cluster.gpu_types[cluster.server_type[of]]
            name = f"server {of}" + (f" ({kind})" if kind else "")
        known = {"ph": "M", "pid": of + _SERVERS_ROW}
        events.append(known | {"name": "process_name", "args": {"name": name}})
        events.append(known | {"name": "process_sort_index", "args": {"sort_index": of}})
    for of, place in used:
        gpu, extra = divmod(place, PER_GPU)
        # A slice per server is at the first of several GPUs; the others are not idle.
        title = f"GPU {gpu}" if is_per_gpu else f"from GPU {gpu}"
        title += f" ({extra + 1})" if extra else ""
        title = f"row {place + 1}" if of < 0 else title
        title = f"outages: {KINDS[place]}" if place < 0 else title
        known = {"ph": "M", "pid": of + _SERVERS_ROW, "tid": _thread(place)}
        events.append(known | {"name": "thread_name", "args": {"name": title}})
        events.append(known | {"name": "thread_sort_index", "args": {"sort_index": place}})
    nothing = {"ph": "M", "pid": _SERVERS_ROW, "name": "process_name"}
    return events or [nothing | {"args": {"name": "no job ran"}}]


register_schedule_format(
    ScheduleFormat(
        name="perfetto",
        summary="Timeline of JSON trace events, for Perfetto and Chrome.",
        source="Trace Event Format, Google.",
        endings=("json", "perfetto-trace"),
        write=write,
        options={"tracks": ("server", "gpu")},
    )
)
