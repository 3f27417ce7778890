"""The formats of states. A new one is one file in ``formats/`` that ends in its registration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from gpusched.base.registry import Registry, told
from gpusched.base.source import Source
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
