"""Traces written by convert are read back."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from gpusched.traces.reading import read_trace, write_trace
from gpusched.traces.workload import Trace


def whole_trace() -> Trace:
    return Trace.from_columns(
        submit_s=[0, 1.000001, 7],
        service_s=[0.1, 123_456.654321, 3],
        gpus=[1, 8, 128],
        id=["a", "b,c", "d"],
        user=["ann", "", "bob"],
        queue=["q", "q", "p"],
        group=["x", "y", "x"],
        status=["ok", "failed", "killed"],
        estimate_s=[np.nan, 4, 5],
        weight=[1, 2, 0.5],
        gpu_types=["V100", "", "T4|V100"],
        checkpoint_s=[0, 1, 2],
        restart_s=[3, 0, 0],
        source_wait_s=[0, np.nan, 9],
        gpu_share=[0.25, 1, 1],
        cpu=[1.5, 0, 96],
        memory_gib=[0.5, 0, 512],
        deadline_s=[0.5, np.nan, 7.000001],
        value=[1, 2, 0.5],
        min_gpus=[1, 2, 128],
        max_gpus=[np.nan, 16, 128],
        epoch=datetime(2024, 1, 1),
    )


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_all_columns_come_back_exactly(tmp_path, ending):
    trace = whole_trace()
    path = tmp_path / f"a.{ending}"

    with pytest.warns(UserWarning, match="seconds: that second 0 was 2024-01-01 00:00:00 is left"):
        write_trace(trace, path)
    back = read_trace(path)

    assert back.to_polars().drop("row").equals(trace.to_polars().drop("row"))
    assert back.submit_us.tolist() == trace.submit_us.tolist()
    assert back.service_us.tolist() == trace.service_us.tolist()
    assert back.type_sets == trace.type_sets


def test_swf_keeps_whole_seconds_and_turns_names_into_numbers(tmp_path):
    with pytest.warns(UserWarning, match="SWF") as said:
        write_trace(whole_trace(), tmp_path / "a.swf")
    told = "\n".join(str(warning.message) for warning in said)
    assert "SWF has no names: user, group, queue became numbers" in told
    left_out = "checkpoint_s, restart_s, weight, gpu_share, cpu, memory_gib, value, min_gpus, "
    left_out += "deadline_s, max_gpus, gpu_types"
    assert f"SWF has no field for {left_out}: left out" in told
    back = read_trace(tmp_path / "a.swf")

    assert back.submit_s.tolist() == [0, 1, 7]
    assert back.service_s.tolist() == [1, 123_457, 3]
    assert back.gpus.tolist() == [1, 8, 128]
    assert back.id.tolist() == [1, 2, 3]
    assert back.epoch is not None
    assert back.epoch.replace(tzinfo=None) == datetime(2024, 1, 1)
    assert back.user is not None
    assert back.user.values().tolist() == ["1", "", "3"]
    assert back.status is not None
    assert back.status.values().tolist() == ["ok", "failed", "killed"]
    assert back.estimate_us is not None
    assert back.estimate_us.tolist() == [-1, 4_000_000, 5_000_000]
    assert back.source_wait_us is not None
    assert back.source_wait_us.tolist() == [0, -1, 9_000_000]


def test_the_format_may_differ_from_the_ending(tmp_path):
    write_trace(whole_trace(), tmp_path / "jobs.txt", format="npz")

    assert len(read_trace(tmp_path / "jobs.txt", format="numpy")) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["jobs.txt"]


def test_an_unknown_ending_suggests_the_nearest(tmp_path):
    with pytest.raises(ValueError, match=r"unknown format 'parquets'; did you mean 'parquet'\?"):
        write_trace(whole_trace(), tmp_path / "a.parquets")
