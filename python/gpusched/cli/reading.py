"""Options of every command that reads a trace: which part of which file, and how much at most."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

from gpusched.cli.console import remark

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_PANEL: Final = "Workload"


@dataclass(frozen=True)
class Reading:
    """What a command was told of reading its trace beside the format, its columns and options."""

    member: Annotated[
        str | None,
        typer.Option(
            "--member", metavar="NAME", help="Which file of an archive of several is the trace.",
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
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME",
            help="Leave out jobs submitted before: seconds after the first one, or a time such as "
            "[bold]2024-05-01T09:00[/] where TRACE has dates.",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip
    until: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="TIME", help="Leave out jobs submitted then or later.",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip
    filter: Annotated[
        str | None,
        typer.Option(
            "--filter", metavar="CONDITION",
            help="Take the jobs for which this holds, in SQL: "
            "[bold]\"gpus >= 8 and user != 'x'\"[/].",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip
    sample: Annotated[
        float | None,
        typer.Option(
            "--sample", metavar="X",
            help="Take this part of the jobs, drawn with --seed; the load falls with it.",
            show_default=False, rich_help_panel=_PANEL,
        ),
    ] = None  # fmt: skip

    @property
    def first(self) -> str:
        """The first option that was given."""
        given = (field.name for field in fields(self) if getattr(self, field.name) is not None)
        name = next(given, "").replace("_", "-")
        return f"--{ {'since': 'from', 'until': 'to'}.get(name, name) }"

    def cut(self, trace: Trace, seed: int) -> Trace:
        """Return the part of ``trace`` that was asked for: by time, condition and chance.

        Its first submit is second 0, as that of a file is.
        """
        from gpusched.traces.intake.cuts import told

        before = trace
        how: dict[str, str] = {}
        if self.since is not None or self.until is not None:
            trace = trace.between(self.since, self.until).rebased()
            limits = {"--from": self.since, "--to": self.until}
            how |= {option: value for option, value in limits.items() if value is not None}
        if self.filter is not None:
            trace = trace.filter(self.filter).rebased()
            how["--filter"] = self.filter
        if self.sample is not None:
            trace = trace.sample(self.sample, seed).rebased()
            how["--sample"] = f"{self.sample:g}"
        if how:
            remark([told(before, trace, how)], style="yellow")
        return trace


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
