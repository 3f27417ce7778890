"""Schedules in the formats of other tools."""

import csv
import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.results.format_registry import (
    SCHEDULE_FORMATS,
    ScheduleFormat,
    register_schedule_format,
)
from gpusched.results.formats.perfetto import PER_GPU, lanes_of

CLUSTER = gs.Cluster.from_toml(
    '[[servers]]\ncount = 2\ngpus = 4\ngpu_type = "V100"\n'
    '[[servers]]\ncount = 1\ngpus = 8\ngpu_type = "A100"\n'
)


@pytest.fixture(scope="module")
def result() -> gs.Result:
    trace = gs.generate("philly", 400, load=1.2, cluster=CLUSTER, seed=3)
    return gs.simulate(trace, CLUSTER, policy="srtf")


def slices_of(path: Path) -> list[dict]:
    return [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]


@pytest.mark.parametrize("tracks", ["server", "gpu"])
def test_a_timeline_has_every_gpu_second_and_nothing_overlaps(result, tmp_path, tracks):
    path = tmp_path / "a.json"
    result.to_perfetto(path, tracks=tracks)
    slices = slices_of(path)
    rows = result.intervals
    gpus = np.array([int(mask).bit_count() for mask in rows["mask"]])
    wanted = gpus if tracks == "gpu" else np.ones(len(gpus), dtype=int)
    assert len(slices) == wanted.sum()
    assert sum(s["dur"] for s in slices) == int(
        (wanted * (rows["end_us"] - rows["start_us"])).sum()
    )
    by_track = defaultdict(list)
    for s in slices:
        by_track[s["pid"], s["tid"]].append((s["ts"], s["ts"] + s["dur"]))
    for spans in by_track.values():
        spans.sort()
        assert all(end <= begin for (_, end), (begin, _) in pairwise(spans))
    assert {pid for pid, _ in by_track} <= {1, 2, 3}
    assert min(tid for _, tid in by_track) >= 1


def test_tracks_and_slices_have_names_and_colours_that_stay(result, tmp_path):
    other = gs.simulate(result.trace, CLUSTER, policy="fifo")
    colours = []
    for made in (result, other):
        made.to_perfetto(tmp_path / "a.json", "gpu")
        colours.append({s["name"]: s["cname"] for s in slices_of(tmp_path / "a.json")})
    shared = colours[0].keys() & colours[1].keys()
    assert len(shared) > 300
    assert all(colours[0][name] == colours[1][name] for name in shared)
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert names == {"server 0 (V100)", "server 1 (V100)", "server 2 (A100)"}
    threads = {(e["pid"], e["args"]["name"]) for e in events if e["name"] == "thread_name"}
    assert (3, "GPU 7") in threads
    assert (1, "GPU 4") not in threads
    # Without tracks of their own, GPUs of a gang but the first would look idle.
    result.to_perfetto(tmp_path / "b.json")
    events = json.loads((tmp_path / "b.json").read_text())["traceEvents"]
    lanes = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {name[:9] for name in lanes} == {"from GPU "}


# As the document "Trace Event Format" has them: what each kind of event says, besides pid and tid.
METADATA = {
    "process_name": ("name", str),
    "process_sort_index": ("sort_index", int),
    "thread_name": ("name", str),
    "thread_sort_index": ("sort_index", int),
}
COMPLETE = {"name": str, "ts": int, "dur": int, "pid": int, "tid": int, "cname": str, "args": dict}
# What the viewer of Chromium, in its colour_scheme.html, calls the colours that it has by name.
RESERVED = {
    "thread_state_uninterruptible", "thread_state_iowait", "thread_state_running",
    "thread_state_runnable", "thread_state_sleeping", "thread_state_unknown",
    "background_memory_dump", "light_memory_dump", "detailed_memory_dump",
    "vsync_highlight_color", "generic_work", "good", "bad", "terrible", "black", "grey", "white",
    "yellow", "olive", "rail_response", "rail_animation", "rail_idle", "rail_load", "startup",
    "heap_dump_stack_frame", "heap_dump_object_type", "heap_dump_child_node_arrow",
    "cq_build_running", "cq_build_passed", "cq_build_failed", "cq_build_abandoned",
    "cq_build_attempt_runnig", "cq_build_attempt_passed", "cq_build_attempt_failed",
}  # fmt: skip


@pytest.mark.parametrize("tracks", ["server", "gpu"])
def test_a_timeline_is_what_the_trace_event_format_says(result, tmp_path, tracks):
    path = tmp_path / "a.json"
    result.to_perfetto(path, tracks=tracks)
    timeline = json.loads(path.read_bytes().decode("utf-8"))
    assert timeline.keys() == {"displayTimeUnit", "traceEvents"}
    assert timeline["displayTimeUnit"] in ("ms", "ns")
    told = defaultdict(list)
    used = set()
    for event in timeline["traceEvents"]:
        phase = event.pop("ph")
        if phase == "X":
            assert {name: type(value) for name, value in event.items()} == COMPLETE
            assert event["ts"] >= 0
            assert event["dur"] > 0
            assert event["cname"] in RESERVED
            used.add((event["pid"], event["tid"]))
            continue
        assert phase == "M"
        is_thread = event["name"].startswith("thread")
        key, kind = METADATA[event["name"]]
        assert event.keys() == {"name", "pid", "args"} | ({"tid"} if is_thread else set())
        assert {name: type(value) for name, value in event["args"].items()} == {key: kind}
        told[event["name"]].append((event["pid"], event["tid"]) if is_thread else event["pid"])
    # Every track has its name and its place, once.
    for name, tracks_told in told.items():
        wanted = used if name.startswith("thread") else {process for process, _ in used}
        assert sorted(tracks_told) == sorted(wanted)
    assert told.keys() == METADATA.keys()


def test_a_server_with_outages_has_a_track_of_each_kind(tmp_path):
    jobs = gs.Trace.from_columns([0, 0], [50, 60], [4, 4])
    outages = gs.Outages.from_columns(
        [0, 0, 0, 1, 2, 2], [10, 15, 20, 30, 5, 900], [18, 25, 40, None, 6, 901],
        ["fail", "fail", "drain", "maint", "fail", "fail"],
    )  # fmt: skip
    run = gs.simulate(jobs, gs.Cluster.uniform(3, 4), policy="fifo", outages=outages)
    run.to_perfetto(tmp_path / "a.json")
    events = json.loads((tmp_path / "a.json").read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    found = [
        (e["pid"] - 1, tracks[e["pid"], e["tid"]], e["name"], e["ts"] / 1e6, e["dur"] / 1e6)
        for e in events
        if e.get("cname") == "grey"
    ]
    last_s = run.jobs.finish_s.max()
    assert sorted(found) == [
        (0, "outages: drain", "drain", 20, 20), (0, "outages: fail", "fail", 10, 15),
        (1, "outages: maint", "maint", 30, last_s - 30), (2, "outages: fail", "fail", 5, 1),
    ]  # fmt: skip
    places = {e["tid"]: e["args"]["sort_index"] for e in events if e["name"] == "thread_sort_index"}
    above = [tid for tid, place in places.items() if place < 0]
    assert sorted({name for (_, tid), name in tracks.items() if tid in above}) == [
        "outages: drain", "outages: fail", "outages: maint"
    ]  # fmt: skip


def test_names_from_the_trace_are_escaped(tmp_path):
    name = 'a"b\\c\n<é>'
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], id=[name, "b"], user=[name, ""])
    run = gs.simulate(trace, gs.Cluster.uniform(1, 2))
    run.to_perfetto(tmp_path / "a.json")
    first, second = slices_of(tmp_path / "a.json")
    assert first["name"] == f"job {name}"
    assert first["args"] == {"gpus": 1, "first wait (s)": 0.0, "user": name}
    assert "user" not in second["args"]
    run.export(tmp_path / "a.csv")
    rows = rows_of(tmp_path / "a.csv")
    assert rows[0]["job_id"] == name


def test_a_pool_has_rows_without_overlaps(tmp_path):
    trace = gs.Trace.from_columns([0, 0, 1, 6], [5, 5, 9, 2], [1, 1, 2, 1])
    run = gs.simulate(trace, gs.Cluster.uniform(2, 4), placement="count")
    run.to_perfetto(tmp_path / "a.json")
    assert {s["tid"] for s in slices_of(tmp_path / "a.json")} == {1, 2, 3}
    run.export(tmp_path / "a.csv", "batsim")
    assert {row["allocated_resources"] for row in rows_of(tmp_path / "a.csv")} == {""}


def test_jobs_that_share_a_gpu_get_lanes_of_their_own():
    rows = {
        "server": np.zeros(4, dtype=np.int64),
        "mask": np.array([1, 1, 1, 1 << 63], dtype=np.uint64),
        "start_us": np.array([0, 1, 5, 0]),
        "end_us": np.array([5, 9, 7, 3]),
    }
    assert lanes_of(rows).tolist() == [0, 1, 0, 63 * PER_GPU]


def test_a_schedule_without_jobs_is_a_timeline(tmp_path):
    trace = gs.Trace.from_columns([0], [5], [64])
    run = gs.simulate(trace, gs.Cluster.uniform(1, 8))
    for tracks in ("server", "gpu"):
        with pytest.warns(gs.RunWarning, match="1 rejected jobs have no slice"):
            run.to_perfetto(tmp_path / "a.json", tracks)
        assert slices_of(tmp_path / "a.json") == []


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


BATSIM = [
    "job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources",
    "requested_time", "success", "final_state", "starting_time", "execution_time", "finish_time",
    "waiting_time", "turnaround_time", "stretch", "allocated_resources", "consumed_energy",
    "metadata",
]  # fmt: skip


def test_batsims_jobs_have_its_columns_and_intervals_of_resources(tmp_path):
    trace = gs.Trace.from_columns([0, 1, 2, 3], [10, 10, 10, 5], [3, 6, 99, 2], estimate_s=[20] * 4)
    run = gs.simulate(trace, gs.Cluster.uniform(2, 4), placement="first-fit")
    run.export(tmp_path / "a.csv")
    rows = rows_of(tmp_path / "a.csv")
    assert list(rows[0]) == BATSIM
    assert [row["final_state"] for row in rows] == [
        "COMPLETED_SUCCESSFULLY", "COMPLETED_SUCCESSFULLY", "REJECTED", "COMPLETED_SUCCESSFULLY",
    ]  # fmt: skip
    assert [row["success"] for row in rows] == ["1", "1", "0", "1"]
    assert float(rows[1]["waiting_time"]) == 9.0
    assert float(rows[1]["turnaround_time"]) == 19.0
    assert float(rows[1]["stretch"]) == 1.9
    assert rows[2]["allocated_resources"] == ""
    assert float(rows[0]["requested_time"]) == 20.0
    for row, gpus in zip(rows, (3, 6, 0, 2), strict=True):
        assert len(resources(row["allocated_resources"])) == gpus
    together = resources(rows[1]["allocated_resources"])
    assert together <= set(range(8))


def resources(text: str) -> set[int]:
    found: set[int] = set()
    for piece in text.split():
        low, _, high = piece.partition("-")
        found |= set(range(int(low), int(high or low) + 1))
    return found


def test_allocations_of_all_jobs_are_those_of_the_log(result, tmp_path):
    with pytest.warns(gs.RunWarning, match="changed GPUs: the row has the last ones"):
        result.export(tmp_path / "a.csv")
    first = np.concatenate(([0], np.cumsum(CLUSTER.server_gpus)))[:-1]
    rows = result.intervals
    last: dict[int, tuple[int, set[int]]] = {}
    for job, start, server, mask in zip(
        *(rows[name].tolist() for name in ("job", "start_us", "server", "mask")), strict=True
    ):
        held = {int(first[server]) + gpu for gpu in range(8) if mask >> gpu & 1}
        before = last.get(job, (-1, set()))
        last[job] = (start, held | before[1]) if before[0] == start else (start, held)
    for row in rows_of(tmp_path / "a.csv"):
        assert resources(row["allocated_resources"]) == last[int(row["job_id"])][1]


def test_an_swf_schedule_reads_back_with_waits_and_says_what_it_rounds(tmp_path):
    trace = gs.Trace.from_columns(
        [0, 1.5, 2], [10, 10.25, 10], [4, 4, 99], user=["ann", "bob", "ann"]
    )
    run = gs.simulate(trace, gs.Cluster.uniform(1, 4))
    with pytest.warns(gs.RunWarning) as caught:
        run.export(tmp_path / "a.swf")
    assert [str(warning.message) for warning in caught] == [
        "SWF counts whole seconds: rounded were submit of 1 job, wait of 1 job, run time of 1 job",
        "SWF has no names: user became numbers",
        "SWF numbers its jobs: ids became 1, 2, ...",
    ]
    text = (tmp_path / "a.swf").read_text()
    assert "; Note: SWF counts whole seconds" in text
    rows = [line.split() for line in text.splitlines() if not line.startswith(";")]
    assert [(row[1], row[2], row[3], row[4], row[10]) for row in rows] == [
        ("0", "0", "10", "4", "1"), ("2", "8", "10", "4", "1"), ("2", "-1", "-1", "99", "5"),
    ]  # fmt: skip
    again = gs.read_trace(tmp_path / "a.swf")
    assert again.source_wait_us.tolist()[:2] == [0, 8_000_000]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.xyz",), "no export format has this extension"),
        (("a.json", "perfeto"), "did you mean 'perfetto'"),
    ],
)
def test_unknown_formats_are_refused(result, tmp_path, arguments, message):
    with pytest.raises(ValueError, match=message):
        result.export(tmp_path / arguments[0], *arguments[1:])
    with pytest.raises(ValueError, match="unknown option 'track'; did you mean 'tracks'"):
        result.export(tmp_path / "a.json", track="gpu")
    with pytest.raises(ValueError, match="tracks is 'gpus'; allowed: server, gpu"):
        result.to_perfetto(tmp_path / "a.json", "gpus")
    assert list(tmp_path.iterdir()) == []


def test_a_format_can_be_added(result, tmp_path):
    def write(exported, path: Path) -> list[str]:
        path.write_text(f"{len(exported.trace)} jobs")
        return []

    register_schedule_format(ScheduleFormat("count", "Jobs.", "A test.", ("count",), write, {}))
    try:
        result.export(tmp_path / "a.count")
        assert (tmp_path / "a.count").read_text() == "400 jobs"
    finally:
        SCHEDULE_FORMATS.remove("count")


def test_results_comparisons_and_traces_are_arrow_streams(result):
    comparison = gs.compare(result.trace, CLUSTER, ["fifo", "srtf"])
    for thing, rows in ((result, 400), (comparison, 800), (result.trace, 400)):
        assert len(pl.DataFrame(thing)) == rows
    pyarrow = pytest.importorskip("pyarrow")
    assert pyarrow.table(result).num_rows == 400


def test_notebooks_show_compact_escaped_tables(result):
    odd = gs.Trace.from_columns([0], [5], [1], id=["<b>"], name="<script>")
    comparison = gs.compare(result.trace, CLUSTER, ["fifo", "srtf"])
    for thing, text in (
        (result, "mean JCT"), (comparison, "srtf"), (result.trace, "395 more"),
        (CLUSTER, "A100"), (odd, "&lt;b&gt;"),
    ):  # fmt: skip
        html = thing._repr_html_()
        assert text in html
        assert html.startswith("<div>")
        assert html.count("<tr>") == html.count("</tr>") >= 2
        assert "<script" not in html
        assert len(html) < 20_000
    every = gs.Cluster(tuple(gs.ServerGroup(1, gpus, f"t{gpus}") for gpus in range(1, 60)))
    assert "39 more kinds" in every._repr_html_()


def test_a_slice_is_what_the_json_library_writes_of_it(tmp_path):
    """The writer joins columns of text; this is each event, written as one reads it."""
    ids = ["plain", 'a"b', "back\\slash", "tab\there", "\u00e9\u4e2d\U0001f600", "\x7f", "l\n"]
    users = ["ann", "", 'q"', "\u00fc", "ann", "\\", ""]
    trace = gs.Trace.from_columns(
        [0, 0, 0, 1.5, 2, 2, 2.000001], [5, 3.25, 7, 1, 1, 1, 1], [4, 8, 1, 1, 2, 4, 16],
        id=ids, user=users,
    )  # fmt: skip
    result = gs.simulate(trace, CLUSTER, policy="fifo-skip")
    result.to_perfetto(tmp_path / "a.json")
    rows = result.intervals
    lane = lanes_of(rows)
    wanted = []
    for row, job in enumerate(rows["job"].tolist()):
        wait_us = int(result.schedule.start_us[job] - trace.submit_us[job])
        args = {"gpus": int(trace.gpus[job]), "first wait (s)": wait_us / 1e6}
        user = users[ids.index(trace.id[job])]
        begin_us, end_us = int(rows["start_us"][row]), int(rows["end_us"][row])
        wanted.append(
            {
                "name": f"job {trace.id[job]}", "ph": "X", "ts": begin_us,
                "dur": end_us - begin_us, "pid": int(rows["server"][row]) + 1,
                "tid": int(lane[row]) + 1, "args": args | ({"user": user} if user else {}),
            }
        )  # fmt: skip
    found = slices_of(tmp_path / "a.json")
    assert [{key: s[key] for key in s if key != "cname"} for s in found] == wanted
    assert (tmp_path / "a.json").read_text().isascii()
