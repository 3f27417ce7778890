"""Tables of one's own: columns, dates and durations as people have them."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from tests.each import each
from tests.unit.real_data import DATA, needs_real_data

LOCAL = "dates have no time zone and are read without one (option time_zone)"


def read(tmp_path: Path, *lines: str, **options: object) -> gs.Trace:
    path = tmp_path / "jobs.csv"
    path.write_text("".join(f"{line}\n" for line in lines))
    return gs.read_trace(path, **options)


@each(
    ("header", "row", "submit", "service", "wait"),
    [
        ("submit,start,end", "10,25,85", 10, 60, 15),
        ("Submit,Start,End", "10,25,85", 10, 60, 15),
        ("submit_ms,start_ms,end_ms", "10000,25000,85000", 10, 60, 15),
        ("start,end", "25,85", 25, 60, None),
        ("start,duration", "25,60", 25, 60, None),
        ("end,duration", "85,60", 25, 60, None),
        ("submit,start,duration", "10,25,0:01:00", 10, 60, 15),
        ("submit,duration,start,end", "10,60,25,99", 10, 60, 15),
        ("Submitted At,Elapsed (min)", "10,1", 10, 60, None),
        ("arrival,run_time_hours", "10,0.5", 10, 1800, None),
        ("submit,run_hours", "10,0.5", 10, 1800, None),
        ("SUBMIT_TIME,Elapsed", "10,1-00:00:01", 10, 86_401, None),
        ("submit,start,end,source_wait_s", "10,25,85,3", 10, 60, 3),
    ],
)  # fmt: skip
def test_times_that_suffice_are_a_submission_a_run_time_and_a_wait(
    header, row, submit, service, wait, tmp_path
):
    trace = read(tmp_path, f"{header},gpus", f"{row},2")
    assert (trace.origin_s, trace.service_s.tolist()) == (submit, [service])
    waited = None if trace.source_wait_us is None else trace.source_wait_us.tolist()
    assert waited == (None if wait is None else [wait * 1_000_000])
    pl.read_csv(tmp_path / "jobs.csv").write_parquet(tmp_path / "a.parquet")
    if ":" not in row:
        assert gs.read_trace(tmp_path / "a.parquet").service_us.tolist() == [service * 1_000_000]


def test_a_run_without_a_unit_is_no_time(tmp_path):
    with pytest.raises(ValueError, match="column 'service_s' is missing"):
        read(tmp_path, "submit,run,gpus", "10,7,2")


def test_what_was_understood_is_one_line(tmp_path):
    trace = read(
        tmp_path,
        "Submitted;Start;End;nodes;gpus_per_node;User;colour",
        "01.05.2024 09:00;01.05.2024 09:10;01.05.2024 10:10:30;2;4;ann;red",
        columns={"gpus": "nodes*gpus_per_node"},
    )
    assert trace.epoch == datetime(2024, 5, 1, 9)
    assert (trace.gpus.tolist(), trace.service_s.tolist()) == ([8], [3630])
    assert trace.gpus_per_node.tolist() == [4]
    assert trace.notes == (
        "understood: submit_s from 'Submitted' (dates, day.month.year), service_s from 'End' - "
        "'Start', gpus from 'nodes*gpus_per_node', source_wait_s from 'Start' - 'Submitted', "
        "user from 'User'",
        "columns not used: colour",
        "gpus_per_node: read as the GPUs that a job has on each of its servers",
        "fields are separated by ';'",
        LOCAL,
    )


@each(
    ("expression", "per_node"),
    [('nodes * "GPUs per node"', [4, 1]), ('nodes * "GPUs per node" + 0', None)],
)
def test_gpus_per_node_of_a_product_are_a_column(expression, per_node, tmp_path):
    trace = read(
        tmp_path, "submit,duration,nodes,GPUs per node", "0,5,2,4", "1,5,1,1",
        columns={"gpus": expression},
    )  # fmt: skip
    found = None if trace.gpus_per_node is None else trace.gpus_per_node.tolist()
    assert (trace.gpus.tolist(), found) == ([8, 1], per_node)


def test_gpus_per_node_that_are_those_of_servers_are_left_out_and_said(tmp_path):
    header = "submit,duration,num_gpus,gpus_per_node"
    trace = read(tmp_path, header, "0,5,16,8", "1,5,1,8", "2,5,0,8")
    assert (trace.gpus.tolist(), trace.gpus_per_node) == ([16, 1], None)
    assert trace.notes == (
        "gpus_per_node: not used, since it describes servers: some jobs have fewer GPUs",
    )
    of_jobs = read(tmp_path, header, "0,5,16,8", "1,5,1,", "2,5,0,8")
    assert of_jobs.gpus_per_node.tolist() == [8, 0]
    assert of_jobs.notes == (
        "gpus_per_node: read as the GPUs that a job has on each of its servers",
    )
    assert read(tmp_path, header, "0,5,16,0").notes == ()


@each("header", ["submit,duration,end,num_gpus", "submit,duration,start,num_gpus,source_wait_s"])
def test_what_is_not_used_rejects_no_row(header, tmp_path):
    rows = [f"0,5,{text},1" + ",3" * header.count("wait") for text in ("", "never", "1.5.2024")]
    trace = read(tmp_path, header, *rows)
    assert (len(trace), trace.notes) == (3, (f"columns not used: {header.split(',')[2]}",))


def test_our_names_need_no_word(tmp_path):
    assert read(tmp_path, "submit,duration,num_gpus", "0,5,1").notes == ()


def test_rows_that_end_before_they_start_or_never_are_counted(tmp_path):
    rows = ["0,5,65", "0,70,9", "0,5,", "0,,65", "0,5,Unknown", "0,5,5"]
    trace = read(tmp_path, "submit,start,end,gpus", *(f"{row},1" for row in rows))
    assert trace.row.tolist() == [2]
    assert trace.rejects.first == {
        "end must not be before 'start'": (3,),
        "end must not be empty": (4, 6),
        "start must not be empty": (5,),
        "end - start must be positive": (7,),
    }


def test_a_job_whose_start_is_not_known_has_no_wait(tmp_path):
    trace = read(tmp_path, "submit,start,duration,gpus", "0,5,60,1", "1,,60,1")
    assert trace.source_wait_us.tolist() == [5_000_000, -1]


DAY = datetime(2024, 5, 13, 9, 5)


@each(
    "text",
    [
        "2024-05-13 09:05", "2024-05-13T09:05:00", "2024-5-13 9:05", "2024/05/13 09:05:00",
        "2024/5/13 9:05", "13.05.2024 09:05", "13.5.2024 9:05:00", "13/05/2024 09:05",
        "05/13/2024 09:05", "5/13/2024 9:05 AM", "05/13/2024 9:05:00 AM", "13-05-2024 09:05:00",
    ],
)  # fmt: skip
def test_dates_of_common_forms_are_read(text, tmp_path):
    trace = read(tmp_path, "submit,duration,gpus", f"{text},60,1", f"{text},60,1")
    assert (trace.epoch, len(trace)) == (DAY, 2)


@given(st.lists(st.datetimes(datetime(1970, 1, 1), datetime(2099, 1, 1)), min_size=1, max_size=4))
def test_every_form_tells_the_same_days(tmp_path_factory, moments):
    moments = [moment.replace(second=0, microsecond=0) for moment in moments]
    path = tmp_path_factory.getbasetemp() / "forms.csv"
    forms = {"%Y/%m/%d %H:%M": None, "%d.%m.%Y %H:%M": "dmy", "%m/%d/%Y %I:%M %p": "mdy"}
    for form, order in forms.items():
        rows = "".join(f"{moment.strftime(form)},60,1\n" for moment in moments)
        path.write_text(f"submit,duration,gpus\n{rows}")
        trace = gs.read_trace(path, date_order=order)
        assert trace.epoch == min(moments)
        assert trace.submit_s[-1] == (max(moments) - min(moments)).total_seconds()


def test_the_order_of_day_and_month_is_told_by_the_file_or_asked(tmp_path):
    head, row = "submit,start,duration,gpus", "{},{},60,1"
    told = read(tmp_path, head, row.format("05/04/2024 09:00", "05/14/2024 09:00"))
    assert told.epoch == datetime(2024, 5, 4, 9)
    assert "(dates, month/day/year)" in told.notes[0]
    rows = row.format("05/04/2024 09:00", "05/04/2024 09:30")
    with pytest.raises(ValueError, match=r"'submit': '05/04/2024 09:00' may .*date_order='dmy"):
        read(tmp_path, head, rows)
    for order, month in (("dmy", 4), ("mdy", 5)):
        assert read(tmp_path, head, rows, date_order=order).epoch.month == month
    mixed = row.format("05/14/2024 09:00", "14/05/2024 09:00")
    both = "jobs.csv: dates in the file have two orders: .* \\(columns submit, start\\)"
    with pytest.raises(ValueError, match=both):
        read(tmp_path, head, mixed)
    with pytest.raises(ValueError, match="date_order: 'ymd' must be one of dmy, mdy"):
        read(tmp_path, head, rows, date_order="ymd")


@each(
    ("values", "epoch"),
    [
        ("1714554000,1714554060", "seconds since 1970"),
        ("1714554000.5,1714554060", "seconds since 1970"),
        ("1714554000000,1714554060000", "milliseconds since 1970"),
        ("1714554000,60", None), ("5,60", None), ("17145540000,17145540060", None),
    ],
)  # fmt: skip
def test_numbers_of_our_days_count_from_1970_and_this_is_said(values, epoch, tmp_path):
    rows = [f"{value},60,1" for value in values.split(",")]
    trace = read(tmp_path, "submit,duration,gpus", *rows)
    assert any(f"({epoch})" in note for note in trace.notes) == (epoch is not None)
    assert (None if trace.epoch is None else trace.epoch.replace(microsecond=0)) == (
        None if epoch is None else datetime(2024, 5, 1, 9, tzinfo=UTC)
    )
    named = read(tmp_path, "submit_s,service_s,gpus", *rows)
    assert (named.epoch, named.notes) == (None, ())


@each("column", ["start", "end"])
def test_times_that_are_not_known_yet_do_not_hide_that_others_count_from_1970(column, tmp_path):
    rows = [f"1714554000,{value},60,1" for value in ("1714554060", "0", "-1", "")]
    trace = read(tmp_path, f"submit,{column},duration,gpus", *rows)
    assert trace.epoch == datetime(2024, 5, 1, 9, tzinfo=UTC)
    if column == "start":
        assert trace.source_wait_us.tolist() == [60_000_000, -1, -1, -1]
    rows = [f"{value},60,1" for value in ("1714554000", "0", "-1")]
    assert read(tmp_path, "submit,duration,gpus", *rows).rejects.first == {
        "submit must be a time like 2017-10-09 07:01:55": (3, 4)
    }


@each(
    ("values", "said"),
    [
        ("20240501,20240502", "dates, yearmonthday"),
        (" 20240501 ,20240502", "dates, yearmonthday"), ("20240501,0", None),
        ("20240501,20240532", None), ("20240501,2024050", None), ("20240501,12345678", None),
    ],
)  # fmt: skip
def test_eight_digits_are_dates_where_all_are(values, said, tmp_path):
    rows = [f"{value},60,1" for value in values.split(",")]
    trace = read(tmp_path, "submit,duration,gpus", *rows)
    assert trace.epoch == (None if said is None else datetime(2024, 5, 1))
    assert any(f"submit_s from 'submit' ({said})" in note for note in trace.notes) == bool(said)
    assert read(tmp_path, "submit_s,service_s,gpus", *rows).epoch is None


def test_a_run_time_that_holds_the_wait_is_asked_for(tmp_path):
    lines = ("submit,end,gpus", "0,60,1")
    with pytest.raises(ValueError, match=r"'submit' to 'end' includes the wait.*start_s"):
        read(tmp_path, *lines)
    assert read(tmp_path, *lines, columns={"start_s": "submit"}).service_s.tolist() == [60]


@each(
    ("header", "ours"),
    [("Job ID,job-id", "id"), ("Elapsed,execution time", "service_s"), ("USER,owner", "user")],
)
def test_two_names_that_are_alike_are_asked_for(header, ours, tmp_path):
    rest = "submit_s,gpus" if ours == "service_s" else "submit_s,gpus,service_s"
    with pytest.raises(ValueError, match=f"could be {ours}; choose one"):
        read(
            tmp_path,
            f"{header},{rest}",
            ",".join(str(1 + i) for i in range(2 + rest.count(",") + 1)),
        )


def test_times_of_a_zone_are_in_utc_also_over_the_end_of_summer_time(tmp_path):
    lines = (
        "submit,start,end,gpus",
        "2024-10-27 00:30,2024-10-27 00:30,2024-10-27 04:30,1",  # five hours, and not four
        "2024-10-27 02:30,2024-10-27 02:31,2024-10-27 02:32,1",  # in the hour that is there twice
    )
    trace = read(tmp_path, *lines, time_zone="Europe/Berlin")
    assert trace.epoch == datetime(2024, 10, 26, 22, 30, tzinfo=UTC)
    assert trace.service_s.tolist() == [5 * 3600, 60]
    assert trace.notes == (
        "understood: submit_s from 'submit' (dates), service_s from 'end' - 'start', "
        "source_wait_s from 'start' - 'submit'",
        "dates are read as times of Europe/Berlin; 3 are ambiguous and read as the earlier time",
    )
    assert read(tmp_path, *lines).service_s.tolist() == [4 * 3600, 60]


def test_a_time_that_no_clock_showed_is_a_counted_reject(tmp_path):
    rows = ("2024-03-31 02:30,60,1", "2024-03-31 03:30,60,1")
    trace = read(tmp_path, "submit,duration,gpus", *rows, time_zone="Europe/Berlin")
    rule = "submit must be a time like 2017-10-09 07:01:55 that Europe/Berlin has"
    assert trace.rejects.first == {rule: (2,)}


@each(
    ("submit", "zone", "message"),
    [
        ("5", "Europe/Berlin", "no date in the file lacks a zone"),
        ("2024-05-01T09:00Z", "Europe/Berlin", "no date in the file lacks a zone"),
        ("2024-05-01T09:00", "Europe/Berln", "time_zone: 'Europe/Berln' must be a name such as"),
    ],
)
def test_a_zone_that_is_not_needed_or_not_known_is_an_error(submit, zone, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "submit,duration,gpus", f"{submit},60,1", time_zone=zone)


def test_every_format_with_local_dates_takes_a_zone(tmp_path):
    from gpusched.traces.format_registry import trace_formats

    for name in ("helios", "philly-csv", "philly-json", "sacct"):
        path = trace_formats()[name].write_excerpt(tmp_path)
        local = gs.read_trace(path, name)
        berlin = gs.read_trace(path, name, time_zone="Europe/Berlin")
        assert local.notes[-1] == LOCAL
        assert berlin.epoch.tzinfo is UTC
        assert (local.epoch.replace(tzinfo=UTC) - berlin.epoch).total_seconds() in (3600, 7200)


ROWS = (
    {"submit_s": 0, "service_s": 60.5, "gpus": 2, "user": "ann", "gpu_types": ["V100", "T4"]},
    {"submit_s": 5, "service_s": 7, "gpus": 1, "user": None, "gpu_types": []},
)


@each("text", [
        json.dumps(ROWS), json.dumps(ROWS, indent=2),
        "\n".join(map(json.dumps, ROWS)), "\n\n".join(json.dumps(row, indent=1) for row in ROWS),
        json.dumps([{"nodes": 2, **row} for row in ROWS]),
        json.dumps([{name: str(value) if name == "gpus" else value for name, value in row.items()}
                    for row in ROWS]),
    ])  # fmt: skip
def test_json_arrays_and_lines_have_our_fields(text):
    form = None if text[:2] != "{\n" else "json"  # an object over lines may be anything
    trace = gs.read_trace(io.BytesIO(text.encode()), form)
    assert trace.service_s.tolist() == [60.5, 7]
    assert trace.gpus.tolist() == [2, 1]
    assert trace.user.values().tolist() == ["ann", ""]
    assert trace.allowed_types == [("T4", "V100"), ()]


def test_a_time_that_cannot_be_read_may_be_a_number_or_a_date(tmp_path):
    trace = read(tmp_path, "submit,duration,gpus", "0,60,1", "soon,60,1", "1,soon,1")
    assert trace.rejects.first == {
        "submit must be a number or a time like 2017-10-09 07:01:55": (3,),
        "duration must be a number": (4,),
    }


@each(("header", "row"), [("submit", "0"), ("submitted_at", "2024-05-13 09:00")])
def test_deadlines_and_estimates_are_understood(header, row, tmp_path):
    deadline = "300" if row == "0" else "2024-05-13 09:05"
    trace = read(tmp_path, f"{header},duration,gpus,deadline,Estimate", f"{row},60,1,{deadline},90")
    assert (trace.deadline_s.tolist(), trace["estimate_s"].to_list()) == ([300], [90])
    assert "estimate_s from 'Estimate', deadline_s from 'deadline'" in trace.notes[0]


def test_dates_of_bigquery_are_in_utc(tmp_path):
    rows = ("2024-05-13 09:05:00 UTC,60,1", "2024-05-13 09:05:30.5 UTC,60,1")
    trace = read(tmp_path, "submit,duration,gpus", *rows)
    assert (trace.epoch, trace.submit_s.tolist()) == (DAY.replace(tzinfo=UTC), [0, 30.5])
    with pytest.raises(ValueError, match=r"with a zone \(line 2\) and without \(line 3\)"):
        read(tmp_path, "submit,duration,gpus", rows[0], rows[1].replace(" UTC", ""))
    assert gs.Trace.from_columns([rows[0][:23]], [60], [1]).epoch == trace.epoch


def test_what_is_wrong_in_json_is_named_with_its_line(tmp_path):
    good = '{"submit": "2024-05-01T09:00Z", "Elapsed": "1:00:00", "gpus": 1}'
    path = tmp_path / "jobs.ndjson"
    bad = ('{"submit": "soon"}', good.replace("1}", "[1]}"), good.replace("1}", "true}"))
    path.write_text("\n".join((good, "", *bad)))
    trace = gs.read_trace(path)
    assert (trace.row.tolist(), trace.service_s.tolist()) == ([1], [3600])
    assert trace.rejects.first == {
        "submit must be a time like 2017-10-09 07:01:55": (3,), "gpus must be a number": (4, 5),
    }  # fmt: skip
    for text, message in (
        ("[]", "the array is empty"),
        (f"{good}\n5", "line 2: an entry must be an object"),
        (f"[{good}\n{good}]", "line 2, character 1: expected ','"),
        (f"{good}\n{good[:-1]}", "line 2, .*malformed or truncated JSON"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            gs.read_trace(path)


def test_json_takes_the_options_of_a_csv(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text('[{"t": "05/06/2024", "hours": 2, "n": 2, "k": 4}]')
    columns = {"submit_s": "t", "service_s": "hours * 3600", "gpus": "n * k"}
    trace = gs.read_trace(path, columns=columns, date_order="dmy", time_zone="UTC")
    assert (trace.epoch, trace.gpus.tolist()) == (datetime(2024, 6, 5, tzinfo=UTC), [8])


@needs_real_data
def test_tables_of_public_reports_are_read():
    reports = DATA / "cases" / "reports"
    columns = {"submit_s": "dt", "service_s": "wall_time*60", "gpus": "n_tasks"}
    slurm = gs.read_trace(reports / "semicolon-csv" / "jobs.csv", columns=columns)
    assert slurm.service_s.tolist()[:2] == [900, 1201 * 60]
    assert slurm.gpus.tolist()[:2] == [12, 1]
    batsim = gs.read_trace(reports / "batsim-sequence" / "w.json")
    assert sorted(batsim.service_s.tolist()) == [10, 40]
    shockwave = gs.read_trace(reports / "shockwave-trace" / "small.trace")
    assert (shockwave.service_s[0], shockwave.submit_s[0], shockwave.gpus[0]) == (1418, 0, 1)
    assert gs.read_trace(reports / "spot-v2026" / "job_info_df.csv").gpus.tolist()[0] == 16


TIMES = {
    "submit": st.sampled_from(
        ["submit_s", "Submit", "SUBMIT TIME", "arrival_time", "Submitted At"]
    ),
    "start": st.sampled_from(["start", "Start Time", "started_at"]),
    "end": st.sampled_from(["end_time", "End", "finished_at"]),
    "run": st.sampled_from(["duration", "Elapsed", "run_time", "service_s"]),
}
FORMS = {
    "dates": lambda moment: moment.isoformat(" "),
    "years first": lambda moment: moment.strftime("%Y/%m/%d %H:%M:%S"),
    "days first": lambda moment: moment.strftime("%d.%m.%Y %H:%M:%S"),
    "zone": lambda moment: f"{moment.isoformat()}+00:00",
    "since 1970": lambda moment: str(int(moment.replace(tzinfo=UTC).timestamp())),
}
ORIGIN = datetime(2024, 5, 13)
jobs = st.tuples(st.integers(0, 90_000), st.integers(0, 900), st.integers(1, 90_000))


@given(st.lists(jobs, min_size=1, max_size=5), st.data())
def test_a_table_tells_the_same_in_every_way_that_it_is_written(tmp_path_factory, rows, data):
    form = data.draw(st.sampled_from(sorted(FORMS)))
    asked = data.draw(
        st.sampled_from(["submit start end", "submit start run", "start end", "end run"])
    )
    names = {part: data.draw(TIMES[part]) for part in asked.split()}
    if form == "since 1970" and "submit" in names:
        names["submit"] = "Submit"  # submit_s is plain seconds
    mark = data.draw(st.sampled_from(",;\t|"))

    def written(part: str, moment: int) -> str:
        if part == "run":
            clock = f"{moment // 3600}:{moment // 60 % 60:02}:{moment % 60:02}"
            return data.draw(st.sampled_from([clock, str(moment)]))
        return FORMS[form](ORIGIN + timedelta(seconds=moment))

    lines = [mark.join([*names.values(), "GPUs"])]
    for submit, wait, run in rows:
        at = {"submit": submit, "start": submit + wait, "end": submit + wait + run, "run": run}
        lines.append(mark.join([*(written(part, at[part]) for part in names), "1"]))
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_text("\n".join(lines))
    trace = gs.read_trace(path)
    begins = [submit if "submit" in names else submit + wait for submit, wait, _ in rows]
    order = sorted(range(len(rows)), key=lambda row: begins[row])
    first = min(begins)
    assert trace.submit_s.tolist() == [begins[row] - first for row in order]
    assert trace.service_s.tolist() == [rows[row][2] for row in order]
    assert trace.epoch.replace(tzinfo=None) == ORIGIN + timedelta(seconds=first)
    if "submit" in names:
        waits = [rows[row][1] for row in order]
        assert trace.source_wait_us.tolist() == [1_000_000 * wait for wait in waits]


def test_columns_of_slurm_are_ours(tmp_path):
    header = "JobID,User,Account,Partition,QOS,Submit,Eligible,Start,End,Timelimit,Priority,GPUs"
    day = "2024-05-01T09:0"
    trace = read(
        tmp_path, header,
        f"7,ann,vision,gpu,high,{day}0:00,{day}1:00,{day}2:00,{day}3:00,1-00:00:00,5,2",
        f"8,bob,vision,gpu,low,{day}1:00,{day}1:00,{day}2:00,{day}3:00,UNLIMITED,1,1",
    )  # fmt: skip
    frame = trace.to_polars()
    assert frame["time_limit_s"].to_list() == [86_400, None]
    assert frame["eligible_s"].to_list() == [60, 60]
    assert frame["priority"].to_list() == [5, 1]
    assert frame["qos"].to_list() == ["high", "low"]
    assert frame["account"].to_list() == ["vision"] * 2
    assert trace.service_s.tolist() == [60, 60]
    assert not any("not used: " in note and "JobID" in note for note in trace.notes)


def test_gaps_have_the_unit_of_their_name(tmp_path):
    trace = read(tmp_path, "inter_arrival_ms,duration,gpus", ",5,1", "1500,5,1", "500,5,1")
    assert trace.submit_s.tolist() == [0, 1.5, 2]
    assert "submit" not in trace.notes[0]
    assert "interarrival_s from 'inter_arrival_ms' (x 0.001)" in trace.notes[0]


@each(("parts", "said"), [(1, "seconds"), (10**3, "milliseconds"), (10**6, "microseconds")])
def test_numbers_of_a_frame_count_from_1970_as_those_of_a_file(parts, said):
    at = [1714554000 * parts, 1714554060 * parts]
    data = {"submit": at, "deadline_s": [at[1], None], "service_s": [5, 5], "gpus": [1, 1]}
    frame = pl.DataFrame(data)
    for trace in (gs.Trace.from_polars(frame), gs.Trace.from_pandas(frame.to_pandas())):
        assert (trace.epoch, trace.submit_s[1]) == (datetime(2024, 5, 1, 9, tzinfo=UTC), 60)
        assert trace["deadline_s"].to_list() == [60, None]
        assert trace.notes == (f"submit_s: {said} since 1970", f"deadline_s: {said} since 1970")
    for plain in (
        (
            gs.Trace.from_polars(frame.rename({"submit": "submit_s"}), on_bad="reject"),
            gs.Trace.from_polars(frame, epoch=datetime(2024, 5, 1), on_bad="reject"),
        )
        if parts < 10**6
        else ()
    ):  # those are beyond the time type
        assert (plain.submit_s[0], plain.notes) == (at[0], ())


def test_a_frame_says_which_names_it_understood():
    frame = pl.DataFrame({"Submit": [0], "duration": [5], "GPUs": [2], "User": ["ann"], "x": [1]})
    trace = gs.Trace.from_polars(frame)
    assert trace.user[0] == "ann"
    assert trace.notes == (
        "understood: submit_s from 'Submit', gpus from 'GPUs', user from 'User'",
        "columns not used: x",
    )
    with pytest.raises(ValueError, match="'service_s' is missing"):  # units are those of files
        gs.Trace.from_polars(frame.rename({"duration": "duration_hours"}))
