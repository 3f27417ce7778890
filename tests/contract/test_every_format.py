"""Every trace format recognises and reads its own excerpt, and reads back what it writes."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.base.source import Source
from gpusched.cli import app
from gpusched.traces.format_registry import (
    TraceFormat,
    detect,
    register_trace_format,
    text_file,
    trace_formats,
)
from gpusched.traces.writers import write_trace
from tests.each import each

FORMATS = trace_formats()
WRITTEN = sorted(name for name, known in FORMATS.items() if known.write is not None)

every_format = pytest.mark.parametrize("name", sorted(FORMATS))


def test_the_formats_are_there():
    assert set(FORMATS) >= {
        "acme", "batsim", "csv", "elasticflow", "gavel", "helios", "itp", "json", "numpy", "openb",
        "pai-2020", "pai-2026", "parquet", "philly-csv", "philly-json", "sacct", "sacct-json",
        "squeue", "swf",
    }  # fmt: skip
    assert set(WRITTEN) >= {"csv", "numpy", "parquet", "swf"}


@every_format
def test_a_format_says_what_it_is(name):
    known = FORMATS[name]
    assert known.name == name
    assert known.summary.endswith(".")
    assert known.source
    assert known.detection
    assert bool(known.endings) == (known.write is not None)


@every_format
def test_a_format_recognises_its_own_excerpt_and_reads_it(name, tmp_path):
    path = FORMATS[name].write_excerpt(tmp_path)
    assert detect(Source(path)).name == name
    trace = gs.read_trace(path)
    assert len(trace) >= 1
    assert not trace.rejects
    assert trace.submit_us[0] == 0
    assert (trace.service_us > 0).all()
    named = gs.read_trace(path, format=name)
    assert named.service_us.tolist() == trace.service_us.tolist()


@every_format
def test_an_excerpt_is_taken_by_no_other_format(name, tmp_path):
    source = Source(FORMATS[name].write_excerpt(tmp_path))
    takers = {known.name for known in FORMATS.values() if known.recognises(source)}
    assert takers - {"csv", "json"} == {name} - {"csv", "json"}


@every_format
def test_the_command_tells_of_an_excerpt_and_runs_it(name, tmp_path):
    path = str(FORMATS[name].write_excerpt(tmp_path))
    told = CliRunner().invoke(app, ["trace", "info", path])
    assert told.exit_code == 0, told.output
    run = CliRunner().invoke(app, ["run", path, "-p", "fifo", "--servers", "4"])
    types = {each for some in gs.read_trace(path).type_sets for each in some}
    assert (run.exit_code == 2) == (len(types) > 1), run.output
    if len(types) > 1:
        assert "list the servers of each in a file, --cluster FILE, or leave" in run.stderr
        run = CliRunner().invoke(app, ["run", path, "-p", "fifo"])
    assert run.exit_code == 0, run.output


@every_format
def test_a_damaged_excerpt_is_a_mistake_or_a_rejected_row(name, tmp_path):
    path = FORMATS[name].write_excerpt(tmp_path)
    whole = path.read_bytes()
    for length in (len(whole) // 2, len(whole) - 3):
        path.write_bytes(whole[:length])
        try:
            trace = gs.read_trace(path, format=name)
        except ValueError as error:
            assert path.name in str(error)  # noqa: PT017 - either is right
        else:
            assert len(trace) + trace.rejects.total >= 1


@pytest.mark.parametrize("name", WRITTEN)
def test_what_a_format_writes_it_reads_back(name, tmp_path):
    known = FORMATS[name]
    trace = gs.read_trace(FORMATS[name].write_excerpt(tmp_path))
    for ending in known.endings:
        for text in (None, name, ending):
            path = tmp_path / f"again.{ending}"
            write_trace(trace, path, text)
            again = gs.read_trace(path)
            assert again.gpus.tolist() == trace.gpus.tolist()
            # A format may count whole seconds.
            assert np.abs(again.submit_us - trace.submit_us).max() <= 500_000
            assert np.abs(again.service_us - trace.service_us).max() <= 500_000
            assert (again.user is None) == (trace.user is None)


def test_the_command_lists_them():
    listed = json.loads(CliRunner().invoke(app, ["trace", "formats", "--json"]).stdout)["formats"]
    assert [known["name"] for known in listed] == list(FORMATS)
    shown = CliRunner().invoke(app, ["trace", "formats"]).stdout
    assert all(name in shown for name in FORMATS)


@each(
    ("field", "value", "message"),
    [
        ("name", "swf", "format: the name 'swf' is taken"),
        ("summary", "", "format another: summary must not be empty"),
        ("detection", " ", "format another: detection must not be empty"),
        ("endings", ("abc",), "format another: write and endings must be given together"),
    ],
)
def test_a_wrong_registration_is_refused(field, value, message):
    fields: dict[str, object] = {
        "name": "another", "summary": "A.", "source": "B.", "detection": "C",
        "recognises": lambda source: False, "read": lambda source, on_bad: None,
        "excerpt": text_file("a.txt", "a"), field: value,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        register_trace_format(TraceFormat(**fields))  # type: ignore[arg-type]
    assert "another" not in trace_formats()
