"""Every reader under fuzz: a slice of a campaign in processes with limits; the fuzzer itself."""

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.traces.format_registry import trace_formats
from tests.architecture.sources import ROOT
from tests.fuzz import hostile_files
from tests.fuzz.damage import DAMAGE, damaged
from tests.fuzz.judging import judged, made, verdict_on
from tests.fuzz.readers import Reader, readers

pytestmark = pytest.mark.long

FILES = {
    "read_trace", "read_requests", "read_cluster", "read_topology", "read_profiles",
    "read_outages", "read_throughputs", "read_pollux", "read_state", "load_result",
    "load_predictor",
}  # fmt: skip


def fuzz(*arguments: object, seconds: int = 120) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.fuzz", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)


def test_thousands_of_inputs_are_read_or_refused_by_name():
    ran = fuzz("all", "--cases", 60, "--seed", 0, "--jobs", 2)
    assert ran.returncode == 0, ran.stdout[-5_000:]
    num_inputs = int(ran.stdout.splitlines()[-1].split()[0].replace(",", ""))
    assert num_inputs >= 2_000
    assert " 0 faults; " in ran.stdout


@pytest.fixture(scope="module")
def every(tmp_path_factory):
    return readers(tmp_path_factory.mktemp("readers"))


def test_every_public_reader_of_files_and_every_format_is_there(every):
    public = {
        name
        for room in (gs, gs.traces, gs.model, gs.online, gs.model, gs.prediction)
        for name in room.__all__
        if name.startswith(("read_", "load_"))
    }
    assert public == FILES
    assert {name.partition("/")[0] for name in every} >= FILES
    for name in trace_formats():
        assert {f"read_trace/{name}", f"read_trace/format={name}"} <= set(every)


def test_whole_files_are_read(every):
    for reader in every.values():
        for name, data in reader.files:
            (reader.folder / name).write_bytes(data)
            assert reader.read(reader.folder / name) is not None, (reader.name, name)


def test_a_case_is_always_the_same_and_all_kinds_of_damage_are_drawn(every):
    seen: set[str] = set()
    for reader in every.values():
        for index in range(40):
            name, what, data = made(reader, 7, index)
            assert (name, what, data) == made(reader, 7, index)
            seen |= set(what.split(", "))
    rare = {"gzip_bomb", "zip_bomb", "parquet_bomb", "wide"}
    hostile = {make.__name__ for _, make in hostile_files.HOSTILE}
    assert seen >= ({change.__name__ for change in DAMAGE} | hostile) - rare


def test_every_hostile_file_can_be_made():
    for _, make in hostile_files.HOSTILE:
        for seed in range(6):
            assert isinstance(make(random.Random(seed)), bytes)


def test_damage_takes_empty_and_tiny_files():
    for change in DAMAGE:
        for seed in range(30):
            assert isinstance(change(b"x", random.Random(seed)), bytes)
    for seed in range(300):
        damaged(b"\x1f", random.Random(seed))


# What the fuzzer calls a fault


def raises(error: BaseException) -> Callable[[Path], Any]:
    def read(path: Path) -> None:
        raise error

    return read


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (ValueError("a.csv: bad"), "refused"),
        (TypeError("a.csv: bad"), "refused"),
        (OSError("a.csv: bad"), "refused"),
        (ValueError("bad"), "fault: does not name the file"),
        (ValueError("a.csv: bad\nand more"), "fault: a message of several lines"),
        (ValueError("a.csv: " + "x" * 30_000), "fault: a message of 30,007 characters"),
        (KeyError("a.csv"), "fault: KeyError"),
        (RecursionError("a.csv"), "fault: RecursionError"),
        (MemoryError("a.csv"), "fault: MemoryError"),
        (AssertionError("a.csv"), "fault: AssertionError"),
        (SystemExit("a.csv"), "fault: SystemExit"),
    ],
)
def test_errors_are_judged_by_type_and_message(tmp_path, error, verdict):
    assert judged(raises(error), tmp_path / "a.csv").startswith(verdict)
    assert judged(lambda path: path, tmp_path / "a.csv") == "read"


def test_a_sealed_file_is_read_unchanged_and_never_otherwise(tmp_path):
    sealed = Reader("any", (("a.npz", b"whole"),), lambda path: path, is_sealed=True)
    assert verdict_on(sealed, tmp_path / "a.npz", b"whole") == "read"
    assert verdict_on(sealed, tmp_path / "a.npz", b"Whole").startswith("fault: read a file that")


BROKEN = """
import os, sys, time
from pathlib import Path
from tests.fuzz import __main__ as fuzz, readers

def broken(path):
    if {when}:
        {what}

readers.readers = lambda folder: {{
    "broken": readers.Reader("broken", (("a.csv", b"1,2,3"),), broken, folder=folder)
}}
sys.exit(fuzz.main(["broken", "--cases", "4", "--jobs", "2", "--seconds", "{seconds}"]))
"""


@pytest.mark.parametrize(
    ("what", "seconds", "told"),
    [
        ("raise KeyError(1)", 60, "fault: broken --only"),
        ("os.abort()", 60, "crashed: exit code -6"),
        ("time.sleep(600)", 1, "hung: exit code 17"),
        ("bytearray(1200 << 20)", 60, "took 1,"),
        ("bytearray(64 << 30)", 60, "fault: broken --only"),
    ],
)
def test_a_broken_reader_is_found_in_whatever_way_it_breaks(what, seconds, told):
    when = 'len(path.read_bytes()) % 2 == 0 or path.read_bytes()[:1] != b"1"'
    program = BROKEN.format(when=when, what=what, seconds=seconds)
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 1, ran.stderr[-2_000:]
    assert told in ran.stdout
    assert "4 inputs in" in ran.stdout


def test_a_reader_that_is_not_there_is_a_mistake():
    ran = fuzz("read_nothing")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "no reader begins with 'read_nothing'" in ran.stderr
