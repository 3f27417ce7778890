"""``gpusched fidelity``: which baseline simulation is closest to a trace's recorded waits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from gpusched.base.defaults import GPUS_PER_SERVER
from gpusched.base.units import seconds_of
from gpusched.cli.console import show_json, show_lines, show_table
from gpusched.cli.options import (
    CLUSTER,
    LIMITS,
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
    RUN, "TIME", study.RESOLUTION_S, "Waits below TIME count as zero.", parser=seconds_of
)  # fmt: skip
THREADS: Final = in_panel(RUN, "N", None, "Runs at a time. Default: one per CPU.", min=1)


def fidelity(
    trace: Path = argument(
        "TRACE", ...,
        "A trace file with recorded starts: the wait times of an SWF log, or a column "
        "[bold]source_wait_s[/].",
    ),
    *,
    workload: Annotated[
        WorkloadOptions,
        without(*LIMITS, "load", "profiles", "graphs", "throughputs", "deadlines"),
    ],
    servers: str | None = in_panel(
        CLUSTER, "N,N,...", None,
        "Numbers of equal servers to try. Default: the one with the mean wait closest to the "
        "trace's, searched from the fewest that can hold the jobs that ran at once.",
    ),
    one: Annotated[ClusterOptions, only("gpus_per_server", "cluster")],
    policies: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None,
        "Policies to try. Default: non-preemptive policies that sites use.",
        names=("--policies", "-p"),
    ),
    placements: list[str] | None = in_panel(
        RUN, "A,B:KEY=VALUE,...", None, "Placements to try. Default: consolidated, first-fit.",
    ),
    predictor: str = in_panel(
        RUN, "NAME", "auto",
        "Run times that policies see: [bold]auto[/] is the trace's estimates if every job has "
        "one, else the true run times.",
    ),
    warm_up: float | None = in_panel(
        RUN, "TIME", None,
        "Warm-up: jobs submitted in the first TIME, such as [bold]1d[/], are not compared. "
        "Default: until average GPU use is reached, at most a tenth of the trace.",
        parser=seconds_of,
    ),
    tail: float | None = in_panel(
        RUN, "TIME", None,
        "Tail: jobs submitted in the last TIME are not compared. Default: the 95th percentile of "
        "the recorded waits, at most a tenth of the trace.",
        parser=seconds_of,
    ),
    resolution: float = RESOLUTION,
    seed: int = SEED,
    threads: int | None = THREADS,
    shown: Shown,
) -> None:  # fmt: skip
    """Find and grade the policy and cluster size closest to a trace's recorded waits.

    Simulates every policy with every placement and compares them with the
    recorded schedule: waits, as a distribution and per job, and GPUs in use
    over time. The grade, A to E, says how far to trust a what-if on the best.
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
