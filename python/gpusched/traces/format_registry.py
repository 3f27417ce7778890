"""The readers. A new format is one new file in ``formats/`` that ends in one ``register(...)``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

from gpusched.base.source import Source
from gpusched.base.suggest import nearest
from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Reader:
    """How one format is recognised and read.

    Attributes
    ----------
    name, summary
        The format's name, and a sentence on what it is.
    recognises
        Whether a file looks like this format, judged by its beginning.
    read
        ``read(source, on_bad=..., **options) -> Trace``.
    options
        Names of the options that ``read`` takes.
    rank
        Readers are asked in this order, then by name; generic ones come last.
    """

    name: str
    summary: str
    recognises: Callable[[Source], bool]
    read: Callable[..., Trace]
    options: tuple[str, ...] = ()
    rank: int = 0


_READERS: Final[dict[str, Reader]] = {}


def register(reader: Reader) -> None:
    """Add ``reader``; a second one of the same name is an error."""
    if reader.name in _READERS:
        raise ValueError(f"format {reader.name!r} is registered twice")
    _READERS[reader.name] = reader


def readers() -> dict[str, Reader]:
    """Return all readers by name, in the order in which they are asked."""
    _load_all()
    ranked = sorted(_READERS.values(), key=lambda reader: (reader.rank, reader.name))
    return {reader.name: reader for reader in ranked}


def find(name: str) -> Reader:
    """Return the reader of format ``name``.

    Raises
    ------
    ValueError
        If there is none; the message suggests the nearest name.
    """
    known = readers()
    if name not in known:
        raise ValueError(f"format: unknown format {name!r}{nearest(name, list(known))}")
    return known[name]


def detect(source: Source) -> Reader:
    """Return the first reader that recognises ``source``.

    Raises
    ------
    ValueError
        If none does.
    """
    for reader in readers().values():
        if reader.recognises(source):
            return reader
    raise ValueError(
        f"{source}: no known format begins with {source.first_line[:60]!r}; "
        f"known: {', '.join(readers())}"
    )


@cache
def _load_all() -> None:
    package = importlib.import_module("gpusched.traces.formats")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"gpusched.traces.formats.{module.name}")
