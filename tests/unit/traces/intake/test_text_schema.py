"""A format that is declared is recognised and read as its declaration says."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.base.source import Source
from gpusched.traces.intake.declared_columns import ReadColumns, Span, TextColumn
from gpusched.traces.intake.text_schema import TextSchema

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


def read(tmp_path: Path, text: str) -> gs.Trace:
    path = tmp_path / "a.txt"
    path.write_text(text)
    return SCHEMA.read(Source(path), on_bad="reject")


def test_columns_are_read_in_their_units_and_kinds(tmp_path):
    trace = read(
        tmp_path,
        "Site;Width;Submit;Minutes;Job;Owner;End;Limit\n"
        "x;4;2024-05-01T09:01:00Z;1.5;7;ann;done;2\n"
        "x;8;2024-05-01T11:00:00+02:00;2;9;bob;lost;\n"
        "x;8;2024-05-01T11:00:00+02:00;0;8;bob;lost;\n",
    )
    assert trace.id.tolist() == [9, 7]
    assert trace.epoch == datetime(2024, 5, 1, 9, tzinfo=UTC)
    assert trace.service_s.tolist() == [120, 90]
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [-1, 120_000_000]
    assert trace.user is not None
    assert trace.user.values().tolist() == ["bob", "ann"]
    assert trace.status is not None
    assert trace.status.values().tolist() == ["unknown", "ok"]
    assert trace.rejects.first == {"Minutes must be positive": (4,)}
    assert trace.notes == ("columns not used: Site",)


def test_columns_that_are_not_required_may_be_absent(tmp_path):
    trace = read(tmp_path, "Job;Submit;Minutes;Width\n1;2024-05-01 09:00;1;4\n")
    assert (trace.user, trace.status, trace.estimate_us) == (None, None, None)
    with pytest.raises(ValueError, match=r"a.txt, line 1: column 'Width' is missing"):
        read(tmp_path, "Job;Submit;Minutes\n1;2024-05-01 09:00;1\n")


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
        assert trace.notes == ((f"columns not used: {columns}",) if columns else ())


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
    assert trace.estimate_us is not None
    assert trace.estimate_us.tolist() == [90_000_000, -1]
    assert trace.share_milli is not None
    assert trace.share_milli.tolist() == [250, 1000]
    assert trace.user is not None
    assert trace.user.values().tolist() == ["ann", ""]
    assert trace.epoch == datetime(2024, 5, 1, 0, 0, 5, tzinfo=UTC)
    assert trace.source == f"{tmp_path / 'a.log'} (halves)"


def test_rows_are_judged_before_their_columns_are_read(tmp_path):
    assert read_spaced(tmp_path).rejects.first == {"gpus must not be 0": (4,)}


def test_only_columns_that_hold_something_are_named_as_not_used(tmp_path):
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
    assert trace.source_wait_us is not None
    assert trace.source_wait_us.tolist() == [60_000_000, 0]
    assert trace.cpu_milli is not None
    assert trace.cpu_milli.tolist() == [2000, 0]
    assert trace.status is not None
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
