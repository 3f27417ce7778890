"""``gpusched export``: export a saved result to another tool."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gpusched.base.wording import plural
from gpusched.cli.console import remark
from gpusched.cli.options import argument, in_panel, pairs, prepare_target
from gpusched.results.format_registry import checked_options, schedule_format

EPILOG: Final = """
[bold]Examples[/]

gpusched run jobs.csv -p srtf --servers 8 --out srtf

gpusched export srtf/result.npz timeline.json --option tracks=gpu

gpusched export srtf/result.npz schedule.csv [dim]# Batsim's jobs.csv[/]
"""


def export(
    result: Path = argument("RESULT", ..., "A result.npz from [bold]gpusched run --out[/]."),
    target: Path = argument("TARGET", ..., "Output file: .json (Perfetto), .csv (Batsim) or .swf."),
    format: str | None = in_panel(
        None, "NAME", None, "Format: perfetto, batsim or swf. Default: by the file name.",
    ),
    option: list[str] | None = in_panel(
        None, "KEY=VALUE", None,
        "Option of the format: [bold]tracks=server[/] or [bold]tracks=gpu[/]. "
        "May be repeated.",
    ),
) -> None:  # fmt: skip
    """Export a saved result to Perfetto, Batsim or SWF."""
    from gpusched.results.result import load_result

    wanted = pairs("--option", option)
    checked_options(schedule_format(target, format), wanted)
    prepare_target(target, {"result": result})
    loaded = load_result(result)
    lost = loaded.export_with_losses(target, format, **wanted)
    remark(lost, style="yellow")
    remark([f"wrote {plural(len(loaded.trace), 'job')} to {target}"])
