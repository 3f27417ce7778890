"""The command ``gpusched``: one file per command, all of them thin."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, get_args

import msgspec
import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from gpusched.base.early_interrupts import hand_over, is_interrupt, leave, listen
from gpusched.cli.errors import INTERRUPTED, explain, warn_in_a_line

GROUP: Final = "gpusched.commands"
"""The entry points by which other distributions give a command that is listed here."""


class Command(msgspec.Struct, frozen=True):
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
        app.command(name, cls=PlainCommand, epilog=epilog)(expanded(function))
        return get_command(app)


_TYPERS: Final = object()
_NUMBERS: Final = {int: "an integer", float: "a number"}


class PlainCommand(TyperCommand):
    """A command of which plain values are taken as they are; see :func:`taking_plain_values`."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters."""
        return taking_plain_values(super().get_params(ctx))


def taking_plain_values(params: Any) -> Any:
    """Have texts, paths and numbers read here; typer loads pydantic, for a quarter of a second.

    What is anything else is left to typer; so is all where its own way of asking for a value is
    another.
    """
    for param in params:
        if getattr(param, "_runtime_param", _TYPERS) is None:
            param._runtime_param = _Plain()
    return params


class _Plain:
    """Takes the place of what typer makes for each parameter, until that is needed."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        is_list = param.multiple or param.nargs == -1
        if value is None:
            return () if is_list else None
        told, kind = param.type_descriptor.parameter_info, param.type_descriptor.annotation
        try:
            if is_list and isinstance(value, list | tuple):
                made = [_plain(one, get_args(kind)[0], told) for one in value]
                if _TYPERS not in made:
                    return made
            elif (one := _plain(value, kind, told)) is not _TYPERS:
                return one
        except typer.BadParameter as error:
            error.ctx, error.param = ctx, param
            raise
        param._runtime_param = None
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)


def _plain(value: Any, kind: Any, told: Any) -> Any:
    """The value of an option that is a text, a path or a number, or that it is for typer."""
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and not (os.path.exists(value) and not os.access(value, os.R_OK)):
        return Path(value)  # no option of ours asks for more of a path
    return _number(value, kind, told) if kind in _NUMBERS else _TYPERS


def _number(value: Any, kind: Any, told: Any) -> Any:
    """Read a number that stands between the bounds of its option."""
    number = value
    if told.parser is not None:
        try:
            number = told.parser(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
    elif isinstance(value, str):
        try:
            number = kind(re.sub(r"\.0*$", "", value.strip()))
        except ValueError:
            raise typer.BadParameter(f"{value!r} must be {_NUMBERS[kind]}") from None
    if told.min is not None and not number >= told.min:
        raise typer.BadParameter(f"{value} must be at least {told.min}")
    if told.max is not None and not number <= told.max:
        raise typer.BadParameter(f"{value} must be at most {told.max}")
    return kind(number)


class LazyCommands(TyperGroup):
    """A group whose ``entries`` are listed by their lines, and imported one by one.

    Mistakes are a line instead of a box or a traceback; with GPUSCHED_TRACEBACK set in the
    environment, the traceback is shown after all.
    """

    entries: ClassVar[Mapping[str, Command]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # These are for lists, and for what is suggested after a mistake.
        for name, entry in self.entries.items():
            self.commands[name] = TyperCommand(name, help=entry.help, callback=_never)

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters of the group itself."""
        return taking_plain_values(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names, in the order in which they shall be read."""
        return list(self.entries)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments begin with, and import it."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and name in self.entries:
            command = self.entries[name].load(name)
        return name, command, rest

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Parse ``args``, run the command and exit."""
        try:
            code = super().main(
                args, prog_name, complete_var, standalone_mode=False,
                windows_expand_args=windows_expand_args, **extra,
            )  # fmt: skip
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except Exception as error:
            code = INTERRUPTED if is_interrupt(error) else explain(error)
        sys.exit(code if isinstance(code, int) else 0)


class TraceCommands(LazyCommands):
    """All commands on traces."""

    entries = {  # noqa: RUF012 - read only
        "info": Command(
            "trace:info",
            "Show counts, times, widths, the load on a cluster, and what was left out.",
        ),
        "audit": Command(
            "trace:audit",
            "Say what is wrong or odd in a trace, with rows, and what it does to a study.",
        ),
        "anonymise": Command(
            "trace:anonymise",
            "Write a trace that can be sent: names as keyed hashes, times rounded.",
        ),
        "convert": Command(
            "trace:convert", "Read a trace and write it under gpusched's own names, or as SWF."
        ),
        "generate": Command(
            "trace:generate", "Generate a seeded synthetic workload for a cluster."
        ),
        "formats": Command(
            "trace:formats",
            "List the formats of traces: how each is recognised, its options, its source.",
        ),
    }


class Commands(LazyCommands):
    """All commands, in the order in which they are listed."""

    entries = {  # noqa: RUF012 - read only
        "compare": Command(
            "compare:compare", "Compare policies on one workload: a table, a report and all jobs."
        ),
        "run": Command("run:run", "Run one policy and print what it achieved."),
        "sweep": Command(
            "sweep:sweep",
            "Do all runs of a study, kept as they come: a table, a report, Parquet files.",
        ),
        "tune": Command(
            "tune:tune", "Search the options of policies, and judge the best on jobs held out."
        ),
        "size": Command(
            "size:size", "Find the fewest servers that meet a goal, or the cheapest mix."
        ),
        "fidelity": Command(
            "fidelity:fidelity",
            "Find the policy and the capacity that explain a trace's own waits, and grade them.",
        ),
        "whatif": Command(
            "whatif:whatif",
            "Tell what changes of policy, servers or load would do, and how far to trust that.",
        ),
        "decide": Command(
            "decide:decide", "Tell what a policy would do now on a cluster as it is."
        ),
        "when": Command("decide:when", "Tell when a job that waits would start, and on what."),
        "export": Command(
            "export:export",
            "Write a saved result as a timeline, as Batsim's jobs or as a log.",
        ),
        "reproduce": Command(
            "gpusched-papers",
            "Run a paper's experiments again, with the published figures beside ours.",
            is_apart=True,
        ),
        "trace": Command("", "Look at traces, convert them and make them.", group=TraceCommands),
        "policies": Command(
            "policies:policies",
            "List policies, placements, speeds, contentions and predictors, with their parameters.",
        ),
        "metrics": Command(
            "policies:metrics",
            "List the metrics of a result and the bounds behind its gaps, with their definitions.",
        ),
    }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command and import it; from then on it handles Ctrl-C itself."""
        found = super().resolve_command(ctx, args)
        hand_over()
        return found


app = typer.Typer(
    name="gpusched",
    cls=Commands,
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _import(plug_ins: list[str]) -> None:
    """Import files and modules, which register policies, placements, predictors or metrics."""
    for place in plug_ins:
        try:
            if place.endswith(".py"):
                path = Path(place)
                spec = spec_from_file_location(path.stem, path)
                assert spec is not None  # of a name in .py
                assert spec.loader is not None
                module = sys.modules[path.stem] = module_from_spec(spec)
                spec.loader.exec_module(module)
            else:
                import_module(place)
        except Exception as error:
            raise ValueError(f"--import {place}: {type(error).__name__}: {error}") from error


def _print_version(wanted: bool) -> None:
    if wanted:
        from gpusched import __version__

        typer.echo(f"gpusched {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Data goes to stdout, progress and remarks to stderr. "
    "Exit codes: 0 done, 1 an audit failed, 2 a mistake in the input, 130 interrupted."
)
def gpusched(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_print_version, is_eager=True),
    ] = False,
    plug_ins: Annotated[
        list[str] | None,
        typer.Option(
            "--import",
            metavar="FILE.py|MODULE",
            help="Import your own policies, placements, predictors or metrics first. "
            "May be repeated.",
        ),
    ] = None,
) -> None:
    """Simulate schedulers of GPU clusters, a million jobs at a time.

    Start with [bold]gpusched compare[/]: it needs no input.
    """
    _import(plug_ins or [])


def main() -> None:
    """Run the command line and exit."""
    # A reader that has seen enough (`| head`) ends the program without a word, as in C.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a mark that cannot be shown is no failure
    warn_in_a_line()
    sys.unraisablehook = _leave_or_tell
    try:
        app()
    except SystemExit as done:
        if done.code == INTERRUPTED:
            leave()  # Python would wait for every thread; a run in the core may still be busy
        listen()
        raise
    except BaseException as error:
        if is_interrupt(error):
            leave()
        raise


def _leave_or_tell(unraisable: Any) -> None:
    """Leave where Ctrl-C came while an object was taken apart, which nobody is told of."""
    if is_interrupt(unraisable.exc_value):
        leave()
    sys.__unraisablehook__(unraisable)


def _entry_point(name: str, distribution: str) -> Any:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        return point.load()
    raise ImportError(f"gpusched {name} is part of {distribution}: pip install {distribution}")


def _nothing() -> None:
    """What a group does before its commands."""


def _never() -> None:
    raise AssertionError("a command that was not imported is never called")
