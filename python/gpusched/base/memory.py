"""How much memory there is, whether what is about to be done can fit into it, and what is kept."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_CGROUPS: Final = Path("/sys/fs/cgroup")
# What needs less is not looked up: reading the files of the system takes longer than it is worth.
LEAST_LOOKED_UP: Final = 16 << 20
_NO_LIMIT_V1: Final = 1 << 60
# The numbers of mallopt(3) for what is given back to the system, and what is asked of it apart.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_MOST_KEPT: Final = 1 << 30
_MOST_KEPT_ONCE: Final = 32 << 20  # older versions take no more


class NoRoomError(MemoryError):
    """What was about to be done cannot fit into memory; nothing of it was begun."""


class Available(NamedTuple):
    """Bytes that this process can still have, and what says so."""

    num_bytes: int
    source: str


def available() -> Available | None:
    """Return the least of what the system, the control groups and the process's limit leave.

    Memory and swap of the system that are free or can be made so; of each control group above this
    process its limit without what is used, files that can be forgotten left out; and of the address
    space what ``ulimit -v`` leaves. None where none of them tells.
    """
    found = [*_of_system(), *_of_cgroups(), *_of_address_space()]
    return min(found, default=None)


def check_fits(needed: int, what: str, remedy: str) -> list[str]:
    """Say if ``what``, such as ``"it needs"``, is more than half of the memory that there is.

    Returns
    -------
    list of str
        A sentence, or nothing.

    Raises
    ------
    NoRoomError
        If it needs more than there is; the message names both figures and the ``remedy``.
    """
    if needed < LEAST_LOOKED_UP:
        return []
    found = available()
    if found is None or needed <= found.num_bytes // 2:
        return []
    said = (
        f"{what} at least {_mebibytes(needed)} of memory, and {_mebibytes(found.num_bytes)} "
        f"are available ({found.source})"
    )
    if needed > found.num_bytes:
        raise NoRoomError(f"{said}: {remedy}")
    return [f"{said}; should it not suffice: {remedy}"]


def keep_freed_memory() -> None:
    """Let the C library keep what is freed for what is asked for next, where it is glibc.

    It gives long columns back at once otherwise, and the system clears each page that it hands out
    anew. For a process that makes columns of one length again and again, and ends.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    for most in (_MOST_KEPT, _MOST_KEPT_ONCE):
        if mallopt(_MMAP_THRESHOLD, most):
            mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
            return


def _mebibytes(num_bytes: int) -> str:
    return f"{num_bytes / (1 << 20):,.0f} MiB"


def _of_system() -> Iterator[Available]:
    fields = _fields(_PROC / "meminfo")
    if "MemAvailable:" in fields:
        free = fields["MemAvailable:"] + fields.get("SwapFree:", 0)
        yield Available(1024 * free, "free memory and swap of the system")


def _of_address_space() -> Iterator[Available]:
    try:
        import resource
    except ImportError:  # no system of that kind
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = _fields(_PROC / "self" / "status").get("VmSize:")
    if limit != resource.RLIM_INFINITY and used is not None:
        yield Available(max(0, limit - 1024 * used), "limit of the address space, ulimit -v")


def _of_cgroups() -> Iterator[Available]:
    for line in _lines(_PROC / "self" / "cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            root = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        own = PurePosixPath(path.lstrip("/"))
        for group in (own, *own.parents):
            yield from _of_group(root / group, *names)


def _of_group(
    folder: Path, limit_name: str, used_name: str, files_name: str
) -> Iterator[Available]:
    limit, used = _number(folder / limit_name), _number(folder / used_name)
    if limit is None or used is None or limit >= _NO_LIMIT_V1:
        return
    cached = _fields(folder / "memory.stat").get(files_name, 0)
    yield Available(max(0, limit - used + cached), f"limit of the control group {folder}")


def _number(path: Path) -> int | None:
    """The number that a file holds; None if there is none, as in ``max``."""
    text = next(iter(_lines(path)), "")
    return int(text) if text.isdecimal() else None


def _fields(path: Path) -> dict[str, int]:
    """The lines of a file that are a name and a number, with or without a unit."""
    words = (line.split() for line in _lines(path))
    return {word[0]: int(word[1]) for word in words if len(word) >= 2 and word[1].isdecimal()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
