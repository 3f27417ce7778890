"""Faults that cannot change what anybody sees: no test can notice them."""

import tomllib
from functools import cache
from pathlib import Path

FILE = Path(__file__).with_name("equivalent.toml")


@cache
def reasons() -> dict[tuple[str, str], str]:
    """Return why a fault changes nothing, by the file and the line as the fault leaves it."""
    faults = tomllib.loads(FILE.read_text())["fault"]
    return {(fault["file"], fault["after"]): fault["why"] for fault in faults}


def reason_of(file: str, after: str) -> str:
    """Return why a fault changes nothing, or "" if it is not known to."""
    return reasons().get((file, after.strip()), "")
