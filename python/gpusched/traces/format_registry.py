"""Registry of trace formats. Each is one file in ``formats/`` that ends by registering itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from gpusched.base.registry import Registry, told
from gpusched.base.source import Source
from gpusched.traces.workload import Trace

Excerpt = Callable[[], Mapping[str, bytes]]
"""Files by name: first the trace, then those in the same folder."""


class TraceFormat(msgspec.Struct, frozen=True):
    """How files of one format are recognised, read and, if at all, written.

    Attributes
    ----------
    name, summary, source
        The format's name, a sentence on what it is, and where it comes from.
    detection
        How it is recognised, in words.
    recognises
        Whether a file looks like this format, judged by its beginning.
    read
        ``read(source, on_bad=..., **options) -> Trace``.
    excerpt
        A small artificial example: ``excerpt()`` gives files by name, the trace first.
    write
        ``write(trace, path)``; None if it is only read. ``path`` is a temporary file without the
        ending.
    losses
        ``losses(trace)``: what the format cannot hold of a trace, a sentence each.
    endings
        File endings that are written in this format, without the dot.
    aliases
        Other names of the format.
    options
        Names of the options that ``read`` takes.
    rank
        Formats are tried in this order, then by name; generic ones come last.
    """

    name: str
    summary: str
    source: str
    detection: str
    recognises: Callable[[Source], bool]
    read: Callable[..., Trace]
    excerpt: Excerpt
    write: Callable[[Trace, Path], None] | None = None
    losses: Callable[[Trace], list[str]] | None = None
    endings: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    rank: int = 0

    def write_excerpt(self, folder: Path) -> Path:
        """Write the example into ``folder`` and return the path of the trace."""
        files = self.excerpt()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return folder / next(iter(files))


FORMATS: Final[Registry[TraceFormat]] = Registry(
    "format", "gpusched.traces.formats", order=lambda known: known.rank
)


OWN_COLUMNS: Final = {"submit_s", "service_s"}
"""A CSV file with these columns is recognised without loading all formats."""


def register_trace_format(added: TraceFormat) -> None:
    """Add a trace format to :func:`gpusched.read_trace` and the command line."""
    told(
        "format", added.name, summary=added.summary, source=added.source, detection=added.detection
    )
    for alias in added.aliases:
        FORMATS.check_name(alias)
    if bool(added.endings) != (added.write is not None):
        raise ValueError(f"format {added.name}: write and endings must be given together")
    FORMATS.add(added.name, added)


def trace_formats() -> dict[str, TraceFormat]:
    """All trace formats by name, in the order in which they are tried."""
    return FORMATS.all()


def find(name: str) -> TraceFormat:
    """Return the format with this name or alias."""
    for known in FORMATS.own().values():
        if name in known.aliases:
            return known
    return FORMATS.find(name)


def detect(source: Source) -> TraceFormat:
    """Return the first format that recognises ``source``."""
    if set(source.header) >= OWN_COLUMNS:
        # Among our formats only this one has them; formats of other packages come first.
        for asked in FORMATS.among("generic_csv").values():
            if asked.recognises(source):
                return asked
    known = trace_formats()
    for asked in known.values():
        if asked.recognises(source):
            return asked
    raise ValueError(
        f"{source}: no known format begins with {source.first_line[:60]!r}; "
        f"known: {', '.join(known)}"
    )


def text_file(name: str, *lines: str) -> Excerpt:
    """Return an excerpt with one file of these lines."""
    return lambda: {name: "".join(f"{line}\n" for line in lines).encode()}


def excerpt_files(module: str, *names: str) -> Excerpt:
    """Return an excerpt: these files of the folder ``excerpts`` next to a module."""
    folder = Path(module).with_name("excerpts")
    return lambda: {name: (folder / name).read_bytes() for name in names}
