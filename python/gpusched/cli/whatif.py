"""``gpusched whatif``: simulate changes to a baseline."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD, NUM_SERVERS, POLICY, REPAIR_S
from gpusched.cli.console import show_json, show_lines, show_table
from gpusched.cli.fidelity import RESOLUTION, THREADS
from gpusched.cli.options import (
    CLUSTER,
    RUN,
    SEED,
    TRACES,
    ClusterOptions,
    OutageOptions,
    RunOptions,
    ShownOptions,
    WorkloadOptions,
    in_panel,
    without,
)
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.workload import load_outages, load_workload, remark_rejects
from gpusched.studies import what_if as study
from gpusched.studies.fidelity_grades import has_starts
from gpusched.studies.what_if import parse_changes

EPILOG: Final = """
[bold]Examples[/]

gpusched whatif jobs.csv --servers 64 --base fifo --change policy=easy --change servers=+4

gpusched whatif log.swf --base easy --change estimates=exact --change load=*1.2

gpusched whatif jobs.csv --change mtbf=30d --change time-limit=24h

gpusched whatif jobs.csv --mtbf 30d --repair 4h --change checkpoint-every=30m

gpusched whatif --base fifo --change policy=2d-las:preset=lucid --json | jq .changes
"""

_PARTS: Final = "runs"


def whatif(
    trace: list[Path] | None = TRACES,
    base: str = in_panel(RUN, "NAME[:KEY=VALUE,...]", POLICY, "Policy of the baseline."),
    change: list[str] | None = in_panel(
        RUN, "KEY=VALUE", None,
        "Change to simulate: [bold]policy[/], [bold]placement[/], [bold]predictor[/], "
        "[bold]speed[/] or [bold]contention[/]=NAME; [bold]servers[/] or "
        "[bold]gpus-per-server[/]=12, +4, -4 or +10%; [bold]load[/]=0.9, or a factor "
        "such as *1.2 or +20%; [bold]estimates[/]=exact, or a factor; [bold]restart[/]=60s, "
        "the restart cost; [bold]mtbf[/]=30d, failures of servers, and [bold]repair[/]=4h; "
        "[bold]time-limit[/]=24h, [bold]checkpoint-every[/]=30m, [bold]checkpoint-write[/]=10s, "
        "[bold]max-requeues[/]=3 and [bold]requeue[/]=back of all jobs. May be repeated.",
    ),
    *,
    workload: Annotated[WorkloadOptions, without("load")],
    servers: int | None = in_panel(
        CLUSTER, "N", None,
        "Number of equal servers. Default: if TRACE has recorded starts, the number with the "
        f"closest mean wait; else the fewest with load at most {MAX_LOAD} that fit the largest "
        f"job; {NUM_SERVERS} without TRACE.", min=1,
    ),
    others: Annotated[ClusterOptions, without("servers")],
    failures: OutageOptions,
    how: Annotated[RunOptions, without("seed", "max_intervals")],
    resolution: float = RESOLUTION,
    seed: int = SEED,
    threads: int | None = THREADS,
    shown: ShownOptions,
) -> None:  # fmt: skip
    """Simulate changes of policy, servers or load, with a grade of the baseline.

    Each change is simulated alone, then all together. If the trace has recorded
    starts, the answer includes a grade: how close the baseline is to the
    recorded schedule; see [bold]gpusched fidelity[/].
    """
    if not change:
        raise ValueError("--change: at least one is needed, such as --change servers=+4")
    is_drawn = failures.mtbf is not None or any(c.key == "mtbf" for c in parse_changes(change))
    if failures.repair is not None and not is_drawn:
        raise ValueError("--repair: needs --mtbf, or --change mtbf=TIME")
    only_files = replace(failures, mtbf=None, repair=None)
    how, cluster = replace(how, seed=seed), replace(others, servers=servers)
    speed = how.speed_for(workload)
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        loaded = load_workload(trace, workload, cluster, speed=speed, seed=seed)
        # Recorded waits say more about the trace's cluster than a load does.
        finds = cluster.is_open and speed is None and not cluster.has_network
        finds = finds and cluster.type_speeds is None
        finds = finds and has_starts(loaded.trace)
        outages = load_outages(only_files, loaded, others.cluster, seed)
        notes = () if outages is None else outages.notes
        assumed = (*(() if finds else loaded.assumptions), *notes)
        display.runs([_PARTS])
        answer = study.whatif(
            loaded.trace,
            None if finds else loaded.cluster,
            base,
            change,
            **how.settings,
            speed=speed,
            outages=outages,
            mtbf_s=failures.mtbf,
            repair_s=REPAIR_S if failures.repair is None else failures.repair,
            gpus_per_server=cluster.gpus_per_server or GPUS_PER_SERVER,
            resolution_s=resolution,
            threads=threads,
            progress=lambda now: display.update(now._replace(part=_PARTS)),
        )
    if shown.is_json:
        show_json(answer.to_dict() | {"assumptions": list(assumed)})
    else:
        show_lines(assumed, style="yellow")
        show_lines([*answer.head, ""])
        show_table(answer.shown)
    remark_rejects(loaded.trace)
