"""``gpusched trace formats``: what can be read and written."""

from __future__ import annotations

from typing import Final

from gpusched.cli import options
from gpusched.cli.console import new_table, show_json, show_table
from gpusched.traces.format_registry import trace_formats

EPILOG: Final = """
[bold]Example[/]

gpusched trace formats --json
"""


def formats(json: options.Json = False) -> None:
    """List the formats of traces: how each is recognised, its options, its source."""
    known = trace_formats().values()
    if json:
        fields = ("name", "summary", "source", "detection", "options", "endings")
        show_json({"formats": [{name: getattr(one, name) for name in fields} for one in known]})
        return
    table = new_table()
    for heading in ("format", "recognised by", "written as", "options"):
        table.add_column(heading)
    table.add_column("what it is, its source")
    for one in known:
        endings = ", ".join(f".{ending}" for ending in one.endings)
        detection = one.detection.replace("`", "")
        text = f"{one.summary}\n{one.source}"
        table.add_row(one.name, detection, endings or "-", "\n".join(one.options), text)
    show_table(table, wrap=True)
