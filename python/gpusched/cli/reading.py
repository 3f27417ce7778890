"""Options of every command that reads a trace: which part of which file, and how much at most."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Annotated, Any, Final, get_type_hints

import typer

_PANEL: Final = "Workload"


@dataclass(frozen=True)
class Reading:
    """What a command was told of reading its trace beside the format, its columns and options."""

    member: Annotated[
        str | None,
        typer.Option(
            "--member", metavar="NAME", help="Which file of a zip archive of several is the trace.",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip
    max_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-bytes", metavar="N", min=1,
            help="Refuse files that have, or unpack to, more bytes. Default: 4 GiB, and 250 times "
            "the size of a packed file.",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip

    @property
    def first(self) -> str:
        """The first option that was given."""
        given = (field.name for field in fields(self) if getattr(self, field.name) is not None)
        return next(given, "")


DEFAULT: Final = Reading()


def reads_traces(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Reading`, and them to its parameter ``reading``."""
    own = inspect.signature(command)
    own_hints = get_type_hints(command, include_extras=True)
    hints = get_type_hints(Reading, include_extras=True)
    names = [field.name for field in fields(Reading)]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        taken = {name: given.pop(name) for name in names}
        command(**given, reading=Reading(**taken))

    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=getattr(DEFAULT, name),
            annotation=hints[name],
        )
        for name in names
    ]  # fmt: skip
    kept = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=own_hints[name])
        for name, parameter in own.parameters.items()
        if name != "reading"
    ]
    wrapper.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    shown = {name: kind for name, kind in own_hints.items() if name != "reading"}
    wrapper.__annotations__ = shown | {name: hints[name] for name in names}
    return wrapper
