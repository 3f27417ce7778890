"""The reader of the logs of Seren and Kalos."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from gpusched.traces.reading import read_trace

SEREN = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,"
    "queue,gpu_time\n"
)
KALOS = (
    "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,"
    "submit_time,start_time,end_time,fail_time,stop_time,duration,queue,gpu_time\n"
)


def test_the_run_time_is_that_between_start_and_end(tmp_path):
    path = tmp_path / "trace_seren.csv"
    path.write_text(
        SEREN
        + "7,u1,1,8,128,Other,FAILED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
        + "2023-03-01 00:20:51+08:00,999,1,936.0\n"
        + "8,u1,1,0,4,Other,COMPLETED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:54+08:00,"
        + "2023-03-01 00:20:51+08:00,117,32,0\n"
        + "9,u2,1,1,4,SFT,TIMEOUT,2023-03-01 00:18:23+08:00,,2023-03-01 00:20:51+08:00,1,1,1\n"
        + "10,u2,1,1,4,SFT,TIMEOUT,2023-03-01 00:18:25+08:00,2023-03-01 00:18:26+08:00,"
        + "2023-03-01 00:18:26+08:00,1,1,1\n"
        + "11,u2,1,2,4,SFT,TIMEOUT,2023-02-28 16:18:20+00:00,2023-03-01 00:18:26+08:00,"
        + "2023-03-01 00:18:27+08:00,1,1,1\n"
    )

    trace = read_trace(path)

    assert trace.id.tolist() == [11, 7]
    assert trace.service_s.tolist() == [1, 117]
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [6_000_000, 32_000_000]
    assert trace.epoch == datetime(2023, 2, 28, 16, 18, 20, tzinfo=UTC)
    assert trace.cpu is not None
    assert trace.cpu.tolist() == [2, 16]
    assert trace.group is not None
    assert trace.group.values().tolist() == ["SFT", "Other"]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["killed", "failed"]
    assert trace.rejects.first == {
        "gpu_num must be positive": (3,),
        "start_time must be a time like 2017-10-09 07:01:55": (4,),
        "end_time - start_time must be positive": (5,),
    }


def test_kalos_tells_the_memory_of_each_pod(tmp_path):
    path = tmp_path / "trace_kalos.csv"
    path.write_text(
        KALOS
        + "dlc1,u1,8,64,960,1000,100.0,Other,CANCELLED,2023-05-17 11:00:58+00:00,"
        + "2023-05-17 11:01:08+00:00,2023-05-17 11:01:16+00:00,,2023-05-17 11:01:16+00:00,18,10,9\n"
        + "dlc2,u1,1,1,,,,Other,CANCELLED,2023-05-17 11:01:58+00:00,"
        + "2023-05-17 11:02:08+00:00,2023-05-17 11:02:16+00:00,,,18,10,9\n"
    )

    trace = read_trace(path)

    assert trace.gpus.tolist() == [64, 1]
    assert trace.service_s.tolist() == [8, 8]
    assert trace.memory_gib is not None
    assert trace.memory_gib.tolist() == [125, 0]
    assert trace.cpu is not None
    assert trace.cpu.tolist() == [15, 0]


@pytest.mark.parametrize(
    "time",
    ["2023-03-01T00:18:22.250+0800", "2023-02-28 16:18:22,25Z", "2023-02-28T16:18:22.250000+00"],
)
def test_offsets_and_fractions_are_read_in_every_way_of_writing_them(tmp_path, time):
    path = tmp_path / "trace.csv"
    rest = "2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,1,1,1\n"
    path.write_text(SEREN + f'7,u1,1,8,128,Other,FAILED,"{time}",{rest}')

    trace = read_trace(path)
    assert trace.epoch == datetime(2023, 2, 28, 16, 18, 22, 250_000, tzinfo=UTC)
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [31_750_000]


@pytest.mark.parametrize(
    "time",
    [
        "2023-02-30 00:18:22+08:00", "2023-03-01 24:18:22+08:00", "2023-03-01 00:18:22+25:00",
        "soon", "99999999999999", "-5", "2023-03-01 00:18:22+08:99",
    ],
)  # fmt: skip
def test_what_is_no_time_is_named(tmp_path, time):
    path = tmp_path / "trace.csv"
    rest = "2023-03-01 00:18:54+08:00,2023-03-01 00:20:51+08:00,1,1,1\n"
    path.write_text(SEREN + f"7,u1,1,8,128,Other,FAILED,{time},{rest}")

    with pytest.raises(ValueError, match=r"trace.csv, line 2, column 'submit_time': '.*' must be"):
        read_trace(path, on_bad="error")
