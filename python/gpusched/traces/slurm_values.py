"""Parse values of Slurm: durations, resources (TRES), memory sizes; in JSON plain or wrapped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

_DURATION: Final = re.compile(
    r"(?:(?P<days>\d{1,7})-)?(?P<parts>\d{1,9}(?::\d{1,9}){0,2})(?P<fraction>\.\d{1,9})?"
)
_NO_LIMIT: Final = ("", "unlimited", "partition_limit", "invalid", "none", "unknown", "not_set")
_SIZE: Final = re.compile(r"(?P<amount>\d{1,18}(?:\.\d{1,9})?)(?P<unit>[KMGTP]?)(?P<per>[cn]?)")
_MIB: Final = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
_COUNT: Final = re.compile(r"\d{1,9}(?:\.\d{1,6})?")
_BRACKETS: Final = re.compile(r"\([^()]*\)")
_GPU: Final = "gres/gpu"
MAX_SERVERS: Final = 300_000
"""Maximum number of names in a list of servers."""
_PART: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
MAX_TASKS: Final = 1_000_000
"""Maximum number of tasks of one array; Slurm itself allows four times as many."""


@dataclass(frozen=True)
class Resources:
    """Total resources of a job or server.

    ``gpus``: number of GPUs; NaN if it cannot be read.
    ``types``: GPU types, if they are named.
    ``cpus``, ``memory_mib``, ``nodes``: NaN where unknown.
    ``shards``: number of shards; the site defines how many a GPU has.
    """

    gpus: float = 0.0
    types: tuple[str, ...] = ()
    cpus: float = math.nan
    memory_mib: float = math.nan
    nodes: float = math.nan
    shards: float = 0.0


def duration_s(text: str) -> float:
    """Return the seconds of ``D-HH:MM:SS``, ``HH:MM:SS`` or ``MM:SS``, with or without fraction.

    After days, parts are hours, minutes and seconds from the left; a single number is minutes.
    Infinite if there is no limit, NaN if it cannot be read.
    """
    text = text.strip()
    if text.lower() in _NO_LIMIT:
        return math.inf
    found = _DURATION.fullmatch(text)
    if found is None:
        return math.nan
    parts = [int(part) for part in found["parts"].split(":")]
    if found["days"] is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    elif len(parts) == 1:
        hours, minutes, seconds = 0, parts[0], 0
    else:
        hours, minutes, seconds = (0, *parts)[-3:]
    whole = ((int(found["days"] or 0) * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole + float(found["fraction"] or 0)


def memory_mib(text: str, *, cpus: float = math.nan, nodes: float = math.nan) -> float:
    """Return the MiB of ``64G``, ``500000M``, ``4Gc`` (for each CPU) or ``4Gn`` (for each node).

    A plain number is MiB. NaN if it cannot be read, or is per CPU or node of an unknown number.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        return math.nan
    times = {"c": cpus, "n": nodes, "": 1.0}[found["per"]]
    return float(found["amount"]) * _MIB[found["unit"]] * times


def of_tres(text: str) -> Resources:
    """Read ``cpu=64,mem=512G,node=2,gres/gpu=8,gres/gpu:a100=8``.

    If GPUs are listed both with and without a type, the count without type is the total.
    """
    counts: dict[str, str] = {}
    for entry in text.split(","):
        name, mark, value = entry.strip().partition("=")
        if mark:
            counts[name.lower() if not name.lower().startswith(f"{_GPU}:") else name] = value
    typed = {
        name[len(_GPU) + 1 :]: _count(value)
        for name, value in counts.items()
        if name.lower().startswith(f"{_GPU}:") and _count(value) != 0
    }
    gpus = _count(counts[_GPU]) if _GPU in counts else math.fsum(typed.values())
    return Resources(
        gpus,
        tuple(sorted(typed)),
        _count(counts.get("cpu", "")),
        memory_mib(counts.get("mem", "")),
        _count(counts.get("node", "")),
        max(0.0, _count(counts.get("gres/shard", "0"))),
    )


def of_gres(text: str) -> Resources:
    """Read the GPUs of ``gpu:2``, ``gpu:a100:4(S:0-1)``, ``gres:gpu:1`` or ``gres/gpu:a100=4``."""
    counts = gpus_by_type(text)
    types = sorted(name for name, count in counts.items() if name and count != 0)
    return Resources(math.fsum(counts.values()), tuple(types))


def gpus_by_type(text: str) -> dict[str, float]:
    """Return the numbers of GPUs by type ("" for none), in the order of the text."""
    found: dict[str, float] = {}
    for entry in _BRACKETS.sub("", text).split(","):
        words = re.split(r"[:=]", re.sub(r"^gres[:/]", "", entry.strip()))
        if words[0].lower() != "gpu":
            continue
        given = [word for word in words[1:] if word and word != "no_consume"]
        has_count = bool(given) and given[-1].isdigit()
        count = _count(given[-1]) if has_count else 1.0
        name = given[: len(given) - has_count]
        of_type = name[0] if name else ""
        found[of_type] = found.get(of_type, 0.0) + (count if len(name) < 2 else math.nan)
    return found


def _count(text: str) -> float:
    return float(text) if _COUNT.fullmatch(text.strip()) else math.nan


def number(value: Any) -> Any:
    """Return a number, None if it is not set, infinity if it is unlimited.

    Later versions write ``{"set": true, "infinite": false, "number": 60}``. Other values are
    returned unchanged.
    """
    if not isinstance(value, Mapping) or "number" not in value:
        return value
    if value.get("infinite") is True:
        return math.inf
    return value["number"] if value.get("set", True) is not False else None


def states(value: Any) -> frozenset[str]:
    """Return the state and its flags in capitals, from a text or a list of texts."""
    given = value if isinstance(value, list) else [value]
    return frozenset(state.strip().upper() for state in given if isinstance(state, str))


def count(value: Any) -> float:
    """Return a number as :func:`number` does; NaN for other values."""
    plain = number(value)
    is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
    return float(plain) if is_number else math.nan


def tasks(text: str) -> list[int] | None:
    """Return the tasks of ``1-10%2`` or ``1,3,5-9:2``; None if unreadable or too many."""
    found: list[int] = []
    for numbers in _ranges(text.partition("%")[0]):
        if numbers is None or len(found) + len(numbers) > MAX_TASKS:
            return None
        found += numbers
    return found


def _ranges(text: str) -> Iterator[range | None]:
    for part in text.split(","):
        ends, _, step = part.strip().partition(":")
        first, mark, last = ends.partition("-")
        words = [first, last or first, step or "1"]
        if (mark and not last) or not all(word.isdecimal() and len(word) < 10 for word in words):
            yield None
            return
        begin, end, by = map(int, words)
        yield range(begin, end + 1, by) if by and begin <= end else None


def names_of(text: str) -> list[str]:
    """Return the servers of ``gpu[01-03,07],login``."""
    found: list[str] = []
    for entry in re.split(r",(?![^\[]*\])", text.strip()):
        parts: list[list[str]] = []
        place = 0
        for match in _PART.finditer(entry):
            if match.start() != place:
                break
            place = match.end()
            parts.append([match[2]] if match[2] is not None else _numbers(match[1], text))
        count = 1
        for part in parts:
            count *= len(part)
        if place != len(entry) or not parts or len(found) + count > MAX_SERVERS:
            raise ValueError(f"nodes: {text[:80]!r} must be a list of servers")
        found += map("".join, product(*parts))
    return found


def _numbers(text: str, whole: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        first, mark, last = part.strip().partition("-")
        last = last if mark else first
        if not (first.isdecimal() and last.isdecimal()) or max(len(first), len(last)) > 9:
            raise ValueError(f"nodes: {whole[:80]!r} must be a list of servers")
        numbers = range(int(first), int(last) + 1)
        if len(found) + len(numbers) > MAX_SERVERS:
            raise ValueError(f"nodes: {whole[:80]!r} must be a list of servers")
        found += [str(number).zfill(len(first)) for number in numbers]
    return found
