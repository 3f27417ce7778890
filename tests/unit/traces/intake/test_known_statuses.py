"""The words for how jobs ended: ours, those of a result, and those that nobody knows."""

from __future__ import annotations

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.labels import STATUSES, Labels
from gpusched.schedules import schedule
from gpusched.traces.intake.known_statuses import OF_A_RUN, known_statuses, of_a_run


@pytest.fixture
def result() -> gs.Result:
    trace = gs.Trace.from_columns([0, 1, 2], [5, 6, 7], [1, 2, 9], user=["a", "b", "c"])
    with pytest.warns(UserWarning, match="1 job rejected"):
        return gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="fifo")


def check(trace: gs.Trace) -> None:
    assert trace.submit_s.tolist() == [0, 1, 2]
    assert trace.service_s.tolist() == [5, 6, 7]
    assert trace.gpus.tolist() == [1, 2, 9]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["ok", "ok", "unknown"]
    assert "status is that of a run: 'finished' is 'ok', 'rejected' is 'unknown'" in trace.notes
    assert any(note.startswith("columns not used: start_s, finish_s") for note in trace.notes)


def test_every_status_of_a_run_has_one_of_ours():
    assert set(OF_A_RUN) == set(schedule.STATUSES)
    assert set(OF_A_RUN.values()) <= set(STATUSES)
    assert not set(OF_A_RUN) & set(STATUSES)


def test_the_jobs_of_a_result_are_a_trace(result, tmp_path):
    frame = result.to_polars()
    check(gs.Trace.from_polars(frame))
    check(gs.Trace.from_pandas(frame.to_pandas()))
    frame.write_csv(tmp_path / "jobs.csv")
    result.to_parquet(tmp_path / "jobs.parquet")
    check(gs.read_trace(tmp_path / "jobs.csv"))
    check(gs.read_trace(tmp_path / "jobs.parquet"))


def test_a_mistake_in_a_frame_is_one_as_before(result):
    frame = result.to_polars().with_columns(status=pl.Series(["finished", "ok", "lost"]))
    with pytest.raises(ValueError, match="row 0, column 'status': 'finished' must be one of ok"):
        gs.Trace.from_polars(frame)


def test_other_words_in_a_file_are_unknown_and_named(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f"0,1,1,{word}\n" for word in ("ok", "", "done", "gone", "done"))
    path.write_text(f"submit_s,service_s,gpus,status\n{rows}")
    trace = gs.read_trace(path)
    assert trace.status is not None
    assert trace.status.values().tolist() == ["ok", "unknown", "unknown", "unknown", "unknown"]
    told = "status 'done', 'gone': none of ok, failed, killed, unknown, so 'unknown'"
    assert trace.notes == (told,)


def test_many_other_words_are_counted():
    named, notes = known_statuses(Labels.of(map(str, range(9))))
    assert set(named.names) == {"unknown"}
    assert "'4' and 4 more: none of" in notes[0]


def test_our_words_are_left_alone():
    ours = Labels.of(["ok", "", "failed"])
    assert of_a_run(ours) == (ours, ())
    assert known_statuses(Labels.of(["ok", "killed"]))[1] == ()
