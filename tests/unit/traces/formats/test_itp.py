"""The ITP reader, against what was counted from the published files."""

from __future__ import annotations

import numpy as np
import pytest

from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, EXCERPTS, needs_real_data

# Rows, widths, and the mean, 95th percentile and peak of the GPUs in use if every job started when
# it was submitted.
COUNTED = {
    "cluster01": (1_595, {1, 2, 4, 8, 16, 32, 64}, 28, 132, 330),
    "cluster02": (5_778, {1, 2, 4, 8, 16, 32, 64}, 86, 193, 346),
    "cluster03": (3_011, {1, 2, 8, 16, 32, 64}, 139, 352, 1_379),
    "cluster05": (3_629, {1, 2, 4, 8}, 10, 68, 341),
    "cluster06": (2_396, {1, 2, 4, 8, 16, 32, 64}, 86, 248, 516),
    "cluster10": (260, {1, 2, 4, 16}, 5, 26, 52),
}


def gpus_in_use(trace: Trace) -> tuple[np.ndarray, np.ndarray]:
    """Return levels and how long each lasts, every job starting when it is submitted."""
    change = np.concatenate([trace.gpus, -trace.gpus])
    time, place = np.unique(
        np.concatenate([trace.submit_us, trace.submit_us + trace.service_us]), return_inverse=True
    )
    step = np.zeros(len(time), dtype=np.int64)
    np.add.at(step, place, change)
    return np.cumsum(step)[:-1], np.diff(time)


@needs_real_data
@pytest.mark.parametrize("name", sorted(COUNTED))
def test_the_published_files_have_the_counted_jobs_widths_and_concurrency(name):
    rows, widths, mean, p95, peak = COUNTED[name]
    trace = read_trace(DATA / "itp" / f"{name}.csv")

    assert len(trace) == rows
    assert not trace.rejects
    assert set(trace.gpus.tolist()) == widths
    assert trace.service_s.min() >= 600
    level, lasts = gpus_in_use(trace)
    assert np.average(level, weights=lasts) == pytest.approx(mean, abs=0.51)
    order = np.argsort(level)
    reached = np.cumsum(lasts[order]) / lasts.sum()
    assert level[order][np.searchsorted(reached, 0.95)] == p95
    assert level.max() == peak


@each("number", range(len(COUNTED)))
def test_a_file_is_read_row_by_row(number):
    path = DATA / "itp" / f"{sorted(COUNTED)[number]}.csv"
    trace = read_trace(path)
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]

    assert len(trace) == len(rows)
    assert not trace.rejects
    assert trace.service_s.min() >= 600
    assert (np.diff(trace.submit_us) >= 0).all()
    for job in range(len(trace)):
        name, submit, duration, gpus = rows[trace.row[job] - 2]
        assert trace.id[job] == name
        assert trace.submit_s[job] + trace.origin_s == float(submit)
        assert (trace.service_s[job], trace.gpus[job]) == (float(duration), int(gpus))


def test_an_excerpt_has_the_jobs_and_widths_it_was_made_with():
    trace = read_trace(EXCERPTS / "itp" / "cluster05.csv")
    assert len(trace) == 70
    assert set(trace.gpus.tolist()) == {1, 2, 4, 8}
    assert trace.origin_s == 100_000


@needs_real_data
def test_the_first_submit_becomes_zero_and_the_common_epoch_is_kept():
    trace = read_trace(DATA / "itp" / "cluster01.csv")

    assert trace.submit_us[0] == 0
    assert trace.origin_s == 1_932_025
    assert trace.epoch is None
    assert trace.id[0] == "965d744f-0445-c1a8-12af-97e4c536c66e"
    assert (trace.row[0], trace.gpus[0], trace.service_s[0]) == (2, 64, 2429)


def test_a_job_knows_the_line_it_stands_in(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("job_id,submission_time,duration,num_gpu\nb,70,1.5,2\na,50,2,1\nc,70,3,4\n")

    trace = read_trace(path)

    assert trace.id.tolist() == ["a", "b", "c"]
    assert trace.row.tolist() == [3, 2, 4]
    assert trace.submit_us.tolist() == [0, 20_000_000, 20_000_000]
    assert trace.service_us.tolist() == [2_000_000, 1_500_000, 3_000_000]
    assert trace.name == "small"
    assert trace.source == str(path)
