"""Registry of state formats. Each is one file in ``formats/`` that ends by registering itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpusched.base.files import naming
from gpusched.base.registry import Registry, told
from gpusched.base.source import AnyFile, Source
from gpusched.base.suggest import nearest
from gpusched.online.cluster_state import ClusterState


@dataclass(frozen=True)
class StateFormat:
    """How files with a cluster state are recognised and read.

    Attributes
    ----------
    name, summary, source
        The format's name, a sentence on what it is, and where it comes from.
    detection
        How it is recognised, in words.
    recognises
        Whether files look like this format, judged by their beginnings.
    read
        ``read(sources, **options) -> ClusterState``.
    excerpt
        A small artificial example: ``excerpt()`` gives files by name.
    options
        Names of the options that ``read`` takes.
    rank
        Formats are tried in this order, then by name.
    """

    name: str
    summary: str
    source: str
    detection: str
    recognises: Callable[[Sequence[Source]], bool]
    read: Callable[..., ClusterState]
    excerpt: Callable[[], Mapping[str, bytes]]
    options: tuple[str, ...] = ()
    rank: int = 0


STATE_FORMATS: Final[Registry[StateFormat]] = Registry(
    "state format", "gpusched.online.states.formats", order=lambda known: known.rank
)


def register_state_format(added: StateFormat) -> None:
    """Add a state format to :func:`gpusched.online.read_state` and the command line."""
    told(
        "state format", added.name,
        summary=added.summary, source=added.source, detection=added.detection,
    )  # fmt: skip
    STATE_FORMATS.add(added.name, added)


def state_formats() -> dict[str, StateFormat]:
    """All state formats by name, in the order in which they are tried."""
    return STATE_FORMATS.all()


def detect(sources: Sequence[Source]) -> StateFormat:
    """Return the first format that recognises the files."""
    known = state_formats()
    for asked in known.values():
        if asked.recognises(sources):
            return asked
    named = ", ".join(map(str, sources))
    raise ValueError(f"{named}: unknown format of a cluster state; known: {', '.join(known)}")


ENDINGS: Final = (".json", ".yaml", ".yml")
"""File endings that are read from a folder."""


def read_state(
    path: AnyFile | Sequence[AnyFile],
    format: str | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> ClusterState:
    """Read a cluster state: gpusched's JSON (:func:`state_schema`), Slurm's or Kueue's.

    Parameters
    ----------
    path
        A file, several files on one cluster, or a folder, in which all files that end in ``.json``,
        ``.yaml`` or ``.yml`` are read.
    format
        ``"gpusched"``, ``"slurm"`` or ``"kueue"``; default: detected from the files.
    max_bytes
        Maximum size of a file; default: 4 GiB.
    options
        Options of the format: ``now``, ``unlimited_s`` and ``partition`` (slurm); ``now``,
        ``unlimited_s``, ``queue``, ``resource`` and ``gpus_per_server`` (kueue).

    Returns
    -------
    ClusterState
        With the jobs in order of submission, then of the file. ``state.jobs.rejects`` counts
        left-out jobs; ``state.jobs.notes`` has further remarks.

    Raises
    ------
    ValueError
        If no format is recognised, a file is malformed, a field is unknown, missing, of a wrong
        type or out of range, or the state is impossible; the message names file and field.
    TypeError
        If the format has no such option.
    OSError
        If a file cannot be read.
    ImportError
        If a file is YAML and the library for it is missing.

    Examples
    --------
    >>> job = '{"id": "a", "submit_s": 0, "gpus": 4, "service_s": 60}'
    >>> servers = '{"servers": [{"count": 2, "gpus": 8}]}'
    >>> with open("cluster.json", "w") as file:
    ...     _ = file.write(f'{{"now_s": 5, "cluster": {servers}, "jobs": [{job}]}}')
    >>> gs.decide(gs.online.read_state("cluster.json")).what.tolist()
    ['start']
    """
    is_one = isinstance(path, str | os.PathLike) or hasattr(path, "read")
    given: list[Any] = [path] if is_one else list(path)  # type: ignore[arg-type]
    files = [file for each in given for file in _files(each)]
    if not files:
        raise ValueError("read_state: at least one file is needed")
    sources = [Source(file, max_bytes=max_bytes) for file in files]
    with naming(", ".join(map(str, sources)), "not a readable cluster state"):
        reader = detect(sources) if format is None else STATE_FORMATS.find(format)
        for name in options:
            if name not in reader.options:
                known = nearest(name, reader.options) if reader.options else "; it has none"
                raise TypeError(
                    f"{sources[0]}: format {reader.name!r} has no option {name!r}{known}"
                )
        return reader.read(sources, **options)


def _files(given: Any) -> list[Any]:
    """Return the files of a folder, or the file itself."""
    if not isinstance(given, str | os.PathLike) or not os.path.isdir(given):
        return [given]
    found = sorted(file for file in Path(given).iterdir() if file.suffix.lower() in ENDINGS)
    if not found:
        raise ValueError(f"{os.fspath(given)}: no file in the folder ends in {', '.join(ENDINGS)}")
    return found
