"""What memory there is, from files of the system that are made up here, and what is kept of it."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from gpusched.base import memory

MIB = 1 << 20


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of /proc and /sys, which are empty, and no limit of the process."""
    monkeypatch.setattr(memory, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path / "cgroup")
    (tmp_path / "proc" / "self").mkdir(parents=True)
    return tmp_path


def write(path: Path, text: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_where_nothing_tells_nothing_is_known_and_nothing_refused(system):
    assert memory.available() is None
    assert memory.check_fits(1 << 50, "it needs", "wait") == []


def test_free_memory_and_swap_count_together(system):
    write(system / "proc/meminfo", "MemTotal: 9000 kB\nMemAvailable: 3000 kB\nSwapFree: 1000 kB")
    assert memory.available() == (4000 * 1024, "free memory and swap of the system")


def test_a_control_group_and_those_above_it_limit_what_is_left(system):
    write(system / "proc/meminfo", "MemAvailable: 90000000 kB")
    write(system / "proc/self/cgroup", "0::/outer/inner")
    for group, limit, used in (("outer", 400 * MIB, 100 * MIB), ("outer/inner", "max", 90 * MIB)):
        write(system / f"cgroup/{group}/memory.max", limit)
        write(system / f"cgroup/{group}/memory.current", used)
        write(system / f"cgroup/{group}/memory.stat", f"anon 7\ninactive_file {50 * MIB}")
    found = memory.available()
    assert found.num_bytes == 350 * MIB  # files that can be forgotten are not used up
    assert found.source.endswith("cgroup/outer")


def test_so_do_control_groups_of_the_first_version(system):
    write(system / "proc/self/cgroup", "5:cpu,memory:/box\n1:name=systemd:/")
    write(system / "cgroup/memory/memory.limit_in_bytes", 2**63 - 4096)
    write(system / "cgroup/memory/memory.usage_in_bytes", 900 * MIB)
    assert memory.available() is None  # that number stands for no limit
    write(system / "cgroup/memory/box/memory.limit_in_bytes", 300 * MIB)
    write(system / "cgroup/memory/box/memory.usage_in_bytes", 250 * MIB)
    write(system / "cgroup/memory/box/memory.stat", f"total_inactive_file {10 * MIB}")
    found = memory.available()
    assert found.num_bytes == 60 * MIB


def test_the_address_space_is_limited_by_what_is_used_of_it(system, monkeypatch):
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda which: (500 * MIB, 500 * MIB))
    assert memory.available() is None  # how much is used is not known
    write(system / "proc/self/status", f"VmPeak: 1 kB\nVmSize: {200 * 1024} kB")
    assert memory.available() == (300 * MIB, "limit of the address space, ulimit -v")


def test_half_is_enough_more_is_told_and_more_than_all_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: memory.Available(100 * MIB, "a test"))
    assert memory.check_fits(50 * MIB, "it needs", "wait") == []
    assert memory.check_fits(60 * MIB, "it needs", "wait") == [
        "it needs at least 60 MiB of memory, and 100 MiB are available (a test); if that is "
        "not enough: wait"
    ]
    with pytest.raises(
        MemoryError, match=r"it needs at least 101 MiB .* 100 MiB .*\(a test\): wait"
    ):
        memory.check_fits(101 * MIB, "it needs", "wait")


def test_what_needs_little_is_not_looked_up(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: memory.Available(0, "a test"))
    assert memory.check_fits(memory.LEAST_LOOKED_UP - 1, "it needs", "wait") == []


COLUMN = 16 << 20
REUSED = f"""
import numpy as np
from gpusched.base.memory import keep_freed_memory
import resource

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

keep_freed_memory()
np.ones({COLUMN}, np.int8)
before = faults()
for _ in range(50):
    np.ones({COLUMN}, np.int8)
print(faults() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries have their own ways")
def test_what_is_freed_is_used_again():
    told = subprocess.run(
        [sys.executable, "-c", REUSED], capture_output=True, text=True, check=True
    )
    assert int(told.stdout) < 50  # a page of any size for each column, at least


def test_an_older_library_keeps_what_it_can(monkeypatch):
    taken = []

    class Library:
        @staticmethod
        def mallopt(option: int, value: int) -> int:
            is_taken = option != memory._MMAP_THRESHOLD or value <= 32 << 20
            if is_taken:
                taken.append((option, value))
            return int(is_taken)

    monkeypatch.setattr("ctypes.CDLL", lambda name: Library)
    memory.keep_freed_memory()
    assert taken == [(memory._MMAP_THRESHOLD, 32 << 20), (memory._TRIM_THRESHOLD, 1 << 30)]


def test_a_library_without_such_an_option_is_left_alone(monkeypatch):
    monkeypatch.setattr("ctypes.CDLL", lambda name: object())
    memory.keep_freed_memory()
