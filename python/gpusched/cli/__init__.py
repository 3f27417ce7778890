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
"""The entry-point group through which other distributions provide commands listed here."""


class Command(msgspec.Struct, frozen=True):
    """A command: where its function is, and its help line.

    ``home``: ``module:function``, below ``gpusched.cli``. Its help ends with the module's
        ``EPILOG``, or with ``FUNCTION_EPILOG`` where a module has several commands.
    ``help``: the first line of its help.
    ``is_apart``: whether another distribution provides it: ``home`` is then that distribution's
        name, and its entry point in :data:`GROUP` is the function.
    ``group``: the group class, if the command has subcommands.
    """

    home: str
    help: str
    is_apart: bool = False
    group: type[LazyCommands] | None = None

    def load(self, name: str) -> Any:
        """Import the command."""
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
    """A command that parses plain values itself; see :func:`taking_plain_values`."""

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters."""
        return taking_plain_values(super().get_params(ctx))


def taking_plain_values(params: Any) -> Any:
    """Parse texts, paths and numbers without typer, which loads pydantic for a quarter of a second.

    Other types, and versions of typer that parse in another way, are left to typer.
    """
    for param in params:
        if getattr(param, "_runtime_param", _TYPERS) is None:
            param._runtime_param = _Plain()
    return params


class _Plain:
    """Replace typer's parser of a parameter until a value needs it."""

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
    """Return the value of a text, path or number, or ``_TYPERS`` if typer must parse it."""
    if kind is str and isinstance(value, str):
        return value
    if kind is Path and not (os.path.exists(value) and not os.access(value, os.R_OK)):
        return Path(value)  # no option here has further conditions on a path
    return _number(value, kind, told) if kind in _NUMBERS else _TYPERS


def _number(value: Any, kind: Any, told: Any) -> Any:
    """Read a number and check it against the bounds of its option."""
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
    """A group that lists ``entries`` without importing them, and imports only the one that runs.

    An error is one line instead of a box or a traceback; the environment variable
    GPUSCHED_TRACEBACK restores the traceback.
    """

    entries: ClassVar[Mapping[str, Command]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Placeholders for lists and for suggestions after a misspelt name.
        for name, entry in self.entries.items():
            self.commands[name] = TyperCommand(name, help=entry.help, callback=_never)

    def get_params(self, ctx: Any) -> Any:
        """Return all parameters of the group."""
        return taking_plain_values(super().get_params(ctx))

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.entries)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that the arguments name."""
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
            "Show job counts, times, sizes, load on a cluster and rejected rows.",
        ),
        "audit": Command(
            "trace:audit",
            "Report errors and anomalies in a trace, with rows and effects on a study.",
        ),
        "anonymise": Command(
            "trace:anonymise",
            "Write an anonymised copy of a trace: hashed names, rounded times.",
        ),
        "convert": Command("trace:convert", "Convert a trace to gpusched's columns or to SWF."),
        "generate": Command("trace:generate", "Generate a synthetic workload for a cluster."),
        "formats": Command(
            "trace:formats",
            "List trace formats with their detection, options and sources.",
        ),
    }


class Commands(LazyCommands):
    """All commands, in the order of the help."""

    entries = {  # noqa: RUF012 - read only
        "compare": Command("compare:compare", "Compare policies on one workload."),
        "run": Command("run:run", "Simulate one policy and print its metrics."),
        "sweep": Command(
            "sweep:sweep",
            "Run all simulations of a study and save each result.",
        ),
        "tune": Command(
            "tune:tune", "Tune policy parameters and evaluate the best on held-out jobs."
        ),
        "size": Command(
            "size:size", "Find the fewest servers, or the cheapest mix, that meet a goal."
        ),
        "fidelity": Command(
            "fidelity:fidelity",
            "Find and grade the policy and cluster size closest to a trace's recorded waits.",
        ),
        "whatif": Command(
            "whatif:whatif",
            "Simulate changes of policy, servers or load, with a grade of the baseline.",
        ),
        "decide": Command(
            "decide:decide", "Show what a policy would start and preempt now in a snapshot."
        ),
        "when": Command(
            "decide:when", "Forecast when, and on which servers, a waiting job starts."
        ),
        "export": Command(
            "export:export",
            "Export a saved result to Perfetto, Batsim or SWF.",
        ),
        "reproduce": Command(
            "gpusched-papers",
            "Repeat a paper's experiments and compare with its published figures.",
            is_apart=True,
        ),
        "trace": Command("", "Inspect, convert and generate job traces.", group=TraceCommands),
        "policies": Command(
            "policies:policies",
            "List policies, placements, speeds, contentions and predictors.",
        ),
        "metrics": Command(
            "policies:metrics",
            "List metrics and bounds with their definitions.",
        ),
    }

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command, which handles Ctrl-C from then on."""
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
    epilog="Data goes to stdout, progress and remarks to stderr. Exit codes: 0 done; 1 an audit "
    "or runs failed, or no size meets the goal; 2 invalid input; 130 interrupted."
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
            help="Plug-ins to import first: policies, placements, predictors or metrics. "
            "May be repeated.",
        ),
    ] = None,
) -> None:
    """Simulate job schedulers for GPU clusters.

    Start with [bold]gpusched compare[/]: it needs no input.
    """
    _import(plug_ins or [])


def main() -> None:
    """Run the command line and exit."""
    # A closed pipe (`| head`) ends the program silently, as in C.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an unencodable character is not an error
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
    """Exit after a Ctrl-C in a finaliser, where Python would only print the exception."""
    if is_interrupt(unraisable.exc_value):
        leave()
    sys.__unraisablehook__(unraisable)


def _entry_point(name: str, distribution: str) -> Any:
    from importlib.metadata import entry_points

    for point in entry_points(group=GROUP, name=name):
        return point.load()
    raise ImportError(f"gpusched {name} is part of {distribution}: pip install {distribution}")


def _nothing() -> None:
    """Do nothing; a group's callback."""


def _never() -> None:
    raise AssertionError("a command that was not imported is never called")
