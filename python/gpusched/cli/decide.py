"""``gpusched decide`` and ``gpusched when``: decisions and forecasts for a cluster snapshot."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np

from gpusched.base.defaults import POLICY
from gpusched.base.tables import Column, Value, table, text_column
from gpusched.cli.console import remark, show_json, show_lines, show_table
from gpusched.cli.options import RunOptions, Shown, argument, flag, format_options, in_panel, only
from gpusched.online.decision import decide as decided
from gpusched.online.decision_lines import Action, answer, answer_of, state_schema
from gpusched.online.holding import holds_now
from gpusched.online.states.state_formats import read_state
from gpusched.traces.job_columns import unused

if TYPE_CHECKING:
    from gpusched.base.tables import Table
    from gpusched.online.cluster_state import ClusterState
    from gpusched.online.starting import StartForecast

EPILOG: Final = """
[bold]Examples[/]

gpusched decide --state cluster.json --policy easy

gpusched decide --state squeue.json --state sinfo.json --policy easy

gpusched decide --state folder --policy srtf --json | jq .actions

my-controller | gpusched decide --stream --policy easy

gpusched decide --schema
"""
WHEN_EPILOG: Final = """
[bold]Examples[/]

gpusched when job-17 --state cluster.json --history last-month.csv

gpusched when job-17 --state cluster.json --history jobs.csv --policy easy --json

gpusched when --all --state squeue.json --state sinfo.json --policy easy
"""

_STATE: Final = in_panel(
    None, "FILE|DIR", None,
    "Snapshot of the cluster: servers, running and waiting jobs. A file, or a folder of files. "
    "May be repeated. gpusched's own format: [bold]gpusched decide --schema[/].",
)  # fmt: skip
_FORMAT: Final = in_panel(
    None,
    "NAME",
    None,
    "Format of --state: [bold]gpusched[/], [bold]slurm[/] or [bold]kueue[/]. Default: detected.",
)
_OPTION: Final = in_panel(
    None, "KEY=VALUE", None,
    "Option of the format, such as [bold]partition=gpu[/]. May be repeated.",
)  # fmt: skip
_POLICY: Final = in_panel(
    None, "NAME[:KEY=VALUE,...]", POLICY, "Policy that decides.", names=("--policy", "-p")
)
_OUTAGES: Final = in_panel(
    None, "FILE", None,
    "Planned outages of servers on the clock of --state: a file as for [bold]gpusched run "
    "--outages[/], with names or numbers of servers. Default: none.",
)  # fmt: skip
Asked = Annotated[RunOptions, only("placement", "seed")]


def decide(
    state: list[Path] | None = _STATE,
    format: str | None = _FORMAT,
    option: list[str] | None = _OPTION,
    policy: str = _POLICY,
    outages: Path | None = _OUTAGES,
    *,
    how: Asked,
    stream: bool = flag(
        None,
        "Read one JSON request per line from stdin; write one JSON reply per line, also for "
        "invalid requests.",
    ),
    schema: bool = flag(
        None,
        "Print the JSON schema of --state, or the schemas of --stream, and exit.",
    ),
    shown: Shown,
) -> None:
    """Show what a policy would start and preempt now in a snapshot.

    Prints which jobs to start on which GPUs, which to preempt, and why: the
    decision that a simulation would take in this state. Reads gpusched's JSON,
    the output of squeue --json and sinfo --json, or Kueue objects.
    """
    if schema:
        lines = {"request": state_schema("request"), "answer": state_schema("answer")}
        show_json(lines if stream else state_schema())
        return
    given: dict[str, Any] = {"policy": policy, "placement": how.placement, "seed": how.seed}
    if stream:
        if state or format or option or outages:
            raise ValueError(
                "--stream: cannot be combined with --state, --format, --option or --outages"
            )
        _answer_lines(given)
        return
    cluster = _state_of(state, format, option)
    found = decided(cluster, **given, **_planned(outages, cluster))
    told = answer_of(found, explain=shown.is_json)
    if shown.is_json:
        values = msgspec.to_builtins(told)
        del values["id"], values["memory"]
        show_json(values)
        return
    if told.actions:
        columns = ("what", text_column("job"), "GPUs", text_column("where"), text_column("why"))
        rows = [(a.what, a.id, str(a.gpus), _where(a), a.why) for a in told.actions]
        show_table(table("", columns, rows))
    else:
        show_lines(["no action needed now"])
    ids = found.state.jobs.id
    remark([f"job {ids[row]} is held: {why}" for row, why in found.holds.items()])
    remark([f"decided by {policy}, placement {how.placement}"])
    if found.wake_s is not None:
        show_lines([f"next decision at {found.wake_s:g} s at the latest"])


def when(
    job: str | None = argument("ID", None, "Waiting job in --state."),
    state: list[Path] | None = _STATE,
    format: str | None = _FORMAT,
    option: list[str] | None = _OPTION,
    history: Path | None = in_panel(
        None,
        "TRACE",
        None,
        "Trace of finished jobs, to draw run times from. Default: the run times in --state.",
    ),
    policy: str = _POLICY,
    samples: int = in_panel(None, "N", 1000, "Number of simulated futures.", min=1, max=100_000),
    all: bool = in_panel(None, None, False, "Show a table of all waiting jobs."),
    outages: Path | None = _OUTAGES,
    *,
    how: Asked,
    shown: Shown,
) -> None:
    """Forecast when, and on which servers, a waiting job starts.

    Also shows which changes would make it start earlier. Each sample draws run
    times from finished jobs that ran longer than the job has so far, and
    simulates the cluster until the job starts.
    """
    from gpusched.online.starting import when as asked
    from gpusched.online.starting import when_all
    from gpusched.traces.reading import read_quietly

    if (job is None) != all:
        raise ValueError("ID: name one waiting job, or use --all")
    cluster = _state_of(state, format, option)
    rows = np.flatnonzero(cluster.jobs.id.astype(str) == job)
    if not all and not len(rows):
        raise ValueError(f"ID: {', '.join(map(str, state or ()))} has no job {job!r}")
    known = None if history is None else read_quietly(history)
    options: dict[str, Any] = {
        "policy": policy, "placement": how.placement, "history": known, "samples": samples,
        "seed": how.seed,
    }  # fmt: skip
    options |= _planned(outages, cluster)
    every = when_all(cluster, **options) if all else [asked(int(rows[0]), cluster, **options)]
    if known is not None:
        left_out = known.rejects.lines()
        remark((f"left out of the history: {line}" for line in left_out), style="yellow")
    remark(every[0].notes if every else ())
    held = holds_now(cluster)
    remark([f"job {each.id} is held: {held[each.job]}" for each in every if each.job in held])
    if shown.is_json:
        found = [each.to_dict() for each in every]
        show_json({"jobs": found} if all else found[0])
        return
    if all:
        show_table(_starts(every, cluster))
    else:
        print(every[0])
    remark([f"decided by {policy}, placement {how.placement}"])
    if known is None:
        remark(["future submissions are not simulated; some of them may start first"])
    if every and not every[0].is_sampled:
        remark(["run times are those of --state; --history draws them from finished jobs"])
    if gone := cluster.num_withheld:
        but = "" if outages is None else ", but for --outages"
        remark([f"{gone:,} GPUs are out of use; assumed to stay so{but}"])


def _starts(every: list[StartForecast], cluster: ClusterState) -> Table:
    """Lay out the start times, counted from now."""
    times = {"5%": 0.05, "median": 0.5, "95%": 0.95}
    columns = [text_column("job"), Column("GPUs", kind="count")]
    columns += [Column(name, kind="time") for name in times] + [text_column("most likely on")]
    rows: list[list[Value]] = []
    for found in every:
        starts_s = dict(zip(found.quantiles, found.quantile_s.tolist(), strict=True))
        waits = (starts_s[part] - found.now_s for part in times.values())
        told: list[Value] = ["never" if np.isinf(wait) else wait for wait in waits]
        places = ", ".join(f"{server} ({share:.0%})" for server, share in found.likeliest)
        rows.append([str(found.id), int(cluster.jobs.gpus[found.job]), *told, places])
    return table("starts, counted from now", columns, rows)


def _state_of(
    files: list[Path] | None, format: str | None, given: list[str] | None
) -> ClusterState:
    """Read the snapshot; print rejected jobs and assumptions to stderr."""
    if not files:
        raise ValueError("--state: a file is needed; gpusched decide --schema shows its format")
    options: dict[str, Any] = {**format_options(given)}
    state = read_state(files, format, **options)
    remark((f"left out: {line}" for line in state.jobs.rejects.lines()), style="yellow")
    remark([*state.jobs.notes, *unused(state.jobs, "cancel_at_s")])
    return state


def _planned(outages: Path | None, cluster: ClusterState) -> dict[str, Any]:
    """Read planned outages, if any, by the names of the snapshot's servers."""
    from gpusched.cli.workload import outages_told
    from gpusched.traces.outages import read_outages

    if outages is None:
        return {}
    names = [server.name for server in cluster.servers]
    planned = read_outages(outages, names=names or None, trace=cluster.jobs)
    remark(outages_told(planned))
    return {"outages": planned}


def _answer_lines(defaults: dict[str, Any]) -> None:
    """Reply to each line of stdin until it ends."""
    for line in iter(sys.stdin.buffer.readline, b""):
        if line.strip():
            sys.stdout.buffer.write(answer(line, defaults) + b"\n")
            sys.stdout.buffer.flush()


def _where(action: Action) -> str:
    named = ((each.name or str(each.server), each.gpus) for each in action.held)
    return ", ".join(f"{server}:{_listed(gpus)}" for server, gpus in named)


def _listed(gpus: tuple[int, ...]) -> str:
    first, last = gpus[0], gpus[-1]
    is_range = len(gpus) > 1 and gpus == tuple(range(first, last + 1))
    return f"{first}-{last}" if is_range else "+".join(map(str, gpus))
