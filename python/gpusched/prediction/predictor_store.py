"""Trained models as files: plain arrays with a JSON header in a :mod:`gpusched.base.container`.

Nothing in such a file is ever run. Types, shapes and ranges are for the reader of the arrays to
check.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

import msgspec

from gpusched.base import container
from gpusched.base.arrays import AnyArray

KIND: Final = container.Kind("gpusched-predictor", 2)


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a file says of itself: the predictor as text, and the names of the labels."""

    predictor: str
    names: dict[str, tuple[str, ...]]
    features: tuple[str, ...]


def write_model(
    path: str | os.PathLike[str], header: Header, arrays: Mapping[str, AnyArray]
) -> None:
    """Write a model; a file that is already there is replaced only by a complete one."""
    container.write(path, KIND, msgspec.json.encode(header), arrays)


def read_model(
    path: str | os.PathLike[str], *, max_bytes: int | None = None
) -> tuple[Header, dict[str, AnyArray]]:
    """Read the header and the arrays, whose types and shapes the caller has still to check.

    Raises
    ------
    ValueError
        If the file is anything else, or was changed; the message names the member.
    """
    encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
    return msgspec.json.decode(encoded, type=Header, strict=True), arrays
