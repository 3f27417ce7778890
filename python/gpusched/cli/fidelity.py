"""``gpusched fidelity``: which simulated base case is nearest to what happened."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from gpusched.cli.console import show_json
from gpusched.cli.options import (
    CLUSTER,
    RUN,
    ClusterOptions,
    Json,
    Seed,
    WorkloadOptions,
    in_panel,
    only,
    split_names,
    with_groups,
    without,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import read_jobs, remark_rejects
from gpusched.studies import base_cases as study

EPILOG: Final = """
[bold]Examples[/]

gpusched fidelity log.swf --gpus-per-server 4

gpusched fidelity log.csv -p fifo,easy --placements consolidated,first-fit

gpusched fidelity log.csv --servers 60,64,68 --json | jq .grade.letter
"""

_PARTS: Final = "base cases"

Resolution = Annotated[
    float,
    in_panel(
        RUN, "--resolution", metavar="S", help="Waits below S seconds count as none.",
        show_default=True,
    ),
]  # fmt: skip
Known = Annotated[
    str | None,
    in_panel(
        RUN, "--predictor", metavar="NAME",
        help="What policies know of service times. Default: the trace's estimates if every job "
        "has one, else the truth.",
    ),
]  # fmt: skip
Threads = Annotated[
    int | None,
    in_panel(
        RUN, "--threads", metavar="N", min=1, help="Runs at a time. Default: one per CPU."
    ),
]  # fmt: skip


@with_groups
def fidelity(
    trace: Annotated[
        Path,
        typer.Argument(
            metavar="TRACE", show_default=False,
            help="A trace file whose jobs have starts of their own: the wait of an SWF log, or a "
            "column [bold]source_wait_s[/].",
        ),
    ],
    *,
    workload: Annotated[
        WorkloadOptions, without("load", "profiles", "graphs", "throughputs", "deadlines")
    ],
    servers: Annotated[
        str | None,
        in_panel(
            CLUSTER, "--servers", metavar="N,N,...",
            help="Numbers of equal servers to try. Default: the one under which the mean wait is "
            "nearest to the trace's, from the fewest that can have run what ran at once.",
        ),
    ] = None,
    one: Annotated[ClusterOptions, only("gpus_per_server", "cluster")],
    policies: Annotated[
        list[str] | None,
        in_panel(
            RUN, "--policies", "-p", metavar="A,B:KEY=VALUE,...",
            help="Policies to try. Default: non-preemptive ones that a site can have.",
        ),
    ] = None,
    placements: Annotated[
        list[str] | None,
        in_panel(
            RUN, "--placements", metavar="A,B:KEY=VALUE,...",
            help="Placements to try. Default: consolidated, first-fit.",
        ),
    ] = None,
    predictor: Known = None,
    warm_up: Annotated[
        float | None,
        in_panel(
            RUN, "--warm-up", metavar="S",
            help="Do not compare jobs submitted in the first S seconds. Default: until as many "
            "GPUs are in use as on average, at most a tenth of the trace.",
        ),
    ] = None,
    tail: Annotated[
        float | None,
        in_panel(
            RUN, "--tail", metavar="S",
            help="Do not compare jobs submitted in the last S seconds. Default: as long as 95 % of "
            "the jobs waited, at most a tenth of the trace.",
        ),
    ] = None,
    resolution: Resolution = study.RESOLUTION_S,
    seed: Seed = 0,
    threads: Threads = None,
    json: Json = False,
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
            gpus_per_server=one.gpus_per_server or study.GPUS_PER_SERVER,
            predictor=predictor,
            warm_up_s=warm_up,
            tail_s=tail,
            resolution_s=resolution,
            seed=seed,
            threads=threads,
            progress=lambda now: display.update(now._replace(part=_PARTS)),
        )
    if json:
        show_json(found.to_dict())
    else:
        print(found)
    remark_rejects(read)


def _numbers(text: str) -> list[int]:
    """Read ``60,64``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"--servers: {text!r} must be whole numbers with commas between them")
    return [int(part) for part in parts]
