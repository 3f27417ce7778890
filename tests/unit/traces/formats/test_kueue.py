"""Histories of Kueue: workloads that have finished."""

import json

import pytest

import gpusched as gs
from gpusched.traces.format_registry import trace_formats


@pytest.fixture
def items():
    return json.loads(trace_formats()["kueue"].excerpt()["workloads.json"])["items"]


def read(folder, items, **options):
    path = folder / "workloads.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return gs.read_trace(path, **options)


def condition(item, kind):
    return next(one for one in item["status"]["conditions"] if one["type"] == kind)


def test_conditions_tell_when_a_workload_ran(tmp_path, items):
    trace = read(tmp_path, items)
    assert trace.id.tolist() == ["vision/first", "vision/second"]
    assert (trace.gpus.tolist(), trace.service_s.tolist()) == ([12, 8], [2400, 300])
    assert (trace.source_wait_us // 1_000_000).tolist() == [60, 60]
    assert trace.status.values().tolist() == ["ok", "failed"]
    assert (trace.priority.tolist(), trace.queue[0], trace.user[0]) == (
        [100, 100],
        "users",
        "vision",
    )
    assert trace.allowed_types == [("a100",), ("a100",)]
    assert trace.epoch.isoformat() == "2026-03-02T09:00:00+00:00"


def test_a_preempted_workload_ran_before_and_waited_for_an_unknown_time(tmp_path, items):
    status = items[0]["status"]
    status["accumulatedPastExecutionTimeSeconds"] = 100
    status["schedulingStats"] = {"evictions": [{"reason": "Preempted", "count": 2}]}
    trace = read(tmp_path, items)
    assert trace.service_s.tolist() == [2500, 300]
    assert trace.source_wait_us.tolist() == [-1, 60_000_000]
    assert "1 workload preempted" in " ".join(trace.notes)


def test_what_has_not_run_is_counted(tmp_path, items):
    waits, runs, refused = (json.loads(json.dumps(items[1])) for _ in range(3))
    for name, one in (("waits", waits), ("runs", runs), ("refused", refused)):
        one["metadata"]["name"] = name
    del waits["status"]
    runs["status"]["conditions"].remove(condition(runs, "Finished"))
    del refused["status"]["admission"]
    trace = read(tmp_path, [*items, waits, runs, refused])
    assert len(trace) == 2
    assert trace.rejects.lines() == [
        "status must be finished (the workload is waiting or running): 2 rows (rows 2, 3)",
        "gpus must be known (has finished without a recorded admission): 1 row (row 4)",
    ]


def test_a_run_that_ends_before_it_begins_is_a_fault(tmp_path, items):
    condition(items[0], "Finished")["lastTransitionTime"] = "2026-03-02T09:00:30Z"
    with pytest.raises(ValueError, match=r"row 0, column 'Finished - Admitted': -30.0 must be"):
        read(tmp_path, items, on_bad="error")
