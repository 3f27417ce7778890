"""TOML text to objects, without what would take a decoder very long."""

from __future__ import annotations

import re
from typing import Final, TypeVar

import msgspec

Decoded = TypeVar("Decoded")

MAX_PARTS: Final = 1_000
"""Parts of a dotted key; the time to decode one grows with the square of their number."""
# Between these stands a key, or a value, whose points then are not those of a key.
_EDGES: Final = re.compile(r"[=,\n]")


def decode_toml(text: str | bytes, type: type[Decoded]) -> Decoded:
    """Decode TOML strictly.

    Raises
    ------
    msgspec.MsgspecError, ValueError
        If it is not TOML, not of this type, or a key has more than :data:`MAX_PARTS` parts.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if text.count(".") > MAX_PARTS:
        most = max(piece.count(".") for piece in _EDGES.split(text)) + 1
        if most > MAX_PARTS:
            raise ValueError(f"a key of {most:,} parts; it may have {MAX_PARTS:,}")
    return msgspec.toml.decode(text, type=type, strict=True)
