"""Files are whole: the new one, or the old one."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.base.replacing import (
    PARTIAL,
    check_folder,
    check_target,
    refuse_inputs,
    replacing,
    write_bytes,
    write_text,
)
from gpusched.model import JobProfile, Throughputs
from gpusched.traces.writers import write_trace
from gpusched_papers.study import write_rows


@contextmanager
def at_most(num_bytes: int) -> Iterator[None]:
    """No file can grow beyond so many bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    # Byte code of what is imported meanwhile would be cut off, and stay so for whoever comes next.
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
        sys.dont_write_bytecode = wrote_bytecode


def trace_of(num_jobs: int) -> gs.Trace:
    random = np.random.Generator(np.random.PCG64(num_jobs))
    submit = np.cumsum(random.uniform(1, 9, num_jobs))
    return gs.Trace.from_columns(submit, random.uniform(1, 9, num_jobs), np.ones(num_jobs, int))


def small_result(num_jobs: int) -> gs.Result:
    return gs.simulate(trace_of(num_jobs), gs.Cluster.uniform(1, 1), policy="fifo")


def rows_of(num_rows: int) -> list[dict[str, float]]:
    return [{"value": value / 7} for value in range(num_rows)]


WRITERS = {
    "csv": lambda path: write_trace(trace_of(5_000), path, "csv"),
    "parquet": lambda path: write_trace(trace_of(5_000), path, "parquet"),
    "npz": lambda path: write_trace(trace_of(5_000), path, "npz"),
    "swf": lambda path: write_trace(trace_of(5_000), path, "swf"),
    "result": lambda path: small_result(3_000).save(path),
    "jobs": lambda path: small_result(3_000).to_parquet(path),
    "case": lambda path: small_result(3_000).save_case(path),
    "rows": lambda path: write_rows(rows_of(9_000), path),
    "text": lambda path: write_text(path, "text" * 9_000),
    "pieces": lambda path: write_bytes(path, (b"bytes" * 9_000 for _ in range(2))),
}


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_a_full_disk_is_named_by_the_target_and_leaves_the_old_file(writer, tmp_path):
    target = tmp_path / "old_file"
    target.write_text("old")
    with at_most(16_384), pytest.raises(OSError, match="old_file") as caught:
        WRITERS[writer](target)
    assert caught.value.filename == str(target)
    assert caught.value.errno == errno.EFBIG
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("writer", sorted(WRITERS))
def test_every_writer_makes_a_new_file_and_replaces_an_old_one(writer, tmp_path):
    target = tmp_path / "new_file"
    WRITERS[writer](target)
    made = target.read_bytes()
    target.write_text("old")
    WRITERS[writer](target)
    assert len(target.read_bytes()) == len(made) > 16_384
    assert list(tmp_path.iterdir()) == [target]


def test_throughputs_and_comparisons_are_replaced_as_well(tmp_path):
    trace = trace_of(2_000)
    comparison = gs.compare(trace, gs.Cluster.uniform(1, 1), ["fifo", "sjf"])
    measured = Throughputs(
        [JobProfile(f"model {n}", throughput={"V100": {1: 1.0 + n}}) for n in range(2_000)]
    )
    for write in (comparison.to_parquet, measured.to_csv):
        target = tmp_path / "old_file"
        target.write_text("old")
        with at_most(4_096), pytest.raises(OSError, match="old_file"):
            write(target)
        assert target.read_text() == "old"
        assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, ValueError])
def test_whatever_ends_the_writing_leaves_the_old_file(error, tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    names: list[str] = []

    def begin() -> None:
        with replacing(target) as partial:
            partial.write_text("ne")
            names.append(partial.name)
            raise error

    with pytest.raises(error):
        begin()
    assert names[0].startswith("a.txt.")
    assert names[0].endswith(PARTIAL)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_kept_and_what_it_points_to_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "a.txt"
    target.write_text("old")
    link = tmp_path / "link.txt"
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_new_file_has_the_rights_of_any_and_a_replaced_one_its_own(tmp_path):
    usual = tmp_path / "usual"
    usual.write_text("")
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("")
    old.chmod(0o640)
    write_text(new, "new")
    write_text(old, "new")
    assert stat.S_IMODE(new.stat().st_mode) == stat.S_IMODE(usual.stat().st_mode)
    assert stat.S_IMODE(old.stat().st_mode) == 0o640


def test_what_is_no_plain_file_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "through")
    reader.join(20)
    assert read == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    write_text("/dev/null", "nothing")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("into", ["pipe", "file"])
def test_the_standard_output_is_written_to_whatever_it_is(into, tmp_path):
    code = "from gpusched.base.replacing import write_text; write_text('/dev/stdout', 'new')"
    with open(tmp_path / "out", "wb") as file:
        made = subprocess.run(
            [sys.executable, "-c", code], timeout=60, check=True,
            stdout=subprocess.PIPE if into == "pipe" else file,
        )  # fmt: skip
    assert (made.stdout or (tmp_path / "out").read_bytes()) == b"new"


def test_the_device_that_is_always_full_is_named():
    with pytest.raises(OSError, match="/dev/full") as caught:
        write_text("/dev/full", "new")
    assert caught.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("name", "number"),
    [("nowhere/a.txt", errno.ENOENT), ("file/a.txt", errno.ENOTDIR), ("folder", errno.EISDIR)],
)
def test_what_cannot_be_written_is_named(name, number, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match=name) as caught:
        write_text(tmp_path / name, "new")
    assert caught.value.filename == str(tmp_path / name)
    assert caught.value.errno == number
    with pytest.raises(OSError, match=name):
        check_target(tmp_path / name)


def test_the_longest_names_can_be_written(tmp_path):
    for name in ("n" * 255, "é" * 127):
        write_text(tmp_path / name, "new")
        assert (tmp_path / name).read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_two_writers_do_not_meet(tmp_path):
    target = tmp_path / "a.txt"
    with replacing(target) as one, replacing(target) as other:
        one.write_text("one")
        other.write_text("other")
    assert target.read_text() == "one"
    assert list(tmp_path.iterdir()) == [target]


def test_inputs_are_known_by_every_name(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text("old")
    link, hard = tmp_path / "link.csv", tmp_path / "hard.csv"
    link.symlink_to(trace)
    hard.hardlink_to(trace)
    for target in (trace, link, hard, tmp_path / "." / "jobs.csv"):
        with pytest.raises(ValueError, match=f"{target.name}: is the trace.* that is read"):
            refuse_inputs([target], {"cluster": None, "trace": trace})
    refuse_inputs([tmp_path / "other.csv"], {"trace": trace})


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_a_folder_without_rights_is_named(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    for check in (
        check_folder,
        lambda path: write_text(path / "a", ""),
        lambda path: check_target(path / "a"),
    ):
        with pytest.raises(PermissionError, match="closed"):
            check(closed)


def test_a_file_that_must_not_be_written_is_kept(tmp_path, monkeypatch):
    target = tmp_path / "a.txt"
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != target)
    for write in (lambda path: write_text(path, "new"), check_target):
        with pytest.raises(PermissionError) as caught:
            write(target)
        assert caught.value.filename == str(target)
    with pytest.raises(PermissionError):
        check_folder(tmp_path, ["a.txt"])
    assert target.read_text() == "old"


def test_a_write_that_polars_only_says_has_failed_is_an_error_of_the_file(tmp_path):
    # As on a full disk: there is no number of the system in what it says.
    path = tmp_path / "jobs.parquet"
    path.write_text("old")
    said = "parquet: File out of specification: Invalid thrift: transport error"
    with pytest.raises(OSError, match="cannot be written") as caught, replacing(path):
        raise pl.exceptions.ComputeError(said)
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    with pytest.raises(pl.exceptions.ComputeError, match="another"), replacing(path):
        raise pl.exceptions.ComputeError("another reason")
