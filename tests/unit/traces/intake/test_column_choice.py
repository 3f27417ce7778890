"""Which column is which: nothing is taken for something else, and nothing is left out unsaid."""

from __future__ import annotations

import pickle
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.suggest import HintedError
from gpusched.traces.writers import write_trace


def read(tmp_path: Path, text: str, **arguments: object) -> gs.Trace:
    path = tmp_path / "a.csv"
    path.write_text(text)
    return gs.read_trace(path, **arguments)


def test_columns_that_are_not_used_are_named(tmp_path):
    trace = read(tmp_path, "submit_s,service_s,gpus,colour,partition\n0,1,1,red,a\n")
    assert trace.notes == ("columns not used: colour, partition",)
    assert gs.Trace.from_polars(pl.read_csv(tmp_path / "a.csv")).notes == trace.notes
    assert gs.Trace.from_pandas(pl.read_csv(tmp_path / "a.csv").to_pandas()).notes == trace.notes
    many = ",".join(f"c{index}" for index in range(12))
    values = ",".join(["1"] * 12)
    trace = read(tmp_path, f"submit_s,service_s,gpus,{many}\n0,1,1,{values}\n")
    assert trace.notes[0].endswith("c8, c9 and 2 more")


def test_what_we_write_is_read_without_a_note(tmp_path):
    trace = gs.Trace.from_columns([0, 1], [1, 1], [1, 1], user=["a", "b"])
    for ending in ("csv", "parquet", "npz"):
        write_trace(trace, tmp_path / f"a.{ending}")
        assert gs.read_trace(tmp_path / f"a.{ending}").notes == ()


def test_notes_go_with_the_trace(tmp_path):
    trace = read(tmp_path, "submit_s,service_s,gpus,colour\n0,1,1,red\n1,1,1,red\n")
    assert trace.head(1).notes == trace.notes
    result = gs.simulate(trace, gs.Cluster.uniform(1, 8), policy="fifo")
    result.save(tmp_path / "a.result")
    assert gs.load_result(tmp_path / "a.result").trace.notes == trace.notes


@pytest.mark.parametrize(
    ("first", "second", "ours"),
    [
        ("service_s", "duration", "service_s"),
        ("duration", "runtime", "service_s"),
        ("gpus", "num_gpus", "gpus"),
        ("gpu_types", "gpu_type", "gpu_types"),
        ("id", "job_id", "id"),
        ("submit_s", "submit_time", "submit_s"),
    ],
)
def test_two_candidates_for_a_column_are_an_error_that_names_both(tmp_path, first, second, ours):
    values = {"submit_s": "0", "service_s": "5", "gpus": "1"}
    values.pop(ours, None)
    values |= {first: "7", second: "8"}
    text = f"{','.join(values)}\n{','.join(values.values())}\n"
    with pytest.raises(
        ValueError, match=f"columns '{first}' and '{second}' could be {ours}; "
    ) as e:
        read(tmp_path, text)
    assert str(e.value).endswith(f"choose one with columns={{'{ours}': '{second}'}}")
    for name in (first, second):
        chosen = read(tmp_path, text, columns={ours: name})
        assert chosen.notes == (f"columns not used: {second if name == first else first}",)
    frame = pl.DataFrame({name: [value] for name, value in values.items()})
    with pytest.raises(ValueError, match=f"'{first}' and '{second}' could be {ours}"):
        gs.Trace.from_polars(frame)


def test_a_type_of_gpu_is_the_one_a_job_may_run_on(tmp_path):
    text = "submit_s,service_s,gpus,gpu_type\n0,1,1,A100\n1,1,1,\n2,1,1,V100|T4\n"
    trace = read(tmp_path, text)
    assert trace.allowed_types == [("A100",), (), ("T4", "V100")]
    assert trace.notes == ()
    frame = gs.Trace.from_polars(pl.read_csv(tmp_path / "a.csv"))
    assert frame.allowed_types == trace.allowed_types


def test_gaps_between_arrivals_are_summed_up_in_the_order_of_the_rows(tmp_path):
    for first in ("3", ""):
        text = f"interarrival_s,service_s,gpus\n{first},1,1\n0.1,1,0\n0.2,1,1\n0,2,1\n"
        trace = read(tmp_path, text)
        # A row that is no job still passes the time until the next one.
        assert trace.submit_us.tolist() == [0, 300_000, 300_000]
        assert trace.origin_s == (3 if first else 0)
        frame = pl.read_csv(tmp_path / "a.csv").filter(pl.col("gpus") > 0)
        made = gs.Trace.from_polars(frame)
        assert (made.submit_us - made.submit_us[0]).tolist() == [0, 200_000, 200_000]


@pytest.mark.parametrize("gap", ["-1", "soon", "", "nan", "inf", "1e300"])
def test_a_gap_that_cannot_be_read_leaves_no_later_time_known(tmp_path, gap):
    text = f"interarrival_s,service_s,gpus\n3,1,1\n{gap},1,1\n1,1,1\n"
    with pytest.raises(ValueError, match=r"a.csv, line 3, column 'interarrival_s': .* follow from"):
        read(tmp_path, text)


def test_submit_times_and_gaps_together_are_an_error_unless_one_is_chosen(tmp_path):
    text = "submit_s,interarrival_s,service_s,gpus\n5,1,1,1\n9,1,1,1\n"
    with pytest.raises(ValueError, match="'submit_s' and 'interarrival_s' could be when jobs arr"):
        read(tmp_path, text)
    chosen = read(tmp_path, text, columns={"submit_s": "submit_s"})
    assert chosen.submit_us.tolist() == [0, 4_000_000]
    chosen = read(tmp_path, text, columns={"interarrival_s": "interarrival_s"})
    assert chosen.submit_us.tolist() == [0, 1_000_000]
    assert chosen.notes == ("columns not used: submit_s",)


def test_an_error_speaks_of_what_can_be_written_where_it_is_seen(tmp_path):
    with pytest.raises(HintedError) as error:
        read(tmp_path, "t0,length,n\n0,1,1\n")
    assert "columns={'submit_s': ...}" in str(error.value)
    assert "--column submit_s=..." in error.value.command_text
    assert "columns=" not in error.value.command_text
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.command_text) == (str(error.value), error.value.command_text)
