"""Several files as one trace: one clock, ids that are unique, and nothing lost."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

import gpusched as gs

HEADER = "submit_s,service_s,gpus"


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_jobs_of_several_files_stand_in_the_order_of_their_submission(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},user\n10,1,1,ann\n30,2,2,bob\n20,0,1,bob\n")
    b = written(tmp_path, "b.csv", f"{HEADER},estimate_s,gpu_types\n20,3,3,9,T4\n5,4,4,,\n")
    trace = gs.read_trace([a, b])
    assert trace.submit_s.tolist() == [0, 5, 15, 25]
    assert trace.origin_s == 5
    assert trace.gpus.tolist() == [4, 1, 3, 2]
    assert len(set(trace.id.tolist())) == len(set(trace.row.tolist())) == 4
    assert trace.user is not None
    assert trace.user.values().tolist() == ["", "ann", "", "bob"]
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [-1, -1, 9_000_000, -1]
    assert trace.allowed_types == [(), (), ("T4",), ()]
    assert trace.rejects.counts == {f"{a}: service_s must be positive": 1}
    assert trace.name == "a + b"


def test_one_file_cut_in_two_is_the_trace_of_the_whole(tmp_path):
    jobs = gs.generate("philly", 200, seed=3).with_deadlines(share=0.5, value=2.0)
    frame = jobs.to_polars()
    whole = tmp_path / "whole.csv"
    frame.write_csv(whole)
    frame[:80].write_csv(tmp_path / "a.csv")
    frame[80:].write_csv(tmp_path / "b.csv")
    expected = gs.read_trace(whole)
    for names in (("a", "b"), ("b", "a")):
        made = gs.read_trace([tmp_path / f"{name}.csv" for name in names])
        assert made.to_polars().drop("row").equals(expected.to_polars().drop("row"))


def test_dates_are_one_clock(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER}\n2024-05-01T12:00:00+02:00,1,1\n")
    b = written(tmp_path, "b.csv", f"{HEADER}\n2024-05-01T09:59:00Z,1,2\n")
    trace = gs.read_trace([a, b])
    assert trace.epoch == datetime(2024, 5, 1, 9, 59, tzinfo=UTC)
    assert trace.submit_s.tolist() == [0, 60]
    assert trace.gpus.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("other", "kind"),
    [("7", "seconds without a date"), ("2024-05-01T09:59:00", "dates without a zone")],
)
def test_files_without_a_common_clock_are_both_named(tmp_path, other, kind):
    a = written(tmp_path, "a.csv", f"{HEADER}\n2024-05-01T12:00:00+02:00,1,1\n")
    b = written(tmp_path, "b.csv", f"{HEADER}\n{other},1,2\n")
    with pytest.raises(ValueError, match=rf"a.csv counts .* with a zone and .*b.csv in {kind}"):
        gs.read_trace([a, b])


def test_an_id_in_two_files_is_an_error_that_names_both(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},id\n10,1,1,x\n")
    b = written(tmp_path, "b.csv", f"{HEADER},id\n20,3,3,y\n30,3,3,x\n")
    with pytest.raises(ValueError, match=r"a.csv and .*b.csv: both have a job 'x'"):
        gs.read_trace([a, b])
    c = written(tmp_path, "c.csv", f"{HEADER},id\n20,3,3,7001\n30,3,3,7002\n")
    d = written(tmp_path, "d.csv", f"{HEADER},id\n40,3,3,7002\n50,3,3,7003\n")
    with pytest.raises(ValueError, match=r"c.csv and .*d.csv: both have a job 7002"):
        gs.read_trace([c, d])
    assert gs.read_trace([a, c]).id.tolist() == ["x", "7001", "7002"]


def test_a_file_counts_once(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER}\n10,1,1\n")
    with pytest.raises(ValueError, match=r"a.csv: the file is named twice"):
        gs.read_trace([a, f"{tmp_path}/./a.csv"])
    with pytest.raises(ValueError, match="no file is named"):
        gs.read_trace([])


def test_notes_say_which_file_they_are_about(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},x\n10,1,1,1\n")
    b = written(tmp_path, "b.csv", f"{HEADER},y\n10,1,1,1\n")
    assert gs.read_trace([a, b]).notes == (
        "a: columns not used: x", "b: columns not used: y",
    )  # fmt: skip
    c = written(tmp_path, "c.csv", f"{HEADER},x\n10,1,1,1\n")
    assert gs.read_trace([a, c]).notes == ("columns not used: x",)
