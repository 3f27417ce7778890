"""``gpusched trace``: a group of commands on traces alone."""

from __future__ import annotations

import typer

from gpusched.cli import trace_convert, trace_formats, trace_generate, trace_info

app = typer.Typer(
    name="trace", help="Look at traces, convert them and make them.", no_args_is_help=True
)
app.command(epilog=trace_info.EPILOG)(trace_info.info)
app.command(epilog=trace_convert.EPILOG)(trace_convert.convert)
app.command(epilog=trace_generate.EPILOG)(trace_generate.generate)
app.command(epilog=trace_formats.EPILOG)(trace_formats.formats)
