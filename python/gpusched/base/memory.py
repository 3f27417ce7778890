"""Available memory, checks against it, and the reuse of freed memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

_PROC: Final = Path("/proc")
_CGROUPS: Final = Path("/sys/fs/cgroup")
# Smaller needs are not checked, as reading the system's files takes too long.
LEAST_LOOKED_UP: Final = 16 << 20
_NO_LIMIT_V1: Final = 1 << 60
# Parameters of mallopt(3) for the trim and mmap thresholds.
_TRIM_THRESHOLD: Final = -1
_MMAP_THRESHOLD: Final = -3
_MOST_KEPT: Final = 1 << 30
_MOST_KEPT_ONCE: Final = 32 << 20  # the limit of older versions


class NoRoomError(MemoryError):
    """An operation was not started, because it would not fit into memory."""


class Available(NamedTuple):
    """Bytes available to this process, and the limit that says so."""

    num_bytes: int
    source: str


def available() -> Available | None:
    """Return the lowest of what the system, the control groups and the process's limit leave.

    The system's free or reclaimable memory and swap; for each control group above this process its
    limit minus its use, without reclaimable files; and what ``ulimit -v`` leaves of the address
    space. None if none is known.
    """
    found = [*_of_system(), *_of_cgroups(), *_of_address_space()]
    return min(found, default=None)


def check_fits(needed: int, what: str, remedy: str) -> list[str]:
    """Warn if ``what``, such as ``"it needs"``, takes more than half of the available memory.

    A sentence, or nothing.

    Raises NoRoomError if it takes more than is available; the message has both values and the
    ``remedy``.
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
    return [f"{said}; if that is not enough: {remedy}"]


def keep_freed_memory() -> None:
    """Let glibc keep freed memory for later allocations.

    By default it returns long columns to the system at once, which must clear each page again. For
    short-lived processes that repeatedly allocate columns of one length.
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
    except ImportError:  # not on this system
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
    """Return the number in a file; None for other contents, such as ``max``."""
    text = next(iter(_lines(path)), "")
    return int(text) if text.isdecimal() else None


def _fields(path: Path) -> dict[str, int]:
    """Return the lines of a file with a name and a number, with or without a unit."""
    words = (line.split() for line in _lines(path))
    return {word[0]: int(word[1]) for word in words if len(word) >= 2 and word[1].isdecimal()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []
