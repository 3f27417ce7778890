"""``gpusched whatif``: what changes to a base case would do."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from gpusched.base.progress import Progress
from gpusched.cli import given, options
from gpusched.cli.console import remark, show_json, show_lines
from gpusched.cli.fidelity import Known, Resolution, Threads
from gpusched.cli.progress import ProgressDisplay
from gpusched.cli.reading import DEFAULT, Reading, reads_traces
from gpusched.cli.workload_files import NO_NETWORK, cluster_of, load_workload
from gpusched.studies.fidelity.fidelity import GPUS_PER_SERVER, RESOLUTION_S
from gpusched.studies.fidelity.own_starts import has_starts
from gpusched.studies.whatif import whatif as study
from gpusched.studies.whatif.scenario import parse_changes

EPILOG: Final = """
[bold]Examples[/]

gpusched whatif jobs.csv --servers 64 --base fifo --change policy=easy --change servers=+4

gpusched whatif log.swf --base easy --change estimates=exact --change load=*1.2

gpusched whatif --base fifo --change policy=2d-las:preset=lucid --json | jq .changes
"""

_PARTS: Final = "runs"


@reads_traces
def whatif(
    trace: options.OptionalTrace = None,
    base: Annotated[
        str,
        typer.Option(
            "--base",
            metavar="NAME[:KEY=VALUE,...]",
            help="The policy of the base case.",
            rich_help_panel=options.RUN,
        ),
    ] = "fifo",
    change: Annotated[
        list[str] | None,
        typer.Option(
            "--change",
            metavar="KEY=VALUE",
            help="A change: [bold]policy[/], [bold]placement[/], [bold]predictor[/], "
            "[bold]speed[/] or [bold]contention[/] and a name; [bold]servers[/] or "
            "[bold]gpus-per-server[/] and 12, +4 or -4; [bold]load[/] and a load or a factor "
            "such as *1.2; [bold]estimates[/] and exact, or a factor. May be repeated.",
            show_default=False,
            rich_help_panel=options.RUN,
        ),
    ] = None,
    format: options.Format = None,
    column: options.Columns = None,
    option: options.Options = None,
    jobs: options.Jobs = None,
    profiles: options.Profiles = None,
    graphs: options.Graphs = None,
    throughputs: options.Throughputs = None,
    deadlines: options.Deadlines = None,
    servers: Annotated[
        int | None,
        typer.Option(
            "--servers",
            metavar="N",
            min=1,
            help="Number of equal servers. Default: if TRACE has starts of its own, as many as "
            "make jobs wait as long as they did; else the fewest with load at most 0.9 and room "
            "for the widest job; 64 without TRACE.",
            show_default=False,
            rich_help_panel="Cluster",
        ),
    ] = None,
    gpus_per_server: options.GpusPerServer = None,
    cluster: options.ClusterFile = None,
    nic_gbps: options.NicGbps = None,
    intra_gbps: options.IntraGbps = None,
    servers_per_rack: options.ServersPerRack = None,
    oversubscription: options.Oversubscription = None,
    placement: options.Placement = "consolidated",
    predictor: Known = None,
    speed: options.Speed = None,
    contention: options.Contention = "none",
    warm_up: options.WarmUp = None,
    tail: options.Tail = None,
    resolution: Resolution = RESOLUTION_S,
    seed: options.Seed = 0,
    threads: Threads = None,
    json: options.Json = False,
    reading: Reading = DEFAULT,
) -> None:
    """Tell what changes of policy, servers or load would do, and how far to trust that.

    Each change is made alone, then all of them together. Where the trace has
    starts of its own, the answer carries the grade of its base case: how near
    that comes to what happened, see [bold]gpusched fidelity[/].
    """
    if not change:
        raise ValueError("--change: at least one is needed, such as --change servers=+4")
    parse_changes(change)
    speed = given.speed_of(speed, contention, profiles, graphs, throughputs)
    network = given.network_of(nic_gbps, intra_gbps, servers_per_rack, oversubscription)
    named = cluster_of(servers, gpus_per_server, cluster, network)
    with ProgressDisplay() as display:
        display.stage("reading the trace" if trace else "generating the workload")
        workload = load_workload(
            given.source_of(trace, format, column, option, reading),
            named,
            gpus_per_server=gpus_per_server,
            network=network,
            jobs=jobs,
            profiles=profiles,
            graphs=graphs,
            throughputs=throughputs,
            deadlines=deadlines,
            speed=speed,
            seed=seed,
        )
        # The trace's own waits say more about its cluster than a load does.
        finds = named is None and speed is None and network == NO_NETWORK
        finds = finds and has_starts(workload.trace)
        assumed = () if finds else workload.assumptions
        display.runs([_PARTS])

        def show(now: Progress) -> None:
            display.update(now._replace(part=_PARTS))

        answer = study.whatif(
            workload.trace,
            None if finds else workload.cluster,
            base,
            change,
            placement=placement,
            predictor=predictor,
            speed=speed,
            contention=contention,
            gpus_per_server=gpus_per_server or GPUS_PER_SERVER,
            resolution_s=resolution,
            warm_up_s=warm_up,
            tail_s=tail,
            seed=seed,
            threads=threads,
            progress=show,
        )
    if json:
        show_json(answer.to_dict() | {"assumptions": list(assumed)})
    else:
        show_lines(assumed, style="yellow")
        print(answer)
    rejects = workload.trace.rejects.lines()
    remark((f"left out of the trace: {line}" for line in rejects), style="yellow")
