"""``gpusched trace``: a group of commands on traces alone."""

from __future__ import annotations

import typer

from gpusched.cli.lazy_commands import Command, LazyCommands


class TraceCommands(LazyCommands):
    """All commands on traces."""

    entries = {  # noqa: RUF012 - read only
        "info": Command(
            "trace_info:info",
            "Show counts, times, widths, the load on a cluster, and what was left out.",
        ),
        "audit": Command(
            "trace_audit:audit",
            "Say what is wrong or odd in a trace, with rows, and what it does to a study.",
        ),
        "convert": Command(
            "trace_convert:convert",
            "Read a trace and write it under gpusched's own names, or as SWF.",
        ),
        "generate": Command(
            "trace_generate:generate", "Generate a seeded synthetic workload for a cluster."
        ),
        "formats": Command(
            "trace_formats:formats",
            "List the formats of traces: how each is recognised, its options, its source.",
        ),
    }


app = typer.Typer(
    name="trace",
    help="Look at traces, convert them and make them.",
    cls=TraceCommands,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def trace() -> None:
    """Look at traces, convert them and make them."""
