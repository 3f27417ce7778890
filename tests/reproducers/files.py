"""What was wrong with files that are read and written: one function for each finding."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.audit import audit


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    trace = gs.Trace.from_columns([0, 1, 5], [10, 20, 5], [1, 2, 1], user=["a", "b", "a"])
    gs.simulate(trace, gs.Cluster.uniform(1, 2), policy="srtf").save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def rewrite_header(path: Path, change) -> None:
    with np.load(path) as archive:
        arrays = dict(archive)
    record = json.loads(arrays["header"].tobytes())
    change(record)
    arrays["header"] = np.frombuffer(json.dumps(record).encode(), np.uint8)
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda h: h["spec"].update(seed=7),
        lambda h: h["spec"].update(version="9.9"),
        lambda h: h["spec"].update(policy="fifo"),
        lambda h: h.update(wall_s=1e9),
        lambda h: h.update(clairvoyant=not h["clairvoyant"]),
        lambda h: h.update(warnings=["made up"]),
        lambda h: h.update(counters={"decisions": 1}),
        lambda h: h["trace"].update(name="another"),
        lambda h: h["trace"].update(origin_s=5.0),
        lambda h: h["trace"]["label_names"].update(user=["b", "a"]),
    ],
)
def test_a_changed_field_of_the_header_of_a_result_is_refused(saved: Path, change) -> None:
    rewrite_header(saved, change)
    with pytest.raises(ValueError, match=r"run\.npz: not a readable gpusched result: "):
        gs.load_result(saved)


@pytest.mark.parametrize("member", ["trace.row", "trace.id", "trace.user", "schedule.start_us"])
def test_a_changed_column_that_no_digest_covers_is_refused(saved: Path, member: str) -> None:
    with np.load(saved) as archive:
        arrays = dict(archive)
    arrays[member] = arrays[member][::-1].copy()
    np.savez(saved, **arrays)
    with pytest.raises(ValueError, match="not a readable gpusched result"):
        gs.load_result(saved)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(saved: Path) -> None:
    content = io.BytesIO()
    np.save(content, np.array([9, 9, 9]))
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("trace.row.npy", content.getvalue())
    with pytest.raises(ValueError, match="not a readable gpusched result"):
        gs.load_result(saved)


@pytest.mark.parametrize("junk", [b"\0", b"x" * 1000])
def test_what_is_appended_to_or_put_before_a_result_is_refused(saved: Path, junk: bytes) -> None:
    whole = saved.read_bytes()
    for data in (whole + junk, junk + whole):
        saved.write_bytes(data)
        with pytest.raises(ValueError, match="not a readable gpusched result"):
            gs.load_result(saved)


def test_a_result_that_claims_huge_arrays_takes_no_space(saved: Path) -> None:
    header = io.BytesIO()
    fields = {"descr": "<i8", "fortran_order": False, "shape": (2**40,)}
    np.lib.format.write_array_header_1_0(header, fields)
    with zipfile.ZipFile(saved, "w") as archive:
        archive.writestr("header.npy", header.getvalue())
    with pytest.raises(ValueError, match="not a readable gpusched result"):
        gs.load_result(saved)


def test_a_result_beyond_a_limit_is_refused(saved: Path) -> None:
    with pytest.raises(ValueError, match=r"run\.npz: .* more than 100 bytes"):
        gs.load_result(saved, max_bytes=100)


@pytest.mark.parametrize("year", ["0000", "-001"])
def test_a_year_before_the_calendar_is_a_rejected_row(tmp_path: Path, year: str) -> None:
    path = tmp_path / "philly.csv"
    row = "{}-10-09 07:01:55,66.0,1,66.0,11cb48\n"
    head = "timestamp,duration,num_gpus,gpu_time,cluster\n"
    path.write_text(head + row.format(year) + row.format("2017"))
    trace = gs.read_trace(path)
    assert (len(trace), trace.rejects.total) == (1, 1)


def test_a_clock_beyond_the_calendar_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text("; UnixStartTime: 0\n1 999999999999 0 5 2 -1 -1 2 9 -1 1 1 1 1 1 1 -1 -1\n")
    with pytest.raises(ValueError, match=r"log\.swf: the first submit"):
        gs.read_trace(path)


@pytest.mark.parametrize(
    "header",
    [b"{'descr': (", b"{'descr': '<f8', 'shape': (3,", b"\0" * 20, b"'" + b"a" * 50, b"(" * 90],
)
def test_a_damaged_header_of_an_array_is_an_error_that_names_the_file(
    tmp_path: Path, header: bytes
) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00v\x00" + header.ljust(117) + b"\n" + bytes(24))
    with pytest.raises(ValueError, match=r"a\.npy: damaged NumPy file"):
        gs.read_trace(path)


def test_a_member_that_is_no_array_is_an_error_that_names_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", submit_s=[0.0], service_s=[1.0], gpus=[1])
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(ValueError, match=r"a\.npz: .*'readme\.txt'"):
        gs.read_trace(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.json", "[" * 100_000, gs.read_trace),
        ("a.json", '{"v100":{"k":{"null":' + "[" * 100_000, gs.model.read_throughputs),
        ("a.toml", "a=" + "[" * 100_000, gs.read_cluster),
        ("a.toml", "a=" + "[" * 100_000, gs.model.read_profiles),
    ],
    ids=["read_trace", "read_throughputs", "read_cluster", "read_profiles"],
)
def test_deeply_nested_text_is_an_error_that_names_the_file(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], object]
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=re.escape(name)):
        read(tmp_path / name)


def test_a_huge_integer_in_a_table_of_gavel_is_an_error_that_names_its_keys(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"v100": {"m": {"null": 1' + "0" * 400 + "}}}")
    with pytest.raises(ValueError, match=r"t\.json: 'v100', 'm'"):
        gs.model.read_throughputs(tmp_path / "t.json")


def test_a_small_file_that_unpacks_to_gibibytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(bytes(1 << 20)) * 1_000)
    with pytest.raises(ValueError, match=r"a\.csv\.gz: more than 67,108,864 bytes"):
        gs.read_trace(path)


def test_a_header_of_a_million_columns_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(map(str, range(1_000_000))) + "\n")
    with pytest.raises(ValueError, match="1,000,000 columns"):
        gs.read_trace(path)


@pytest.mark.parametrize("policy", ["a-srpt", "qssf", "spjf", "spwf", "wcs-duration"])
def test_the_audit_knows_that_a_policy_never_preempts(policy: str) -> None:
    from gpusched.results.audited_names import declared

    assert gs.policies()[policy].preempts is False
    trace = gs.Trace.from_columns([0], [10], [1])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 2), policy=policy)
    rows = {name: np.repeat(column, 2) for name, column in result.intervals.items()}
    rows["end_us"][0], rows["start_us"][1] = 3_000_000, 4_000_000
    report = audit(
        result.trace, result.cluster, result.spec, result.schedule, rows, result.digest,
        result.summary, declared(result.spec),
    )  # fmt: skip
    assert any("non-preemptive policy preempts" in problem for problem in report.problems)


def test_a_table_of_step_times_that_is_packed_is_read_or_named(tmp_path: Path) -> None:
    folder = tmp_path / "pollux" / "bert"
    folder.mkdir(parents=True)
    for name in ("placements.csv", "scalability.csv"):
        (folder / name).write_bytes(gzip.compress(b"placement,local_bsz\n1,2\n")[:20])
    with pytest.raises(ValueError, match=r"placements\.csv"):
        gs.model.read_pollux(folder.parent)
