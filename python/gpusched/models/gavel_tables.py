"""Tables of throughputs as Gavel publishes them (Narayanan et al., OSDI 2020): JSON files."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import msgspec

from gpusched.base.files import naming
from gpusched.base.source import Source

_SCALED_KEY: Final = re.compile(r"\('([^']+)', ([1-9]\d{0,5})\)")
_BATCH: Final = re.compile(r".*\(batch size ([1-9]\d{0,8})\)")
UNCONSOLIDATED: Final = "_unconsolidated"


class Key(NamedTuple):
    """A key of a table: the job type, and its number of GPUs or None if it names none."""

    job_type: str
    gpus: int | None


def parse_key(text: str) -> Key:
    """Read ``('ResNet-18 (batch size 16)', 4)``, or the job type alone; nothing is evaluated."""
    scaled = _SCALED_KEY.fullmatch(text)
    return Key(scaled[1], int(scaled[2])) if scaled else Key(text, None)


def batch_size(job_type: str) -> int | None:
    """Return the batch size that a job type names, if it does."""
    named = _BATCH.fullmatch(job_type)
    return None if named is None else int(named[1])


def read_isolated(source: Source) -> dict[str, dict[Key, float | None]]:
    """Return steps per second of jobs that share no GPU, by GPU type as the file calls it.

    None where a job was measured beside a partner only.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If it is no such table; the message names it.
    """
    with naming(source):
        tables = msgspec.json.decode(source.text, type=dict[str, dict[str, dict[str, Any]]])
    return {
        gpu_type: {
            parse_key(key): _number(f"{source}: {gpu_type!r}, {key!r}", entry.get("null"))
            for key, entry in table.items()
        }
        for gpu_type, table in tables.items()
    }


def _number(place: str, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{place}: the throughput must be below 1.8e308") from None
