"""The Standard Workload Format reader."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from gpusched.traces.reading import read_trace
from tests.unit.real_data import DATA, counted

TEXT = """\
; Computer: a test
;   UnixStartTime: 1272639895
;
 1    10     5   100    8  -1 -1    16   200 -1  1  3  4 -1  2 -1 -1 -1

 2     7    -1    50   -1  -1 -1     4    -1 -1  5 -1  4 -1  2 -1 -1 -1
 3    12     0    -1    4  -1 -1     4    -1 -1  0  3  4 -1 -1 -1 -1 -1
"""


def test_processors_are_read_as_gpus_and_missing_values_are_known_as_such(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TEXT)

    trace = read_trace(path)

    assert trace.id.tolist() == [2, 1]
    assert trace.row.tolist() == [6, 4]
    assert trace.gpus.tolist() == [4, 8]
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [-1, 200_000_000]
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [-1, 5_000_000]
    assert trace.user is not None
    assert trace.user.values().tolist() == ["", "3"]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["killed", "ok"]
    assert trace.epoch == datetime.fromtimestamp(1272639895 + 7, tz=UTC)
    assert trace.rejects.first == {"run_time must be positive": (7,)}


def test_a_packed_log_reads_like_a_plain_one(tmp_path):
    plain, packed = tmp_path / "log.swf", tmp_path / "log.swf.gz"
    plain.write_text(TEXT)
    packed.write_bytes(gzip.compress(TEXT.encode()))

    assert read_trace(packed).name == "log"
    assert read_trace(packed).row.tolist() == read_trace(plain).row.tolist()


def test_the_requested_processors_and_several_processors_per_gpu_are_options(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TEXT)

    assert read_trace(path, processors="requested").gpus.tolist() == [4, 16]
    assert read_trace(path, processors_per_gpu=3).gpus.tolist() == [2, 3]
    assert "allocated processors as GPUs, 3 each" in read_trace(path, processors_per_gpu=3).source
    with pytest.raises(ValueError, match="processors: 'all' must be one of allocated, requested"):
        read_trace(path, processors="all")
    with pytest.raises(ValueError, match="processors_per_gpu: 0 must be at least 1"):
        read_trace(path, processors_per_gpu=0)
    with pytest.raises(TypeError, match="processors_per_gpu: True must be an integer"):
        read_trace(path, processors_per_gpu=True)


def test_the_archive_log_has_the_counted_jobs_and_rejects():
    trace = read_trace(DATA / "swf" / "RICC-2010-first20000.swf.gz")

    num_jobs, rejected = counted(real=(19_991, 9), excerpt=(95, 5))
    assert len(trace) == num_jobs
    assert trace.rejects.counts == {"run_time must be positive": rejected}
    assert trace.gpus.max() == 4_096
    assert trace.status is not None
    counts = dict(zip(trace.status.names, trace.status.counts().tolist(), strict=True))
    assert counts == counted(real={"ok": 18_510, "killed": 1_481}, excerpt={"ok": 85, "killed": 10})
    assert trace.epoch == datetime.fromtimestamp(1272639895, tz=UTC)
    assert trace.estimate_us is not None
    assert (trace.estimate_us > 0).all()


def test_nodes_may_have_gpus_that_their_processors_share(tmp_path):
    path = tmp_path / "small.swf"
    rows = [f"{n + 1} 0 0 10 {p} -1 -1 {p} -1 -1 1 1 1 1 1 1 -1 -1\n" for n, p in enumerate(WIDTHS)]
    head = "; MaxNodes: 50 (of two kinds)\n;MaxProcs:  800\n"
    path.write_text(head + "".join(rows))

    trace = read_trace(path, gpus_per_node=4)
    assert trace.gpus.tolist() == [1, 1, 2, 4, 5, 8]
    assert "processors as GPUs, 4 for each node of 16" in trace.source
    assert read_trace(path).gpus.tolist() == WIDTHS


WIDTHS = [1, 4, 5, 16, 17, 32]


@pytest.mark.parametrize(
    ("head", "options", "error", "message"),
    [
        ("", {"gpus_per_node": 4}, ValueError, "small.swf: gpus_per_node needs MaxNodes and"),
        (
            "; MaxNodes: 0\n; MaxProcs: 8\n",
            {"gpus_per_node": 4},
            ValueError,
            "needs MaxNodes and MaxProcs, above 0",
        ),
        (
            "; MaxNodes: 3\n; MaxProcs: 8\n",
            {"gpus_per_node": 4},
            ValueError,
            "MaxProcs 8 must be a multiple of MaxNodes 3; name processors_per_gpu",
        ),
        (
            "",
            {"gpus_per_node": 4, "processors_per_gpu": 2},
            ValueError,
            "processors_per_gpu: cannot be combined with gpus_per_node",
        ),
        ("", {"gpus_per_node": 0}, ValueError, "gpus_per_node: 0 must be at least 1"),
        ("", {"gpus_per_node": "4"}, TypeError, "gpus_per_node: '4' must be an integer"),
    ],
)
def test_what_the_header_does_not_tell_of_nodes_is_an_error(
    tmp_path, head, options, error, message
):
    path = tmp_path / "small.swf"
    path.write_text(head + "1 0 0 10 4 -1 -1 4 -1 -1 1 1 1 1 1 1 -1 -1\n")

    with pytest.raises(error, match=message):
        read_trace(path, **options)
