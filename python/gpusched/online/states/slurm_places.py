"""Where jobs of Slurm run: lists of servers, and the GPUs that they hold on each."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gpusched.traces import slurm_json
from gpusched.traces import slurm_values as slurm
from gpusched.traces.json_records import text_of

MAX_SERVERS: Final = 300_000
"""Names that one list may stand for."""
_PART: Final = re.compile(r"\[([^\[\]]*)\]|([^\[\],]+)")
_DETAIL: Final = re.compile(r"\bgpu(?::[^:(,]+)*:(\d{1,4})\(IDX:([^()]*)\)")


class Place(NamedTuple):
    """What a job holds on one server: which GPUs, or None and how many."""

    server: str
    gpus: int
    mask: int | None


def places_of(job: Mapping[str, Any], gpus: int) -> list[Place]:
    """Return the servers of a job that has so many GPUs, and what it holds on each.

    Raises
    ------
    ValueError
        If the servers cannot be read, or it is not told how its GPUs are spread over them.
    """
    servers = _servers_of(job)
    details = job.get("gres_detail")
    if isinstance(details, list) and len(details) == len(servers):
        found = [
            Place(server, *_of_detail(text_of(detail)))
            for server, detail in zip(servers, details, strict=True)
        ]
        if sum(place.gpus for place in found) == gpus:
            return [place for place in found if place.gpus]
    if servers and gpus % len(servers) == 0:
        return [Place(server, gpus // len(servers), None) for server in servers]
    raise ValueError(
        f"gres_detail: {str(details)[:80]!r} does not tell how {gpus} GPUs are spread over "
        f"{len(servers)} servers"
    )


def in_use(used: str) -> tuple[int, int]:
    """Return which GPUs ``gpu:a100:2(IDX:0-1),gpu:v100:1(IDX:4)`` names, and how many they are."""
    count, mask = _of_detail(used)
    return mask or 0, count


def names_of(text: str) -> list[str]:
    """Return the servers of ``gpu[01-03,07],login``.

    Raises
    ------
    ValueError
        If it cannot be read, or stands for more than 300,000.
    """
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
            raise ValueError(f"nodes: {text[:80]!r} is no list of servers")
        found += map("".join, itertools.product(*parts))
    return found


def _servers_of(job: Mapping[str, Any]) -> list[str]:
    resources = job.get("job_resources")
    held = resources.get("nodes") if isinstance(resources, Mapping) else None
    if isinstance(held, Mapping):
        listed = held.get("allocation")
        if isinstance(listed, list) and listed:
            return [text_of(each.get("name")) for each in listed if isinstance(each, Mapping)]
        held = held.get("list")
    return names_of(text_of(held) or text_of(job.get("nodes")))


def _numbers(text: str, whole: str) -> list[str]:
    found: list[str] = []
    for part in text.split(","):
        first, mark, last = part.strip().partition("-")
        last = last if mark else first
        if not (first.isdecimal() and last.isdecimal()) or max(len(first), len(last)) > 9:
            raise ValueError(f"nodes: {whole[:80]!r} is no list of servers")
        numbers = range(int(first), int(last) + 1)
        if len(found) + len(numbers) > MAX_SERVERS:
            raise ValueError(f"nodes: {whole[:80]!r} is no list of servers")
        found += [str(number).zfill(len(first)) for number in numbers]
    return found


def _of_detail(text: str) -> tuple[int, int | None]:
    """Return how many GPUs, and which; None where that is not told."""
    text = text.replace("(null)", "null")  # a type that has no name
    count, mask = 0, 0
    for given, numbers in _DETAIL.findall(text):
        listed = slurm_json.tasks(numbers) if numbers.strip() else []
        named = set(listed) if listed is not None and max(listed, default=0) < 64 else set()
        if len(named) != int(given):
            mask = -1
        count += int(given)
        mask = mask if mask < 0 else mask | sum(1 << number for number in named)
    if count:
        return count, mask if mask >= 0 else None
    gpus = slurm.of_gres(text).gpus
    return (int(gpus) if gpus == gpus else 0), None
