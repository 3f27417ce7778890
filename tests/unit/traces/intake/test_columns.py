"""Which column is which, what its words mean, and formats that are declared."""

import io
import pickle
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.labels import STATUSES, Labels
from gpusched.base.source import Source
from gpusched.base.suggest import HintedError
from gpusched.schedules import schedule
from gpusched.traces.intake.text_schema import ReadColumns, Span, TextColumn, TextSchema
from gpusched.traces.text_columns import OF_A_RUN, known_statuses, of_a_run
from gpusched.traces.writers import write_trace


def read(tmp_path: Path, text: str, **arguments: object) -> gs.Trace:
    path = tmp_path / "a.csv"
    path.write_text(text)
    return gs.read_trace(path, **arguments)


def test_columns_that_are_not_used_are_named(tmp_path):
    trace = read(tmp_path, "submit_s,service_s,gpus,colour,rack\n0,1,1,red,a\n")
    assert trace.notes == ("columns not used: colour, rack",)
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
    with pytest.raises(ValueError, match=r"a.csv, line 3, column 'interarrival_s': .* depend on"):
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
    assert (
        "status is that of a run: 'finished' becomes 'ok', 'rejected' becomes 'unknown'"
        in trace.notes
    )
    assert any(note.startswith("columns not used: start_s, finish_s") for note in trace.notes)


def test_every_status_of_a_run_has_one_of_ours():
    assert set(OF_A_RUN) | {"killed", "failed"} == set(schedule.STATUSES)
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
    assert trace.status.values().tolist() == ["ok", "unknown", "unknown", "unknown", "unknown"]
    told = "status 'done', 'gone': not one of ok, failed, killed, unknown; read as 'unknown'"
    assert trace.notes == (told,)


def test_many_other_words_are_counted():
    named, notes = known_statuses(Labels.of(map(str, range(9))))
    assert set(named.names) == {"unknown"}
    assert "'4' and 4 more: not one of" in notes[0]


def test_our_words_are_left_alone():
    ours = Labels.of(["ok", "", "failed"])
    assert of_a_run(ours) == (ours, ())
    assert known_statuses(Labels.of(["ok", "killed"]))[1] == ()


SCHEMA = TextSchema(
    (
        TextColumn("Job", "id", "id"),
        TextColumn("Submit", "submit_s", "time"),
        TextColumn("Minutes", "service_s", unit=60),
        TextColumn("Width", "gpus"),
        TextColumn("Limit", "estimate_s", unit=60, is_required=False, may_miss=True),
        TextColumn("Owner", "user", "label", is_required=False),
        TextColumn("End", "status", "status", is_required=False, states={"done": "ok"}),
    ),
    marks=("Site",),
    separator=";",
)


def read_declared(tmp_path: Path, text: str) -> gs.Trace:
    path = tmp_path / "a.txt"
    path.write_text(text)
    return SCHEMA.read(Source(path), on_bad="reject")


def test_columns_are_read_in_their_units_and_kinds(tmp_path):
    trace = read_declared(
        tmp_path,
        "Site;Width;Submit;Minutes;Job;Owner;End;Limit\n"
        "x;4;2024-05-01T09:01:00Z;1.5;7;ann;done;2\n"
        "x;8;2024-05-01T11:00:00+02:00;2;9;bob;lost;\n"
        "x;8;2024-05-01T11:00:00+02:00;0;8;bob;lost;\n",
    )
    assert trace.id.tolist() == [9, 7]
    assert trace.epoch == datetime(2024, 5, 1, 9, tzinfo=UTC)
    assert trace.service_s.tolist() == [120, 90]
    assert trace.estimate_us.tolist() == [-1, 120_000_000]
    assert trace.user.values().tolist() == ["bob", "ann"]
    assert trace.status.values().tolist() == ["unknown", "ok"]
    assert trace.rejects.first == {"Minutes must be positive": (4,)}
    assert trace.notes == ("columns not used: Site",)


def test_columns_that_are_not_required_may_be_absent(tmp_path):
    trace = read_declared(tmp_path, "Job;Submit;Minutes;Width\n1;2024-05-01 09:00;1;4\n")
    assert (trace.user, trace.status, trace.estimate_us) == (None, None, None)
    with pytest.raises(ValueError, match=r"a.txt, line 1: column 'Width' is missing"):
        read_declared(tmp_path, "Job;Submit;Minutes\n1;2024-05-01 09:00;1\n")


def test_a_format_is_told_by_its_header(tmp_path):
    path = tmp_path / "a.csv"
    loose = TextSchema(SCHEMA.columns, marks=("Site",))
    exact = TextSchema((TextColumn("a", "gpus"),), header=("a", "b"))
    for header, expected in (
        ("Width,Minutes,Submit,Job,Site,More", (True, False)),
        ("Width,Minutes,Submit,Job", (False, False)),
        ("a,b", (False, True)),
        ("b,a", (False, False)),
    ):
        path.write_text(f"{header}\n")
        assert (loose.recognises(Source(path)), exact.recognises(Source(path))) == expected


def test_published_formats_name_what_they_leave_out():
    from gpusched.traces.format_registry import find

    for name, columns in (
        ("helios", "cpu_num, node_num, start_time, end_time"),
        ("acme", "node_num, duration, queue, gpu_time"),
        ("elasticflow", "num_iteration, batch_size"),
        ("itp", ""),
    ):
        files = find(name).excerpt()
        trace = gs.read_trace(io.BytesIO(next(iter(files.values()))), name)
        assert trace.notes[:1] == ((f"columns not used: {columns}",) if columns else ())


SPACED = TextSchema(
    (
        TextColumn("job", "id", "id"),
        TextColumn("submit", "submit_s"),
        TextColumn("ran", "service_s"),
        TextColumn("width", "gpus", is_part=True),
        TextColumn("limit", "estimate_s", least=1),
        TextColumn("share", "gpu_share", parts=1000),
        TextColumn("owner", "user", "label"),
    ),
    header=("job", "submit", "ran", "width", "limit", "share", "owner", "empty", "other"),
    comment="#",
    absent="-1",
)
LINES = "# a log\n7 10 60 4 0 1000 -1 -1 -1\n8 5 60  2 90 250 ann -1 3\n9 6 60 0 5 1000 bob -1 -1\n"


def read_spaced(tmp_path: Path) -> gs.Trace:
    path = tmp_path / "a.log"
    path.write_text(LINES)

    def judge(read: ReadColumns) -> None:
        read.screen.require((read.data["width"] != "0").to_numpy(), "gpus", "must not be 0")

    def derive(read: ReadColumns) -> None:
        read.numeric["gpus"] = read.values["width"] / 2
        read.how = "halves"

    epoch = datetime(2024, 5, 1, tzinfo=UTC)
    return SPACED.read(Source(path), on_bad="reject", judge=judge, derive=derive, epoch=epoch)


def test_columns_between_blanks_are_read_as_they_are_declared(tmp_path):
    trace = read_spaced(tmp_path)
    assert trace.id.tolist() == [8, 7]
    assert trace.gpus.tolist() == [1, 2]
    assert trace.estimate_us.tolist() == [90_000_000, -1]
    assert trace.share_milli.tolist() == [250, 1000]
    assert trace.user.values().tolist() == ["ann", ""]
    assert trace.epoch == datetime(2024, 5, 1, 0, 0, 5, tzinfo=UTC)
    assert trace.source == f"{tmp_path / 'a.log'} (halves)"


def test_rows_are_judged_before_they_are_read_and_what_holds_nothing_is_not_named(tmp_path):
    assert read_spaced(tmp_path).rejects.first == {"gpus must not be 0": (4,)}
    assert read_spaced(tmp_path).notes == ("columns not used: other",)


def test_a_standard_log_names_the_fields_that_are_not_used(tmp_path):
    path = tmp_path / "a.swf"
    path.write_text("; Computer: x\n1 0 5 60 8 3 -1 8 90 -1 1 3 1 2 1 -1 -1 -1\n")
    assert gs.read_trace(path).notes == ("columns not used: cpu_time, application",)


BARE = TextSchema(
    (
        TextColumn("gpus", "gpus", is_positive=True),
        TextColumn("from", "source_wait_s", is_part=True, kind="time"),
        TextColumn(
            "to", "service_s", "time", may_miss=True, absent=("none",), is_part=True, may_count=True
        ),
        TextColumn("sent", "submit_s", "time"),
        TextColumn("cores", "cpu", may_miss=True, is_of_job=True),
        TextColumn("urgent", "urgent", "flag", is_part=True),
        TextColumn("end", "status", "status", states={"DONE": "ok"}, within="^([A-Z]+)"),
    ),
    spans=(Span("service_s", "to", "from"), Span("source_wait_s", "from", "sent")),
    header=("sent", "from", "to", "gpus", "cores", "urgent", "end"),
    has_no_header=True,
)
DAY = "2024-05-01 0"
ROWS = (
    f"{DAY}9:00,{DAY}9:01,{DAY}9:31,4,8,1,DONE by 7",
    f"{DAY}9:00,{DAY}9:00,None,1,1,0,DONE",
    f"{DAY}9:00,{DAY}9:00,{DAY}9:01,0,1,0,DONE",
    f"{DAY}9:00,{DAY}9:00,{DAY}9:01,1,1,2,DONE",
    f"{DAY}9:10,{DAY}9:10,{DAY}9:11,2,,0,lost",
)


@pytest.mark.parametrize("header", [(), (",".join(BARE.required),)])
def test_what_follows_from_several_columns_is_declared(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text("\n".join((*header, *ROWS)))

    def judge(read: ReadColumns) -> None:
        read.screen.require((read.data["to"] != "None").to_numpy(), "end", "must be known")

    trace = BARE.read(Source(path), on_bad="reject", judge=judge, name="own")

    assert trace.name == "own"
    assert trace.service_s.tolist() == [30 * 60, 60]
    assert trace.source_wait_us.tolist() == [60_000_000, 0]
    assert trace.cpu_milli.tolist() == [2000, 0]
    assert trace.status.values().tolist() == ["ok", "unknown"]
    assert trace.rejects.counts == {
        "end must be known": 1,
        "gpus must be positive": 1,
        "urgent must be 0 or 1": 1,
    }


def test_a_column_may_be_read_with_another_one_alone(tmp_path):
    path = tmp_path / "a.csv"
    schema = TextSchema(
        (
            TextColumn("submit_s", "submit_s"),
            TextColumn("service_s", "service_s"),
            TextColumn("gpus", "gpus"),
            TextColumn("pods", "pods", is_part=True, only_with="memory"),
            TextColumn("memory", "memory_gib", is_required=False),
        ),
        names=("gpus", "pods", "submit_s", "service_s"),
    )
    path.write_text("submit_s,service_s,gpus,pods\n0,5,1,many\n")
    assert not schema.read(Source(path), on_bad="reject").rejects
    path.write_text("submit_s,service_s,gpus,pods,memory\n0,5,1,many,4\n0,5,1,2,4\n")
    rejects = schema.read(Source(path), on_bad="reject").rejects
    assert rejects.counts == {"pods must be a number": 1}
    path.write_text("service_s\n5\n")
    with pytest.raises(ValueError, match="column 'gpus' is missing"):
        schema.read(Source(path), on_bad="reject")
