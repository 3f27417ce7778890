"""Options that several commands share, in groups that a command takes as one parameter each.

A group is a frozen dataclass whose fields are options. A command names it as the type of a
parameter, and :func:`expanded` puts the options in its place::

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

from gpusched.base.defaults import GPUS_PER_SERVER, MAX_LOAD, NUM_SERVERS
from gpusched.base.replacing import check_folder, check_target, refuse_inputs
from gpusched.base.suggest import nearest
from gpusched.base.tables import FORMATS
from gpusched.base.units import seconds_of, share_of
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
    """Offer an option in a panel of the help: a parameter of a command, or a field of a group.

    Parameters
    ----------
    default
        ``...`` for what must be given; else it is shown, unless it is None or False.
    how
        Arguments of :func:`typer.Option`, and ``names`` where it is not called as the parameter is.
    """
    shown = all(default is not value for value in (None, False, ...))
    how = {"metavar": metavar, "help": help, "rich_help_panel": panel, "show_default": shown} | how
    return field(default=MISSING if default is ... else default, metadata={_OFFERED: how})


def flag(panel: str | None, help: str, **how: Any) -> Any:
    """Offer an option without a value."""
    return in_panel(panel, None, False, help, **how)


def argument(metavar: str, default: Any, help: str) -> Any:
    """Offer an argument; ``default`` is ``...`` for what must be given."""
    return in_panel(None, metavar, default, help, names=())


def folder(default: Path | None, contents: str, **how: Any) -> Any:
    """Offer ``--out DIR``: where a command writes its files."""
    return in_panel(OUTPUT, "DIR", default, f"Folder for {contents}", **how)


def _parameter(name: str, kind: Any, offered: Any) -> inspect.Parameter:
    """Return the parameter that is offered; one that is none of ours stays as it is."""
    if isinstance(offered, Field):
        how = dict(offered.metadata[_OFFERED])
        names = how.pop("names", (f"--{name.replace('_', '-')}",))
        kind = Annotated[kind, typer.Option(*names, **how) if names else typer.Argument(**how)]
        offered = inspect.Parameter.empty if offered.default is MISSING else offered.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=offered, annotation=kind)


class _Part(msgspec.Struct, frozen=True):
    """Which fields of a group a command has."""

    names: tuple[str, ...]
    is_all_but: bool = False

    def of(self, group: Any) -> list[str]:
        every = [field.name for field in fields(group)]
        return [name for name in every if (name in self.names) is not self.is_all_but]


def only(*names: str) -> Any:
    """Mark a group of which a command has these options alone."""
    return _Part(names)


def without(*names: str) -> Any:
    """Mark a group of which a command has all options but these."""
    return _Part(names, is_all_but=True)


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of its groups into the signature of a command, and hand it the groups."""
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
    "Trace files of any format that [bold]gpusched trace info[/] recognises, packed or "
    "not; several become one trace; [bold]-[/] is stdin. "
    f"Default: {NUM_JOBS:,} generated {GENERATOR}-like jobs.",
)  # fmt: skip
FILES: Final = argument(
    "FILE...", ..., "A trace file, or several that become one trace; [bold]-[/] is stdin."
)
SEED: Final = in_panel(RUN, "S", 0, "Of all that is random.", min=0)
DRY: Final = flag(RUN, "The same as --dry-run.", hidden=True)
DATA: Final = in_panel(
    RUN, "FOLDER", None,
    "Where the published traces are, a folder each; what is missing is named. Default: "
    "[bold]$GPUSCHED_DATA[/].",
)  # fmt: skip


@dataclass(frozen=True)
class WorkloadOptions:
    """How a trace is read, which part of it is taken, and what its jobs get beside."""

    format: str | None = in_panel(WORKLOAD, "NAME", None, "Format of TRACE. Default: detected.")
    column: list[str] | None = in_panel(
        WORKLOAD, "OURS=THEIRS", None,
        "Name of a column in a CSV or Parquet file, such as "
        "[bold]service_s=duration[/]. May be repeated.",
    )  # fmt: skip
    option: list[str] | None = in_panel(
        WORKLOAD, "KEY=VALUE", None,
        "Option of the format, such as [bold]processors_per_gpu=8[/] for SWF. "
        "May be repeated. Without TRACE: [bold]model=1[/] generates the jobs of versions before.",
    )  # fmt: skip
    jobs: int | None = in_panel(
        WORKLOAD, "N", None, "Take the first N jobs; without TRACE, generate N.", min=1,
    )  # fmt: skip
    load: float | None = in_panel(
        WORKLOAD, "X", None,
        "Rescale the gaps between arrivals to this load: the jobs' GPU time over the "
        "cluster's, such as 0.9 or 90%. Default: as in TRACE; "
        f"{MAX_LOAD} without TRACE.", parser=share_of,
    )  # fmt: skip
    restart: float | None = in_panel(
        WORKLOAD, "TIME", None,
        "What it costs each job to start again after a preemption, such as [bold]60s[/], in place "
        "of the column restart_s. Default: as in TRACE; nothing without the column.",
        parser=seconds_of,
    )  # fmt: skip
    profiles: str | None = in_panel(
        WORKLOAD, f"FILE|{ZOO}", None,
        "What an iteration of a job costs: profiles in TOML or JSON, or the built-in "
        "ones. A job has the one its group names, if all groups name one, or one drawn with "
        "--seed.",
    )  # fmt: skip
    graphs: str | None = in_panel(
        WORKLOAD, f"{ZOO}[:heavy_share=X]", None,
        "Stages and replicas of each job: those of a model drawn with --seed, for speed "
        "[bold]stages[/]. X: share of the wide jobs that communicate heavily.",
    )  # fmt: skip
    throughputs: str | None = in_panel(
        WORKLOAD, "FILE", None,
        "Iterations per second by model, GPU type and number of GPUs: a table of Gavel "
        "(.json), the folder of Pollux, or CSV. A job has the model its group names, or one "
        "drawn with --seed. Implies speed [bold]table[/].",
    )  # fmt: skip
    deadlines: str | None = in_panel(
        WORKLOAD, "KEY=VALUE,...", None,
        "Draw deadlines: submit + U(0.5, 1.5) x tightness x service. Keys: "
        "[bold]tightness[/] (1), [bold]seed[/] (0), [bold]share[/] of the jobs (1), "
        "[bold]value[/] (1), [bold]recipe[/] (elasticflow, or constant for no spread).",
    )  # fmt: skip
    member: str | None = in_panel(
        WORKLOAD, "NAME", None, "Which file of an archive of several is the trace.",
    )  # fmt: skip
    max_bytes: int | None = in_panel(
        WORKLOAD, "N", None,
        "Refuse files that have, or unpack to, more bytes. Default: 4 GiB, and 250 times "
        "the size of a packed file.", min=1,
    )  # fmt: skip
    since: str | None = in_panel(
        WORKLOAD, "TIME", None,
        "Leave out jobs submitted before: seconds after the first one, or a time such as "
        "[bold]2024-05-01T09:00[/] where TRACE has dates.", names=("--from",),
    )  # fmt: skip
    until: str | None = in_panel(
        WORKLOAD, "TIME", None, "Leave out jobs submitted then or later.", names=("--to",),
    )  # fmt: skip
    filter: str | None = in_panel(
        WORKLOAD, "CONDITION", None,
        "Take the jobs for which this holds, in SQL: "
        "[bold]\"gpus >= 8 and user != 'x'\"[/].",
    )  # fmt: skip
    reference_type: str | None = in_panel(
        WORKLOAD, "TYPE", None,
        "The GPU type on which the run times of TRACE are, where types differ in speed. Default: "
        "of a job that may use one type that one, of others a GPU of speed 1; with --throughputs "
        "the fastest that a job may use.",
    )  # fmt: skip
    sample: float | None = in_panel(
        WORKLOAD, "X", None,
        "Take this part of the jobs, such as 0.1 or 10%, drawn with --seed; the load falls with "
        "it.", parser=share_of,
    )  # fmt: skip

    @property
    def columns(self) -> dict[str, str]:
        """What the columns of the file are called."""
        return pairs("--column", self.column)

    @property
    def format_options(self) -> dict[str, Any]:
        """The options of the format."""
        return format_options(self.option)

    @property
    def needing_a_trace(self) -> str:
        """What was given of what makes sense for a file alone; empty if nothing was."""
        if self.format is not None or self.columns or self.format_options.keys() - {"model"}:
            return "--format, --column and --option (but for model): need a TRACE"
        names = ("member", "max_bytes", "since", "until", "filter", "reference_type", "sample")
        for name in names:
            if getattr(self, name) is not None:
                said = {"since": "from", "until": "to"}.get(name, name).replace("_", "-")
                return f"--{said}: needs a TRACE"
        return ""


TraceOptions = Annotated[
    WorkloadOptions,
    without(
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
"""Of commands that look at a trace."""


@dataclass(frozen=True)
class ClusterOptions:
    """The cluster, and how its servers are connected."""

    servers: int | None = in_panel(
        CLUSTER, "N", None,
        "Number of equal servers. Default: the fewest of the types that jobs name with load at "
        f"most {MAX_LOAD} and room for the widest job, and none that would be idle if no job "
        f"waited; {NUM_SERVERS} without TRACE.", min=1,
    )  # fmt: skip
    gpus_per_server: int | None = in_panel(
        CLUSTER, "G", None, f"GPUs of each server. Default: {GPUS_PER_SERVER}.", min=1,
    )  # fmt: skip
    cluster: Path | None = in_panel(
        CLUSTER, "FILE", None, "A cluster in TOML, in place of the others here.",
    )  # fmt: skip
    type_speeds: str | None = in_panel(
        CLUSTER, "A=X,B=Y", None,
        "How many times as fast a GPU of each type is as that on which run times are stated, such "
        "as [bold]a100=2.1,v100=1[/]. Default: as in the file of the cluster, else 1.",
    )  # fmt: skip
    nic_gbps: float | None = in_panel(
        CLUSTER, "X", None, "Bandwidth of each server's network card, Gbit/s.",
    )  # fmt: skip
    intra_gbps: float | None = in_panel(
        CLUSTER, "X", None, "Bandwidth between the GPUs of a server, Gbit/s.",
    )  # fmt: skip
    servers_per_rack: int | None = in_panel(
        CLUSTER, "N", None, "Put the servers in racks of N below one spine.", min=1,
    )  # fmt: skip
    oversubscription: float | None = in_panel(
        CLUSTER, "X", None, "Network cards of a rack over its uplink. Default: 1.",
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.oversubscription is not None and self.servers_per_rack is None:
            raise ValueError("--oversubscription: needs --servers-per-rack")

    @property
    def is_open(self) -> bool:
        """Whether nothing says which cluster it is."""
        return self.servers is None and self.cluster is None

    @property
    def has_network(self) -> bool:
        """Whether anything is said of the network."""
        said = (self.nic_gbps, self.intra_gbps, self.servers_per_rack, self.oversubscription)
        return any(value is not None for value in said)

    @property
    def speeds(self) -> dict[str, float] | None:
        """The speeds of GPU types, where they are given."""
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
                raise ValueError("--cluster: cannot be combined with options of the network")
            from gpusched.traces.inventories import read_cluster

            return read_cluster(self.cluster).with_speeds(self.speeds or {})
        return None if self.servers is None else self.uniform(self.servers)

    def uniform(self, servers: int, gpu_type: str = "gpu") -> Cluster:
        """Make a cluster of that many servers."""
        from gpusched.model.cluster import Cluster

        gpus = self.gpus_per_server or GPUS_PER_SERVER
        return self.connected(Cluster.uniform(servers, gpus, gpu_type))


EqualServers = Annotated[ClusterOptions, only("servers", "gpus_per_server", "cluster")]
"""Of commands for which networks do not matter."""


@dataclass(frozen=True)
class RunOptions:
    """What a run is done with beside its policy."""

    placement: str = in_panel(
        RUN, "NAME", "consolidated", "Where jobs go, see [bold]gpusched policies[/].",
    )  # fmt: skip
    predictor: str = in_panel(
        RUN, "NAME", "auto",
        "What policies know of service times: [bold]oracle[/] (the truth), "
        "[bold]estimate[/] (the trace's own), [bold]auto[/] (the trace's own if every job has "
        "one, else the truth), or one that learns in the run, such as "
        "[bold]forest:trees=50[/]; see [bold]gpusched policies[/].",
    )  # fmt: skip
    speed: str | None = in_panel(
        RUN, "NAME", None,
        "How long a job takes where it runs: [bold]fixed[/], [bold]ring[/], "
        "[bold]stages[/], [bold]table[/] or [bold]proportional[/], see "
        "[bold]gpusched policies[/]. Default: fixed; stages with --graphs, table with "
        "--throughputs, else ring with a contention.",
    )  # fmt: skip
    contention: str = in_panel(
        RUN, "NAME", "none",
        "How jobs share a link: [bold]none[/], [bold]reserved[/] or [bold]shared[/].",
    )  # fmt: skip
    seed: int = SEED
    max_intervals: int | None = in_panel(
        RUN, "N", None,
        "End a run whose log has more intervals: one for each time that a job held GPUs. "
        "Default: no limit.", min=1,
    )  # fmt: skip
    warm_up: float | None = in_panel(
        RUN, "TIME", None,
        "Measure what comes after the first TIME, such as [bold]1d[/]: the jobs submitted then, "
        "and GPU time from then on. Default: the whole run.", parser=seconds_of,
    )  # fmt: skip
    tail: float | None = in_panel(
        RUN, "TIME", None,
        "Measure until TIME before the last submission. Default: until the last finish.",
        parser=seconds_of,
    )  # fmt: skip

    @property
    def settings(self) -> dict[str, Any]:
        """What the public functions are given of them, all but the speed."""
        return {
            "placement": self.placement,
            "predictor": self.predictor,
            "contention": self.contention,
            "seed": self.seed,
            "warm_up_s": self.warm_up,
            "tail_s": self.tail,
        }

    def speed_for(self, workload: WorkloadOptions) -> str | None:
        """Return the speed to run at; None leaves it to the run.

        Raises
        ------
        ValueError
            If the texts name no models, or the speed lacks its profiles or graphs: before a trace
            is read, and in terms of the options.
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


@dataclass(frozen=True)
class AnswerOptions:
    """What is told of runs beside their metrics."""

    by: list[str] | None = in_panel(
        OUTPUT, "GROUPS", None,
        "Break waits, JCTs and GPU hours down by "
        "[bold]gpus[/] (1, 2-8, 9+), [bold]user[/], [bold]queue[/], [bold]group[/], "
        "[bold]type[/] of the GPUs or [bold]month[/] of submission. May be repeated.",
    )  # fmt: skip
    price: str | None = in_panel(
        OUTPUT, "X or A=X,B=Y", None,
        "Of an hour of a GPU, for all types or each: tells what the GPU hours cost.",
        names=("--price", "--prices"),
    )  # fmt: skip

    def groupings(self) -> tuple[str, ...]:
        """Return what to break down by, each once.

        Raises
        ------
        ValueError
            If one is unknown: before anything runs.
        """
        from gpusched.results.breakdown import GROUPINGS

        for name in self.by or ():
            if name not in GROUPINGS:
                raise ValueError(f"--by: unknown {name!r}{nearest(name, list(GROUPINGS))}")
        return tuple(dict.fromkeys(self.by or ()))

    def prices(self) -> float | dict[str, float] | None:
        """Return what GPU hours cost, if that was said."""
        return None if self.price is None else prices_of("--price", self.price)


@dataclass(frozen=True)
class ShownOptions:
    """How an answer is printed."""

    sort: str | None = in_panel(
        OUTPUT, "COLUMN", None,
        "Sort the rows by this column, the best first: a metric such as [bold]mean_jct_s[/], or "
        "[bold]typical[/] in tables of one metric. Default: the order in which they are given.",
    )  # fmt: skip
    form: str = in_panel(
        OUTPUT, f"{TEXT}|{'|'.join(FORMATS)}", TEXT,
        "Print the tables alone in this form; csv has all rows, and values in base units. "
        "[bold]json[/] is --json.", names=("--as",),
    )  # fmt: skip
    json: bool = flag(OUTPUT, "Print all there is as JSON instead of a table.")

    def __post_init__(self) -> None:
        from gpusched.results.metric_registry import metrics

        if self.form not in (TEXT, *FORMATS):
            raise ValueError(f"--as: unknown {self.form!r}{nearest(self.form, [TEXT, *FORMATS])}")
        known = [*metrics(), *_COLUMNS]
        if self.sort is not None and self.sort not in known:
            raise ValueError(f"--sort: unknown {self.sort!r}{nearest(self.sort, known)}")

    @property
    def is_json(self) -> bool:
        """Whether all there is shall be printed as JSON."""
        return self.json or self.form == "json"


Shown = Annotated[ShownOptions, without("sort")]
"""Of tables with an order of their own."""


@dataclass(frozen=True)
class GanttOptions:
    """The timeline of a report: see :func:`gpusched.write_report`."""

    gantt: str | None = in_panel(
        OUTPUT, "FROM:TO", None,
        "Window of the report's timeline, in seconds since the first submission. "
        "Default: all, or as much around the longest queue as has few enough bars.",
    )  # fmt: skip

    def window_s(self) -> tuple[float, float] | None:
        """Return the window, checked before anything runs.

        Raises
        ------
        ValueError
            If ``gantt`` is none.
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
    """Where runs take place."""

    threads: int | None = in_panel(WHERE, "N", None, "Runs at a time. Default: one per CPU.", min=1)
    processes: int | None = in_panel(
        WHERE, "N", None,
        "Runs at a time, each in a process of its own. Default: one per CPU.", min=1,
    )  # fmt: skip
    dask: str | None = in_panel(
        WHERE, "ADDRESS", None, "The scheduler of a Dask cluster (extra: [bold]dask[/]).",
    )  # fmt: skip
    ray: str | None = in_panel(
        WHERE, f"ADDRESS|{_LOCAL}", None,
        f"A Ray cluster; [bold]{_LOCAL}[/] starts one here (extra: [bold]ray[/]).",
    )  # fmt: skip

    def executor(self) -> str | None:
        """Return what an ``executor`` may be told; None if nothing is said.

        Raises
        ------
        ValueError
            If more than one of them is given.
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
            raise ValueError(f"{' and '.join(given)}: name one of them")
        return next(iter(given.values()), None)


def split_names(texts: Sequence[str], kind: str) -> list[str]:
    """Split ``a,b:x=1,y=2,c`` into ``a``, ``b:x=1,y=2`` and ``c``.

    A piece of the form key=value goes on with the name before it.

    Parameters
    ----------
    kind
        What is named; the option is called the same.

    Raises
    ------
    ValueError
        If such a piece follows no name, or one without a colon.
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
    """Read the KEY=VALUE pairs that ``option`` was given.

    Raises
    ------
    ValueError
        If one is not of that form, or a key is given twice.
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
    """Read the options of a format; what looks like a whole number is one."""
    read = pairs("--option", options)
    return {key: int(value) if value.isdigit() else value for key, value in read.items()}


def prices_of(option: str, text: str) -> float | dict[str, float]:
    """Read ``2.5``, or ``V100=2.5,A100=4``.

    Raises
    ------
    ValueError
        If it is neither; the message names ``option``.
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
) -> dict[str, Input]:
    """Return the files that a command reads, by what they are."""
    files = [path for path in trace or () if str(path) != "-"]
    read: dict[str, Input] = {
        f"trace {number}" if number > 1 else "trace": path for number, path in enumerate(files, 1)
    }
    read["cluster"] = cluster
    if workload is not None:
        read["file of profiles"] = None if workload.profiles == ZOO else workload.profiles
        read["file of throughputs"] = workload.throughputs
    return read


def prepare_folder(folder: Path, names: Sequence[str], inputs: Mapping[str, Input]) -> None:
    """Make a folder, and see that files ``names`` can be written there and are no inputs."""
    check_folder(folder, tuple(names))
    refuse_inputs((folder / name for name in names), inputs)


def prepare_target(target: Path, inputs: Mapping[str, Input]) -> None:
    """See that a file can be written and is no input."""
    refuse_inputs((target,), inputs)
    check_target(target)
