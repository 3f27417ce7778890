"""Options that several commands share, in groups: one parameter of a command each.

A group is a frozen dataclass whose fields are options. A command uses it as the type of a
parameter, and :func:`expanded` replaces the parameter by the options::

    def run(trace: list[Path] | None = TRACES, *, cluster: ClusterOptions) -> None: ...
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args, get_type_hints

import msgspec
import typer

from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD, NUM_SERVERS, REPAIR_S
from gpusched.base.replacing import check_folder, check_target, refuse_inputs
from gpusched.base.suggest import nearest
from gpusched.base.tables import FORMATS
from gpusched.base.units import requeue_back_of, seconds_of, share_of
from gpusched.cli.console import TEXT, printing

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster

GENERATOR: Final = "philly"
NUM_JOBS: Final = 20_000
ZOO: Final = "zoo"
WORKLOAD: Final = "Workload"
CLUSTER: Final = "Cluster"
RUN: Final = "Run"
WHERE: Final = "Where"
OUTPUT: Final = "Output"
_LOCAL: Final = "local"
_COLUMNS: Final = ("typical", "mean", "worst", "ratio", "difference", "num_gain", "num_lose")
_OFFERED: Final = "option"


def in_panel(panel: str | None, metavar: str | None, default: Any, help: str, **how: Any) -> Any:
    """Declare an option in a panel of the help: a parameter of a command, or a field of a group.

    Parameters
    ----------
    default
        ``...`` for a required option; else shown in the help, unless None or False.
    how
        Arguments of :func:`typer.Option`, and ``names`` if they differ from the parameter's name.
    """
    shown = all(default is not value for value in (None, False, ...))
    how = {"metavar": metavar, "help": help, "rich_help_panel": panel, "show_default": shown} | how
    return field(default=MISSING if default is ... else default, metadata={_OFFERED: how})


def flag(panel: str | None, help: str, **how: Any) -> Any:
    """Declare an option without a value."""
    return in_panel(panel, None, False, help, **how)


def argument(metavar: str, default: Any, help: str) -> Any:
    """Declare an argument; ``default`` is ``...`` for a required one."""
    return in_panel(None, metavar, default, help, names=())


def folder(default: Path | None, contents: str, **how: Any) -> Any:
    """Declare ``--out DIR``: the folder for a command's files."""
    return in_panel(OUTPUT, "DIR", default, f"Folder for {contents}", **how)


def _parameter(name: str, kind: Any, offered: Any) -> inspect.Parameter:
    """Turn a declared option into a parameter for typer; others stay unchanged."""
    if isinstance(offered, Field):
        how = dict(offered.metadata[_OFFERED])
        names = how.pop("names", (f"--{name.replace('_', '-')}",))
        kind = Annotated[kind, typer.Option(*names, **how) if names else typer.Argument(**how)]
        offered = inspect.Parameter.empty if offered.default is MISSING else offered.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=offered, annotation=kind)


class _Part(msgspec.Struct, frozen=True):
    """The fields of a group that a command has."""

    names: tuple[str, ...]
    is_all_but: bool = False

    def of(self, group: Any) -> list[str]:
        every = [field.name for field in fields(group)]
        return [name for name in every if (name in self.names) is not self.is_all_but]


def only(*names: str) -> Any:
    """Restrict a group to these options."""
    return _Part(names)


def without(*names: str) -> Any:
    """Restrict a group to all options except these."""
    return _Part(names, is_all_but=True)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the groups in a command's signature by their options."""
    hints = get_type_hints(command, include_extras=True)
    shown: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        group, *marks = get_args(hints[name]) or [hints[name]]
        if not is_dataclass(group):
            shown.append(_parameter(name, hints[name], parameter.default))
            continue
        part = next((mark for mark in marks if isinstance(mark, _Part)), without())
        own, names = get_type_hints(group), part.of(group)
        groups[name] = group, names
        shown += [_parameter(f.name, own[f.name], f) for f in fields(group) if f.name in names]

    @functools.wraps(command)
    def wrapper(**given: Any) -> None:
        for name, (group, names) in groups.items():
            given[name] = group(**{field: given.pop(field) for field in names})
        shown = next((g for g in given.values() if isinstance(g, ShownOptions)), ShownOptions())
        with printing(shown.form, shown.sort), _without_empty_folders(given):
            command(**given)

    wrapper.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in shown}
    return wrapper


@contextmanager
def _without_empty_folders(given: Mapping[str, Any]) -> Iterator[None]:
    """Remove the new folders of ``--out`` and ``--report`` if a command fails and leaves no file.

    They are made before the runs, so that a folder that cannot be written is an early error.
    """
    out, report = given.get("out"), given.get("report")
    named = [out] if isinstance(out, Path) else []
    named += [report.parent] if isinstance(report, Path) else []
    new = [part for path in named for part in (path, *path.parents) if not part.exists()]
    try:
        yield
    except BaseException:
        for folder in sorted(new, key=lambda path: -len(path.parts)):
            with suppress(OSError):  # it has files, or was not made
                folder.rmdir()
        raise


TRACES: Final = argument(
    "TRACE...", None,
    "Trace files of any format in [bold]gpusched trace formats[/], also compressed; several are "
    f"merged; [bold]-[/] is stdin. Default: {NUM_JOBS:,} generated {GENERATOR}-like jobs.",
)  # fmt: skip
FILES: Final = argument("FILE...", ..., "Trace files; several are merged; [bold]-[/] is stdin.")
SEED: Final = in_panel(RUN, "S", 0, "Seed for all random choices.", min=0)
DRY: Final = flag(RUN, "The same as --dry-run.", hidden=True)
DATA: Final = in_panel(
    RUN, "FOLDER", None,
    "Folder of the published traces, one subfolder each; missing ones are reported. Default: "
    "[bold]$GPUSCHED_DATA[/].",
)  # fmt: skip


@dataclass(frozen=True)
class WorkloadOptions:
    """How to read a trace, which part to take, and what to add to its jobs."""

    format: str | None = in_panel(WORKLOAD, "NAME", None, "Format of TRACE. Default: detected.")
    column: list[str] | None = in_panel(
        WORKLOAD, "OURS=THEIRS", None,
        "Name of a column in a CSV or Parquet file, such as "
        "[bold]service_s=duration[/]. May be repeated.",
    )  # fmt: skip
    option: list[str] | None = in_panel(
        WORKLOAD, "KEY=VALUE", None,
        "Option of the format, such as [bold]processors_per_gpu=8[/] for SWF. "
        "May be repeated. Without TRACE: [bold]model=1[/] generates jobs as earlier versions did.",
    )  # fmt: skip
    jobs: int | None = in_panel(
        WORKLOAD, "N", None, "Number of jobs, from the first; without TRACE, to generate.", min=1,
    )  # fmt: skip
    load: float | None = in_panel(
        WORKLOAD, "X", None,
        "Offered load (the jobs' GPU time over the cluster's), such as 0.9 or 90%; rescales the "
        f"gaps between arrivals. Default: as in TRACE; {MAX_LOAD} without TRACE.", parser=share_of,
    )  # fmt: skip
    ignore: list[str] | None = in_panel(
        WORKLOAD, "COLUMN", None,
        "Column of TRACE to leave out, such as [bold]priority[/], after --filter. "
        "May be repeated.",
    )  # fmt: skip
    restart: float | None = in_panel(
        WORKLOAD, "TIME", None,
        "Restart cost of each job after a preemption, such as [bold]60s[/]; replaces the column "
        "restart_s. Default: as in TRACE; 0 without the column.",
        parser=seconds_of,
    )  # fmt: skip
    time_limit: float | None = in_panel(
        WORKLOAD, "TIME", None,
        "Time after which a run of a job is ended, such as [bold]24h[/], for jobs without a "
        "time_limit_s. Default: as in TRACE; none without the column.",
        parser=seconds_of,
    )  # fmt: skip
    checkpoint_every: float | None = in_panel(
        WORKLOAD, "TIME", None,
        "Work of each job between two checkpoints, such as [bold]30m[/]; replaces the column "
        "checkpoint_every_s. Default: as in TRACE; no checkpoints without the column.",
        parser=seconds_of,
    )  # fmt: skip
    checkpoint_write: float | None = in_panel(
        WORKLOAD, "TIME", None,
        "Time to write a checkpoint, such as [bold]10s[/]; replaces the column "
        "checkpoint_write_s. Default: as in TRACE; 0 without the column.",
        parser=seconds_of,
    )  # fmt: skip
    max_requeues: int | None = in_panel(
        WORKLOAD, "N", None,
        "Failures of servers after which a job waits again; the next one ends it. Replaces the "
        "column max_requeues. Default: as in TRACE; no limit without the column.", min=0,
    )  # fmt: skip
    requeue: int | None = in_panel(
        WORKLOAD, "same|back", None,
        "Whether an interrupted job keeps its place in the queue, or goes to its back, as under "
        "Slurm. Replaces the column requeue_back. Default: as in TRACE; same without the column.",
        parser=requeue_back_of,
    )  # fmt: skip
    profiles: str | None = in_panel(
        WORKLOAD, f"FILE|{ZOO}", None,
        "Profiles (the cost of an iteration) in TOML or JSON, or the built-in ones. A job has the "
        "profile named by its group, if all groups name one, else one drawn with --seed.",
    )  # fmt: skip
    graphs: str | None = in_panel(
        WORKLOAD, f"{ZOO}[:heavy_share=X]", None,
        "Stages and replicas of each job, of a model drawn with --seed, for speed "
        "[bold]stages[/]. X: share of large jobs that communicate heavily.",
    )  # fmt: skip
    throughputs: str | None = in_panel(
        WORKLOAD, "FILE", None,
        "Iterations per second by model, GPU type and number of GPUs: Gavel's table "
        "(.json), Pollux's folder, or CSV. A job has the model named by its group, else one "
        "drawn with --seed. Implies speed [bold]table[/].",
    )  # fmt: skip
    deadlines: str | None = in_panel(
        WORKLOAD, "KEY=VALUE,...", None,
        "Deadlines to draw: submit + U(0.5, 1.5) x tightness x run time. Keys: "
        "[bold]tightness[/] (1), [bold]seed[/] (0), [bold]share[/] of the jobs (1), "
        "[bold]value[/] (1), [bold]recipe[/] (elasticflow, or constant for no spread).",
    )  # fmt: skip
    member: str | None = in_panel(
        WORKLOAD, "NAME", None, "File of an archive that is the trace.",
    )  # fmt: skip
    max_bytes: int | None = in_panel(
        WORKLOAD, "N", None,
        "Largest size of a file in bytes, also after decompression. Default: 4 GiB, and 250 times "
        "the size of a compressed file.", min=1,
    )  # fmt: skip
    since: str | None = in_panel(
        WORKLOAD, "TIME", None,
        "First submission to keep: seconds after the first one, or a time such as "
        "[bold]2024-05-01T09:00[/] if TRACE has dates.", names=("--from",),
    )  # fmt: skip
    until: str | None = in_panel(
        WORKLOAD, "TIME", None, "End of the submissions to keep (exclusive).", names=("--to",),
    )  # fmt: skip
    filter: str | None = in_panel(
        WORKLOAD, "CONDITION", None,
        "Condition in SQL on the jobs to keep: [bold]\"gpus >= 8 and user != 'x'\"[/].",
    )  # fmt: skip
    reference_type: str | None = in_panel(
        WORKLOAD, "TYPE", None,
        "GPU type of the run times in TRACE, if types differ in speed. Default: a job's only "
        "allowed type, else a GPU of speed 1; with --throughputs, the fastest that a job may use.",
    )  # fmt: skip
    sample: float | None = in_panel(
        WORKLOAD, "X", None,
        "Share of the jobs to keep, such as 0.1 or 10%, drawn with --seed; lowers the load.",
        parser=share_of,
    )  # fmt: skip

    @property
    def limits(self) -> dict[str, Any]:
        """The values of columns for all jobs."""
        return {
            "time_limit_s": self.time_limit,
            "checkpoint_every_s": self.checkpoint_every,
            "checkpoint_write_s": self.checkpoint_write,
            "max_requeues": self.max_requeues,
            "requeue_back": self.requeue,
        }

    @property
    def columns(self) -> dict[str, str]:
        """The file's column names."""
        return pairs("--column", self.column)

    @property
    def format_options(self) -> dict[str, Any]:
        """The options of the format."""
        return format_options(self.option)

    @property
    def needing_a_trace(self) -> str:
        """The error for options that only a file can have; empty if none is given."""
        if self.format is not None or self.columns or self.format_options.keys() - {"model"}:
            return "--format, --column and --option (except model): need a TRACE"
        names = (
            "member", "max_bytes", "since", "until", "filter", "ignore", "reference_type", "sample",
        )  # fmt: skip
        for name in names:
            if getattr(self, name) is not None:
                said = {"since": "from", "until": "to"}.get(name, name).replace("_", "-")
                return f"--{said}: needs a TRACE"
        return ""


LIMITS: Final = ("time_limit", "checkpoint_every", "checkpoint_write", "max_requeues", "requeue")
TraceOptions = Annotated[
    WorkloadOptions,
    without(
        *LIMITS,
        "jobs",
        "load",
        "restart",
        "profiles",
        "graphs",
        "throughputs",
        "deadlines",
        "reference_type",
    ),
]
"""Options of commands that inspect a trace."""


@dataclass(frozen=True)
class ClusterOptions:
    """The cluster and its network."""

    servers: int | None = in_panel(
        CLUSTER, "N", None,
        "Number of equal servers. Default: the fewest, of the types that jobs name, with load at "
        f"most {MAX_LOAD} that fit the largest job, but never more than the peak demand; "
        f"{NUM_SERVERS} without TRACE.", min=1,
    )  # fmt: skip
    gpus_per_server: int | None = in_panel(
        CLUSTER, "G", None, f"GPUs per server. Default: {GPUS_PER_SERVER}.", min=1,
    )  # fmt: skip
    cluster: Path | None = in_panel(
        CLUSTER, "FILE", None, "Cluster in TOML; replaces the other options of the cluster.",
    )  # fmt: skip
    type_speeds: str | None = in_panel(
        CLUSTER, "A=X,B=Y", None,
        "Speed of each GPU type relative to that of the stated run times, such as "
        "[bold]a100=2.1,v100=1[/]. Default: as in the cluster's file, else 1.",
    )  # fmt: skip
    nic_gbps: float | None = in_panel(
        CLUSTER, "X", None, "Bandwidth of each server's NIC, Gbit/s.",
    )  # fmt: skip
    intra_gbps: float | None = in_panel(
        CLUSTER, "X", None, "Bandwidth between the GPUs of a server, Gbit/s.",
    )  # fmt: skip
    servers_per_rack: int | None = in_panel(
        CLUSTER, "N", None, "Servers per rack; all racks share one spine. Default: no racks.",
        min=1,
    )  # fmt: skip
    oversubscription: float | None = in_panel(
        CLUSTER, "X", None, "Bandwidth of a rack's NICs over that of its uplink. Default: 1.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.oversubscription is not None and self.servers_per_rack is None:
            raise ValueError("--oversubscription: needs --servers-per-rack")

    @property
    def is_open(self) -> bool:
        """Whether no option determines the cluster."""
        return self.servers is None and self.cluster is None

    @property
    def has_network(self) -> bool:
        """Whether an option of the network is given."""
        said = (self.nic_gbps, self.intra_gbps, self.servers_per_rack, self.oversubscription)
        return any(value is not None for value in said)

    @property
    def speeds(self) -> dict[str, float] | None:
        """The speeds of GPU types, if given."""
        if self.type_speeds is None:
            return None
        read = prices_of("--type-speeds", self.type_speeds)
        if not isinstance(read, dict):
            raise ValueError(f"--type-speeds: {self.type_speeds!r} is not of the form A=X,B=Y")
        return read

    def connected(self, cluster: Cluster) -> Cluster:
        """Return ``cluster`` with the network and the speeds of the options."""
        cluster = cluster.with_speeds(self.speeds or {})
        cluster = cluster.with_bandwidth(nic_gbps=self.nic_gbps, intra_gbps=self.intra_gbps)
        if self.servers_per_rack is None:
            return cluster
        if self.nic_gbps is None:
            raise ValueError("--servers-per-rack: needs --nic-gbps")
        return cluster.with_racks(self.servers_per_rack, self.oversubscription or 1.0)

    def named(self) -> Cluster | None:
        """Make the cluster that the options describe, or None if they leave it open."""
        if self.cluster is not None:
            if self.servers is not None or self.gpus_per_server is not None:
                raise ValueError(
                    "--cluster: cannot be combined with --servers or --gpus-per-server"
                )
            if self.has_network:
                raise ValueError("--cluster: cannot be combined with network options")
            from gpusched.traces.inventories import read_cluster

            return read_cluster(self.cluster).with_speeds(self.speeds or {})
        return None if self.servers is None else self.uniform(self.servers)

    def uniform(self, servers: int, gpu_type: str = "gpu") -> Cluster:
        """Make a cluster of this many equal servers."""
        from gpusched.model.cluster import Cluster

        gpus = self.gpus_per_server or GPUS_PER_SERVER
        return self.connected(Cluster.uniform(servers, gpus, gpu_type))


@dataclass(frozen=True)
class OutageOptions:
    """When servers are down."""

    outages: Path | None = in_panel(
        CLUSTER, "FILE", None,
        "Outages of servers: CSV, Parquet or TOML with server (from 0), start_s and end_s (dates, "
        "or seconds after the first submission) and kind (fail, drain or maint), or "
        "[bold]sacctmgr list event -P[/] with --cluster from sinfo. Default: none.",
    )  # fmt: skip
    mtbf: float | None = in_panel(
        CLUSTER, "TIME", None,
        "Mean time between failures of a server, such as [bold]30d[/]: draws exponential "
        "failures with --seed.", parser=seconds_of,
    )  # fmt: skip
    repair: float | None = in_panel(
        CLUSTER, "TIME", None,
        f"Mean time to repair a failed server (exponential). Default: {REPAIR_S / 3600:g}h.",
        parser=seconds_of,
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.outages is not None and self.mtbf is not None:
            raise ValueError("--mtbf: cannot be combined with --outages")
        for name in ("mtbf", "repair"):
            if getattr(self, name) is not None:
                from gpusched.base.field_checks import check_positive

                check_positive(f"--{name}", getattr(self, name))

    @property
    def drawn(self) -> dict[str, float]:
        """Mean times of failures to draw; empty for none."""
        if self.mtbf is None and self.repair is not None:
            raise ValueError("--repair: needs --mtbf")
        if self.mtbf is None:
            return {}
        return {"mtbf_s": self.mtbf, "repair_s": REPAIR_S if self.repair is None else self.repair}


EqualServers = Annotated[ClusterOptions, only("servers", "gpus_per_server", "cluster")]
"""Cluster options of commands that ignore networks."""


@dataclass(frozen=True)
class RunOptions:
    """The settings of a run other than its policy."""

    placement: str = in_panel(
        RUN, "NAME", "consolidated", "Placement of jobs; see [bold]gpusched policies[/].",
    )  # fmt: skip
    predictor: str = in_panel(
        RUN, "NAME", "auto",
        "Run times that policies see: [bold]oracle[/] (true), [bold]estimate[/] (the trace's "
        "estimates), [bold]auto[/] (estimates if every job has one, else true), or a predictor "
        "that learns, such as [bold]forest:trees=50[/]; see [bold]gpusched policies[/].",
    )  # fmt: skip
    speed: str | None = in_panel(
        RUN, "NAME", None,
        "Performance model (run time by placement): [bold]fixed[/], [bold]ring[/], "
        "[bold]stages[/], [bold]table[/] or [bold]proportional[/]; see "
        "[bold]gpusched policies[/]. Default: stages with --graphs, table with "
        "--throughputs, ring with --contention, else fixed.",
    )  # fmt: skip
    contention: str = in_panel(
        RUN, "NAME", "none",
        "Sharing of links by jobs: [bold]none[/], [bold]reserved[/] or [bold]shared[/].",
    )  # fmt: skip
    seed: int = SEED
    max_intervals: int | None = in_panel(
        RUN, "N", None,
        "Most intervals in the log of a run, one for each time that a job held GPUs; a run with "
        "more fails. Default: no limit.", min=1,
    )  # fmt: skip
    kill_invalid_depend: bool = flag(
        RUN,
        "Cancel jobs whose dependencies can never be met; else they stay held.",
    )
    priority_age: float | None = in_panel(
        RUN, "TIME", None,
        "Wait that is worth one point of the column priority, such as [bold]1h[/]. Default: "
        "priorities are strict.", parser=seconds_of,
    )  # fmt: skip
    warm_up: float | None = in_panel(
        RUN, "TIME", None,
        "Warm-up, such as [bold]1d[/]: metrics exclude jobs submitted in it, and its GPU time. "
        "Default: the whole run.", parser=seconds_of,
    )  # fmt: skip
    tail: float | None = in_panel(
        RUN, "TIME", None,
        "Tail: metrics end TIME before the last submission. Default: at the last finish.",
        parser=seconds_of,
    )  # fmt: skip

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments for public functions, except the speed."""
        own: dict[str, Any] = {"kill_invalid_depend": True} if self.kill_invalid_depend else {}
        own |= {} if self.priority_age is None else {"priority_age_s": self.priority_age}
        return own | {
            "placement": self.placement,
            "predictor": self.predictor,
            "contention": self.contention,
            "seed": self.seed,
            "warm_up_s": self.warm_up,
            "tail_s": self.tail,
        }

    def speed_for(self, workload: WorkloadOptions) -> str | None:
        """Return the performance model; None leaves it to the run.

        Raises
        ------
        ValueError
            If a name is unknown, or the model lacks its profiles or graphs. Raised before a trace
            is read; the message names the options.
        """
        from gpusched.plugins.policy import ContentionChoice, SpeedChoice

        speed, graphs, throughputs = self.speed, workload.graphs, workload.throughputs
        shares = ContentionChoice.parse(self.contention)
        if throughputs is not None and workload.profiles is not None:
            raise ValueError("--throughputs: cannot be combined with --profiles")
        if speed is None and graphs is not None:
            speed = "stages"
        if speed is None and throughputs is not None:
            speed = "table"
        default = "fixed" if shares.has("uncontended") else "ring"
        paces = SpeedChoice.parse(default if speed is None else speed)
        is_measured = paces.has("throughputs") or paces.has("samples")
        if paces.has("steady") and not shares.has("uncontended"):
            raise ValueError(f"--contention {shares}: has no effect under --speed {paces}")
        if not paces.has("graphs") and graphs is not None:
            raise ValueError(f"--graphs {graphs}: has no effect under --speed {paces}")
        if paces.has("graphs") and graphs is None:
            raise ValueError(f"--speed {paces}: needs --graphs {ZOO}")
        if not is_measured and throughputs is not None:
            raise ValueError(f"--throughputs {throughputs}: has no effect under --speed {paces}")
        if paces.has("throughputs") and not shares.has("uncontended"):
            raise ValueError(f"--contention {shares}: has no effect under --speed {paces}")
        if is_measured and throughputs is None and workload.profiles is None:
            raise ValueError(f"--speed {paces}: needs --throughputs FILE")
        if paces.has("profiles") and workload.profiles is None:
            raise ValueError(f"--speed {paces}: needs --profiles FILE, or --profiles {ZOO}")
        return speed


WHOLE_RUNS: Final = ("max_intervals", "kill_invalid_depend", "priority_age")
"""Options that a search over many runs does not have."""


@dataclass(frozen=True)
class AnswerOptions:
    """What a command reports of runs instead of their metrics."""

    by: list[str] | None = in_panel(
        OUTPUT, "GROUPS", None,
        "Breakdown of waits, JCTs and GPU hours by "
        "[bold]gpus[/] (1, 2-8, 9+), [bold]user[/], [bold]queue[/], [bold]group[/], "
        "[bold]type[/] of the GPUs or [bold]month[/] of submission. May be repeated.",
    )  # fmt: skip
    price: str | None = in_panel(
        OUTPUT, "X or A=X,B=Y", None,
        "Price per GPU-hour, one number or TYPE=PRICE,...; shows the cost of the GPU hours.",
        names=("--price", "--prices"),
    )  # fmt: skip

    def groupings(self) -> tuple[str, ...]:
        """Return the groupings of --by without duplicates.

        Raises
        ------
        ValueError
            If one is unknown; raised before any run.
        """
        from gpusched.results.breakdown import GROUPINGS

        for name in self.by or ():
            if name not in GROUPINGS:
                raise ValueError(f"--by: unknown {name!r}{nearest(name, list(GROUPINGS))}")
        return tuple(dict.fromkeys(self.by or ()))

    def prices(self) -> float | dict[str, float] | None:
        """Return the prices of GPU hours, if given."""
        return None if self.price is None else prices_of("--price", self.price)


@dataclass(frozen=True)
class ShownOptions:
    """How an answer is printed."""

    sort: str | None = in_panel(
        OUTPUT, "COLUMN", None,
        "Column to sort by, best first: a metric such as [bold]mean_jct_s[/], or "
        "[bold]typical[/] in tables of one metric. Default: the given order.",
    )  # fmt: skip
    form: str = in_panel(
        OUTPUT, f"{TEXT}|{'|'.join(FORMATS)}", TEXT,
        "Format of the output: tables only, or [bold]json[/] as --json; csv has all rows, and "
        "values in base units.", names=("--as",),
    )  # fmt: skip
    json: bool = flag(OUTPUT, "Print everything as JSON instead of a table.")

    def __post_init__(self) -> None:
        from gpusched.results.metric_registry import metrics

        if self.form not in (TEXT, *FORMATS):
            raise ValueError(f"--as: unknown {self.form!r}{nearest(self.form, [TEXT, *FORMATS])}")
        known = [*metrics(), *_COLUMNS]
        if self.sort is not None and self.sort not in known:
            raise ValueError(f"--sort: unknown {self.sort!r}{nearest(self.sort, known)}")

    @property
    def is_json(self) -> bool:
        """Whether to print everything as JSON."""
        return self.json or self.form == "json"


Shown = Annotated[ShownOptions, without("sort")]
"""Output options of commands whose tables have a fixed order."""


@dataclass(frozen=True)
class GanttOptions:
    """The timeline of a report: see :func:`gpusched.write_report`."""

    gantt: str | None = in_panel(
        OUTPUT, "FROM:TO", None,
        "Window of the report's timeline, in seconds since the first submission. "
        "Default: the whole run, or the part around the longest queue that fits the chart.",
    )  # fmt: skip

    def window_s(self) -> tuple[float, float] | None:
        """Return the window, checked before anything runs.

        Raises
        ------
        ValueError
            If ``gantt`` is not a window.
        """
        if self.gantt is None:
            return None
        begin, _, end = self.gantt.partition(":")
        try:
            window_s = float(begin), float(end)
        except ValueError:
            window_s = math.nan, math.nan
        if not (all(map(math.isfinite, window_s)) and window_s[0] < window_s[1]):
            text = repr(self.gantt)
            raise ValueError(f"--gantt: {text} must be two increasing times in seconds, FROM:TO")
        return window_s


@dataclass(frozen=True)
class PlaceOptions:
    """Where runs execute."""

    threads: int | None = in_panel(WHERE, "N", None, "Runs at a time. Default: one per CPU.", min=1)
    processes: int | None = in_panel(
        WHERE, "N", None,
        "Runs at a time, in separate processes. Default: one per CPU.", min=1,
    )  # fmt: skip
    dask: str | None = in_panel(
        WHERE, "ADDRESS", None, "Scheduler of a Dask cluster (extra: [bold]dask[/]).",
    )  # fmt: skip
    ray: str | None = in_panel(
        WHERE, f"ADDRESS|{_LOCAL}", None,
        f"Ray cluster; [bold]{_LOCAL}[/] starts one here (extra: [bold]ray[/]).",
    )  # fmt: skip

    def executor(self) -> str | None:
        """Return the value for ``executor=``; None if no option is given.

        Raises
        ------
        ValueError
            If more than one option is given.
        """
        named = {
            "--threads": self.threads,
            "--processes": self.processes,
            "--dask": self.dask,
            "--ray": self.ray,
        }
        given = {
            option: "ray" if (option, value) == ("--ray", _LOCAL) else f"{option[2:]}:{value}"
            for option, value in named.items()
            if value is not None
        }
        if len(given) > 1:
            raise ValueError(f"{' and '.join(given)}: cannot be combined; use one")
        return next(iter(given.values()), None)


def split_names(texts: Sequence[str], kind: str) -> list[str]:
    """Split ``a,b:x=1,y=2,c`` into ``a``, ``b:x=1,y=2`` and ``c``.

    A piece of the form key=value belongs to the name before it.

    Parameters
    ----------
    kind
        What the texts name, ``policy`` or ``placement``; the error names its option.

    Raises
    ------
    ValueError
        If a key=value piece follows no name, or a name without a colon.
    """
    option = {"policy": "--policies", "placement": "--placements"}[kind]
    names: list[str] = []
    for text in texts:
        begins = len(names)
        for piece in filter(None, (piece.strip() for piece in text.split(","))):
            name, is_parameter, _ = piece.partition("=")
            if not is_parameter or ":" in name:
                names.append(piece)
            elif len(names) == begins:
                raise ValueError(f"{option}: {piece!r} follows no {kind}")
            elif ":" not in names[-1]:
                raise ValueError(f"{option}: parameters follow a colon: {names[-1]}:{piece}")
            else:
                names[-1] += f",{piece}"
    if not names:
        raise ValueError(f"{option}: names no {kind}")
    return names


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Read the KEY=VALUE pairs of ``option``.

    Raises
    ------
    ValueError
        If a text is not of that form, or a key is given twice.
    """
    read: dict[str, str] = {}
    for text in texts or ():
        key, _, value = (part.strip() for part in text.partition("="))
        if not (key and value):
            raise ValueError(f"{option}: {text!r} is not of the form KEY=VALUE")
        if key in read:
            raise ValueError(f"{option}: {key} is given twice")
        read[key] = value
    return read


def format_options(options: Sequence[str] | None) -> dict[str, Any]:
    """Read the options of a format; digits become integers."""
    read = pairs("--option", options)
    return {key: int(value) if value.isdigit() else value for key, value in read.items()}


def prices_of(option: str, text: str) -> float | dict[str, float]:
    """Read ``2.5``, or ``V100=2.5,A100=4``.

    Raises
    ------
    ValueError
        If the text is neither; the message names ``option``.
    """

    def number(price: str) -> float:
        try:
            return float(price)
        except ValueError:
            raise ValueError(f"{option}: {price!r} must be a number, or TYPE=NUMBER,...") from None

    if "=" not in text:
        return number(text)
    return {kind: number(price) for kind, price in pairs(option, text.split(",")).items()}


Input = str | Path | None


def read_files(
    trace: Sequence[Path] | None = None,
    workload: WorkloadOptions | None = None,
    cluster: Path | None = None,
    outages: Path | None = None,
) -> dict[str, Input]:
    """Return the files that a command reads, keyed by their role."""
    files = [path for path in trace or () if str(path) != "-"]
    read: dict[str, Input] = {
        f"trace {number}" if number > 1 else "trace": path for number, path in enumerate(files, 1)
    }
    read |= {"cluster": cluster, "file of outages": outages}
    if workload is not None:
        read["file of profiles"] = None if workload.profiles == ZOO else workload.profiles
        read["file of throughputs"] = workload.throughputs
    return read


def prepare_folder(folder: Path, names: Sequence[str], inputs: Mapping[str, Input]) -> None:
    """Make a folder; check that files ``names`` can be written there and are not inputs."""
    check_folder(folder, tuple(names))
    refuse_inputs((folder / name for name in names), inputs)


def prepare_target(target: Path, inputs: Mapping[str, Input]) -> None:
    """Check that a file can be written and is not an input."""
    refuse_inputs((target,), inputs)
    check_target(target)
