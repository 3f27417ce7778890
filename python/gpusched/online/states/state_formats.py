"""The formats of states. A new one is one file in ``formats/`` that ends in its registration."""

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
    """How the files that tell of a cluster are recognised and read.

    Attributes
    ----------
    name, summary, source
        The format's name, a sentence on what it is, and where it comes from.
    detection
        What it is recognised by, in words.
    recognises
        Whether files look like this format, judged by their beginnings.
    read
        ``read(sources, **options) -> ClusterState``.
    excerpt
        A small example of our own making: ``excerpt()`` gives files by name.
    options
        Names of the options that ``read`` takes.
    rank
        Formats are asked in this order, then by name.
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
    """Add a format of states, which :func:`gpusched.online.read_state` and the command then know.

    Raises
    ------
    ValueError
        If its name is taken or a text is missing.
    """
    told(
        "state format", added.name,
        summary=added.summary, source=added.source, detection=added.detection,
    )  # fmt: skip
    STATE_FORMATS.add(added.name, added)


def state_formats() -> dict[str, StateFormat]:
    """Every format of states by name, in the order in which they are asked."""
    return STATE_FORMATS.all()


def detect(sources: Sequence[Source]) -> StateFormat:
    """Return the first format that recognises the files.

    Raises
    ------
    ValueError
        If none does.
    """
    known = state_formats()
    for asked in known.values():
        if asked.recognises(sources):
            return asked
    named = ", ".join(map(str, sources))
    raise ValueError(f"{named}: no known format of states; known: {', '.join(known)}")


ENDINGS: Final = (".json", ".yaml", ".yml")
"""Of the files that are read of a folder."""


def read_state(
    path: AnyFile | Sequence[AnyFile],
    format: str | None = None,
    *,
    max_bytes: int | None = None,
    **options: Any,
) -> ClusterState:
    """Read a cluster's state: ours (:func:`state_schema`), Slurm's or Kueue's.

    Parameters
    ----------
    path
        A file, several that tell of one cluster, or a folder, of which all files are taken that end
        in ``.json``, ``.yaml`` or ``.yml``.
    format
        ``"gpusched"``, ``"slurm"`` or ``"kueue"``; default: found by looking.
    max_bytes
        A longer file is refused before it is read; default: 4 GiB.
    options
        Of the format: ``now``, ``unlimited_s`` and ``partition`` (slurm); ``now``, ``unlimited_s``,
        ``queue``, ``resource`` and ``gpus_per_server`` (kueue).

    Returns
    -------
    ClusterState
        With the jobs in the order of their submission, then of the file. What was left out is
        counted in ``state.jobs.rejects``; what else a reader should know stands in
        ``state.jobs.notes``.

    Raises
    ------
    ValueError
        If no format is recognised, a file is not what it should be, a field is unknown, missing, of
        another type or out of its range, or the state cannot be; the message names the file and the
        field.
    TypeError
        If the format has no such option.
    OSError
        If a file cannot be read.
    ImportError
        If a file is YAML, and no library can read that.

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
        raise ValueError("read_state: no file is named")
    sources = [Source(file, max_bytes=max_bytes) for file in files]
    with naming(", ".join(map(str, sources)), "not a readable state of a cluster"):
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
