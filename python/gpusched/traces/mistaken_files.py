"""Files that are no traces but nearly: what they are, and what to do instead."""

from __future__ import annotations

import re
from typing import Final

from gpusched.base.source import Source
from gpusched.base.suggest import HintedError

# A job, a task or a step, and fields between bars: what sacct prints without its header.
_HEADLESS: Final = re.compile(r"\d+(?:_\d+|\+\d+)?(?:\.\w+)?\|[^|]*\|[^|]*\|")
_QUEUE: Final = re.compile(r"\s*JOBID\s+\S.*\s(?:ST|STATE)\s")


def check_kind(source: Source) -> None:
    """Raise ValueError if a file is known to be something else than a trace."""
    line = source.first_line
    if _HEADLESS.match(line):
        raise ValueError(
            f"{source}, line 1: {line[:40]!r} is no header; print it by sacct without --noheader"
        )
    if _QUEUE.match(line):
        raise ValueError(f"{source}: squeue printed this for the eye; print it with squeue --json")
    if line.strip() and line.lstrip()[0] not in "{[":
        return
    from gpusched.traces.formats import slurm_nodes

    if slurm_nodes.recognises(source):
        raise HintedError(
            f"{source}: lists servers, and no jobs",
            " (read it with gpusched.read_cluster)", " (give it as --cluster)",
        )  # fmt: skip
