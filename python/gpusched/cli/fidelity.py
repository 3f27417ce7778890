"""``gpusched fidelity``: which simulated base case is nearest to what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from gpusched.base.defaults import GPUS_PER_SERVER
from gpusched.base.units import seconds_of
from gpusched.cli.console import show_json, show_lines, show_table
from gpusched.cli.options import (
    CLUSTER,
    RUN,
    SEED,
    ClusterOptions,
    Shown,
    WorkloadOptions,
    argument,
    in_panel,
    only,
    split_names,
    without,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import read_jobs, remark_rejects
from gpusched.studies import fidelity_grades as study

EPILOG: Final = """
[bold]Examples[/]

gpusched fidelity log.swf --gpus-per-server 4

gpusched fidelity log.csv -p fifo,easy --placements consolidated,first-fit

gpusched fidelity log.csv --servers 60,64,68 --json | jq .grade.letter
"""

_PARTS: Final = "base cases"

RESOLUTION: Final = in_panel(
    RUN, "TIME", study.RESOLUTION_S, "Waits below TIME count as none.", parser=seconds_of
)  # fmt: skip
THREADS: Final = in_panel(RUN, "N", None, "Runs at a time. Default: one per CPU.", min=1)


def fidelity(
    trace: Path = argument(
        "TRACE", ...,
        "A trace file whose jobs have starts of their own: the wait of an SWF log, or a "
        "column [bold]source_wait_s[/].",
    ),
    *,
    workload: Annotated[
        WorkloadOptions, without("load", "profiles", "graphs", "throughputs", "deadlines")
    ],
    servers: str | None = in_panel(
        CLUSTER, "N,N,...", None,
        "Numbers of equal servers to try. Default: the one under which the mean wait is "
        "nearest to the trace's, from the fewest that can have run what ran at once.",
    ),
    one: Annotated[ClusterOptions, only("gpus_per_server", "cluster")],
    policies: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None,
        "Policies to try. Default: non-preemptive ones that a site can have.",
        names=("--policies", "-p"),
    ),
    placements: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None, "Placements to try. Default: consolidated, first-fit.",
    ),
    predictor: str = in_panel(
        RUN, "NAME", "auto",
        "What policies know of service times: [bold]auto[/] is the trace's estimates if every job "
        "has one, else the truth.",
    ),
    warm_up: float | None = in_panel(
        RUN, "TIME", None,
        "Do not compare jobs submitted in the first TIME, such as [bold]1d[/]. Default: until as "
        "many GPUs are in use as on average, at most a tenth of the trace.", parser=seconds_of,
    ),
    tail: float | None = in_panel(
        RUN, "TIME", None,
        "Do not compare jobs submitted in the last TIME. Default: as long as 95 % of the jobs "
        "waited, at most a tenth of the trace.", parser=seconds_of,
    ),
    resolution: float = RESOLUTION,
    seed: int = SEED,
    threads: int | None = THREADS,
    shown: Shown,
) -> None:  # fmt: skip
    """Find the policy and the capacity that explain a trace's own waits, and grade them.

    Every policy is simulated with every placement, and compared with what
    happened: waits as a distribution and job by job, and GPUs in use over time.
    The grade, A to E, says how far a what-if on the nearest can be trusted.
    """
    sizes = None if servers is None else _numbers(servers)
    if one.cluster is not None and sizes is not None:
        raise ValueError("--cluster: cannot be combined with --servers or --gpus-per-server")
    named = one.named()
    with ProgressDisplay() as display:
        display.stage("reading the trace")
        read = read_jobs([trace], workload, seed)
        display.runs([_PARTS])
        found = study.fidelity(
            read,
            named,
            None if policies is None else split_names(policies, "policy"),
            None if placements is None else split_names(placements, "placement"),
            servers=sizes,
            gpus_per_server=one.gpus_per_server or GPUS_PER_SERVER,
            predictor=predictor,
            warm_up_s=warm_up,
            tail_s=tail,
            resolution_s=resolution,
            seed=seed,
            threads=threads,
            progress=lambda now: display.update(now._replace(part=_PARTS)),
        )
    if shown.is_json:
        show_json(found.to_dict())
    else:
        show_lines([*found.head, ""])
        for table in found.shown:
            show_table(table)
        show_lines(found.remarks)
    remark_rejects(read)


def _numbers(text: str) -> list[int]:
    """Read ``60,64``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"--servers: {text!r} must be whole numbers with commas between them")
    return [int(part) for part in parts]
