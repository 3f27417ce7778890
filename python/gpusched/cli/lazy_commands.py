"""Commands that are imported when they run, and are known by a line until then."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Final

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

GROUP: Final = "gpusched.commands"
"""The entry points by which other distributions give a command that is listed here."""


@dataclass(frozen=True)
class Command:
    """Where a command is, and what it says of itself.

    Attributes
    ----------
    home
        ``module:function``, below ``gpusched.cli``. The module's ``EPILOG`` stands below its help,
        or its own, ``FUNCTION_EPILOG``, where a module has several commands.
    help
        The first line of its help.
    is_apart
        Whether another distribution has it: ``home`` is then the distribution's name, and its entry
        point in :data:`GROUP` is the function.
    group
        The commands below it, if it is a group.
    """

    home: str
    help: str
    is_apart: bool = False
    group: type[LazyCommands] | None = None

    def load(self, name: str) -> Any:
        """Import it.

        Raises
        ------
        ImportError
            If it is part of a distribution that is not installed.
        """
        from gpusched.cli.options import expanded

        app = typer.Typer(rich_markup_mode="rich", add_completion=False)
        if self.group is not None:
            app.callback(
                cls=self.group, help=self.help, no_args_is_help=True,
                context_settings={"help_option_names": ["-h", "--help"]},
            )(_nothing)  # fmt: skip
            return get_command(app)
        if self.is_apart:
            function = _entry_point(name, self.home)
            module = sys.modules[function.__module__]
        else:
            place, _, attribute = self.home.partition(":")
            module = import_module(f"gpusched.cli.{place}")
            function = getattr(module, attribute)
        own = f"{function.__name__.upper()}_EPILOG"
        epilog = getattr(module, own) if hasattr(module, own) else module.EPILOG
        app.command(name, epilog=epilog)(expanded(function))
        return get_command(app)


class LazyCommands(TyperGroup):
    """A group whose ``entries`` are listed by their lines, and imported one by one."""

    entries: ClassVar[Mapping[str, Command]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # These are for lists, and for what is suggested after a mistake.
        for name, entry in self.entries.items():
            self.commands[name] = TyperCommand(name, help=entry.help, callback=_never)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order in which they shall be read."""
        return list(self.entries)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments begin with, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.entries:
            command = self.entries[name].load(name)
        return name, command, rest


def _entry_point(name: str, distribution: str) -> Any:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        return point.load()
    raise ImportError(f"gpusched {name} is part of {distribution}: pip install {distribution}")


def _nothing() -> None:
    """What a group does before its commands."""


def _never() -> None:
    raise AssertionError("a command that was not imported is never called")
