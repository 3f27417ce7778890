"""The Helios reader."""

from __future__ import annotations

from datetime import datetime

from gpusched.traces.reading import read_trace

HEADER = (
    "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n"
)


def test_jobs_without_gpus_are_rejected_and_counted(tmp_path):
    path = tmp_path / "cluster_log.csv"
    path.write_text(
        HEADER
        + "1,u1,vcA,0,4,1,COMPLETED,2020-04-01 00:00:00,2020-04-01 00:00:01,"
        + "2020-04-01 00:00:09,8,1\n"
        + "2,u1,vcA,8,4,1,TIMEOUT,2020-04-01 00:00:05,2020-04-01 00:00:15,"
        + "2020-04-01 00:01:05,50.0,10\n"
        + "3,u2,vcB,1,4,1,NODE_FAIL,2020-04-01 00:00:03,None,None,7,\n"
        + "4,u2,vcB,2,4,1,CANCELLED,2020-04-01 00:00:04,None,None,0,3\n"
    )

    trace = read_trace(path)

    assert trace.id.tolist() == [3, 2]
    assert trace.row.tolist() == [4, 3]
    assert trace.gpus.tolist() == [1, 8]
    assert trace.service_s.tolist() == [7, 50]
    assert trace.epoch == datetime(2020, 4, 1, 0, 0, 3)
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [-1, 10_000_000]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["failed", "killed"]
    assert trace.queue is not None
    assert trace.queue[0] == "vcB"
    assert trace.rejects.counts == {"gpu_num must be positive": 1, "duration must be positive": 1}
    assert trace.rejects.first == {
        "gpu_num must be positive": (2,),
        "duration must be positive": (5,),
    }
    assert trace.rejects.lines() == [
        "duration must be positive: 1 row (line 5)",
        "gpu_num must be positive: 1 row (line 2)",
    ]
