"""Which reader takes which file."""

import json
import warnings

import pytest

import gpusched as gs
from gpusched.base.source import Source
from gpusched.traces.format_registry import detect, find, trace_formats
from gpusched.traces.json_records import has_member
from gpusched.traces.reading import read_trace
from tests.each import each
from tests.unit.real_data import DATA, needs_real_data

CSV = "submit_s,service_s,gpus\n0,1,1\n"


@each(
    ("path", "name"),
    [
        ("itp/cluster10.csv", "itp"),
        ("philly/philly.csv", "philly-csv"),
        ("gavel/traces/ee9e8c.trace", "gavel"),
        ("gavel/traces/max_min_fairness.trace", "gavel"),
        ("swf/RICC-2010-first20000.swf.gz", "swf"),
        ("peers/trace.csv", "csv"),
    ],
)
def test_every_published_file_is_taken_by_its_own_reader_alone(path, name):
    source = Source(DATA / path)
    assert detect(source).name == name
    takers = [reader.name for reader in trace_formats().values() if reader.recognises(source)]
    assert [taker for taker in takers if taker != "csv" or name == "csv"] == [name]


def test_a_format_is_found_by_its_other_name(tmp_path):
    path = trace_formats()["openb"].write_excerpt(tmp_path)
    assert find("pai-2023") is trace_formats()["openb"]
    assert len(read_trace(path, format="pai-2023")) == 2
    assert "PAI, 2023" in trace_formats()["openb"].summary


def test_a_file_that_no_reader_knows_is_an_error_that_quotes_its_beginning(tmp_path):
    (tmp_path / "a.txt").write_text("hello world\n")
    with pytest.raises(ValueError, match=r"a.txt: no known format begins with 'hello world'"):
        read_trace(tmp_path / "a.txt")


def test_a_named_format_is_not_second_guessed(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    assert len(read_trace(tmp_path / "a.csv", format="csv")) == 1
    with pytest.raises(ValueError, match=r"a.csv, line 1: column 'job_id' is missing; the header"):
        read_trace(tmp_path / "a.csv", format="itp")


@each(
    ("name", "options", "message"),
    [
        ("a.csv", {"processors": "requested"}, "format 'csv' has no option 'processors'; known: c"),
        ("a.swf", {"processor": "requested"},
         r"no option 'processor'; did you mean 'processors'\?"),
        ("a.csv", {"format": "itp", "columns": {"gpus": "gpus"}},
         "'itp' has no option 'columns'; "),
    ],
)  # fmt: skip
def test_an_option_that_the_format_lacks_is_a_type_error(tmp_path, name, options, message):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "a.swf").write_text("1 0 0 1 1 -1 -1 1 1 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(TypeError, match=message):
        read_trace(tmp_path / name, **options)


def test_a_file_that_does_not_exist_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_trace(tmp_path / "nowhere.csv")


HEADLESS = "7|ann|2024-05-01T09:00:00|2024-05-01T09:00:10|gres/gpu=2,cpu=8\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADLESS, r"a.txt, line 1: '7\|ann\|.* is not a header; run sacct without"),
        (f"7_1.batch{HEADLESS[1:]}", "is not a header"),
        ("  JobID    JobName  State \n------- ---------- -----\n",
         "a.txt: this is sacct's human-readable output; run sacct --parsable2"),
        (" JOBID PARTITION     NAME  USER ST   TIME  NODES NODELIST(REASON)\n",
         "a.txt: this is squeue's human-readable output; run squeue --json"),
        ("JobIDRaw|State|Start|Elapsed|AllocTRES\n7|FAILED|a|b|c\n",
         r"line 1: column 'Submit' is missing; the header has JobIDRaw, .*--format=Submit"),
        ('{"nodes": [{"name": "n1", "gres": "gpu:8"}]}', r"lists servers, .*gpusched.read_cluster"),
    ],
)  # fmt: skip
def test_what_is_nearly_a_trace_is_told_what_it_lacks(tmp_path, text, message):
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_trace(tmp_path / "a.txt")


@needs_real_data
def test_what_squeue_printed_at_a_site_is_a_queue_and_no_list_of_servers(tmp_path):
    path = DATA / "slurm" / "squeue_out.json"
    # Its jobs ask for no GPUs, and for that alone they are no jobs here.
    told = "all 11 rows were rejected: state_reason must be a wait for GPUs"
    with pytest.raises(ValueError, match=told):
        read_trace(path)

    document = json.loads(path.read_text())
    for job in document["jobs"]:
        job["tres_req_str"] += ",gres/gpu=4"
        job["state_reason"] = "Resources"
    (tmp_path / "squeue.json").write_text(json.dumps(document, indent=4))
    trace = read_trace(tmp_path / "squeue.json", service="whole")
    assert trace.id.tolist() == ["26515966", *(f"58948420_{task}" for task in range(1, 11))]
    assert set(trace.gpus.tolist()) == {4}


@pytest.mark.parametrize("name", ["squeue", "sacct-json"])
def test_jobs_of_slurm_that_name_their_nodes_are_jobs(tmp_path, name):
    path = trace_formats()[name].write_excerpt(tmp_path)
    assert '"nodes": "gpu01"' in path.read_text()
    assert len(read_trace(path))
    assert detect(Source(path)).name == name


@pytest.mark.parametrize(
    ("text", "path", "is_there"),
    [
        ('{"meta": {}, "nodes": [{"name": "n1"}]}', ("nodes",), True),
        ('\ufeff {"nodes": []}', ("nodes",), True),
        ('{"jobs": [{"nodes": "n1"}]}', ("nodes",), False),
        ('{"jobs": [{"name": "a"}, {"nodes": "n1"}]}', ("jobs", "nodes"), True),
        ('{"jobs": [{"inner": {"nodes": 1}}]}', ("jobs", "nodes"), False),
        ('{"jobs": [{"comment": "nodes", "x": ["nodes"]}]}', ("jobs", "nodes"), False),
        ('{"a": "\\"nodes\\": {", "b": [[{}]], "nodes": [', ("nodes",), True),
        ('{"meta": "cut in its mid, "nodes": 1', ("nodes",), False),
        ('[{"nodes": []}]', ("nodes",), False),
        ("}" * 9, ("nodes",), False),
        ('{"nodes":' * 9_999, ("nodes", "jobs"), False),
    ],
)
def test_a_name_counts_where_it_stands(tmp_path, text, path, is_there):
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert has_member(Source(tmp_path / "a.json"), *path) is is_there


def test_a_csv_of_ones_own_may_call_its_ids_as_slurm_does(tmp_path):
    (tmp_path / "a.csv").write_text("JobID,submit_s,service_s,gpus\n7,0,60,2\n")
    assert read_trace(tmp_path / "a.csv").notes == ("understood: id from 'JobID'",)


def test_rows_that_are_left_out_are_told_once_with_their_number_by_reason(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"{CSV}1,0,1\n2,0,1\n3,5,0\n")

    with pytest.warns(gs.RunWarning) as told:
        trace = read_trace(path)
    (one,) = told
    assert str(one.message) == f"a: rows left out, 3: {'; '.join(trace.rejects.lines())}"
    assert "2 rows (lines 3, 4)" in str(one.message)
    assert one.filename == __file__

    path.write_text(CSV)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gs.simulate(read_trace(path), gs.Cluster.uniform(1, 1))
