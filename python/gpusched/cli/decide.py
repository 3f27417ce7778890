"""``gpusched decide`` and ``gpusched when``: what a policy would do on a cluster as it is."""

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
    "The cluster now: its servers, who runs where, who waits. A file, a folder "
    "of them, or several by naming the option again; for our own format see "
    "[bold]gpusched decide --schema[/].",
)  # fmt: skip
_FORMAT: Final = in_panel(
    None, "NAME", None, "[bold]gpusched[/], [bold]slurm[/] or [bold]kueue[/]. Default: detected."
)
_OPTION: Final = in_panel(
    None, "KEY=VALUE", None,
    "Option of the format, such as [bold]partition=gpu[/]. May be repeated.",
)  # fmt: skip
_POLICY: Final = in_panel(
    None, "NAME[:KEY=VALUE,...]", POLICY, "The policy that decides.", names=("--policy", "-p")
)
Asked = Annotated[RunOptions, only("placement", "seed")]


def decide(
    state: list[Path] | None = _STATE,
    format: str | None = _FORMAT,
    option: list[str] | None = _OPTION,
    policy: str = _POLICY,
    *,
    how: Asked,
    stream: bool = flag(
        None,
        "Answer each line of stdin, a request in JSON, with a line; a mistake too.",
    ),
    schema: bool = flag(
        None,
        "Print the JSON schema of the file, or those of the lines of --stream, and end.",
    ),
    shown: Shown,
) -> None:
    """Tell what a policy would do now on a cluster as it is.

    Which jobs to start on which GPUs, which to preempt, and why. It is the
    decision that a simulation would take which has come to that state. The
    state is read from our own JSON, from what squeue --json and sinfo --json
    print, or from objects of Kueue.
    """
    if schema:
        lines = {"request": state_schema("request"), "answer": state_schema("answer")}
        show_json(lines if stream else state_schema())
        return
    given: dict[str, Any] = {"policy": policy, "placement": how.placement, "seed": how.seed}
    if stream:
        if state or format or option:
            raise ValueError("--stream: states come on stdin, not in files")
        _answer_lines(given)
        return
    found = decided(_state_of(state, format, option), **given)
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
        show_lines(["nothing is to be done now"])
    remark([f"decided by {policy}, placement {how.placement}"])
    if found.wake_s is not None:
        show_lines([f"ask again at {found.wake_s:g} s, whatever happens by then"])


def when(
    job: str | None = argument("ID", None, "A job of the file that waits."),
    state: list[Path] | None = _STATE,
    format: str | None = _FORMAT,
    option: list[str] | None = _OPTION,
    history: Path | None = in_panel(
        None,
        "TRACE",
        None,
        "Finished jobs, from which run times are drawn. Default: every job takes as long "
        "as the state says.",
    ),
    policy: str = _POLICY,
    samples: int = in_panel(None, "N", 1000, "How many are drawn.", min=1, max=100_000),
    all: bool = in_panel(None, None, False, "Tell it of every job that waits, in a table."),
    *,
    how: Asked,
    shown: Shown,
) -> None:
    """Tell when a job that waits would start, and on what.

    And what would make that sooner. For every job that runs or waits a run
    time is drawn from finished jobs that took longer than it has already, and
    the cluster is run on until the job starts, many times.
    """
    from gpusched.online.starting import when as asked
    from gpusched.online.starting import when_all
    from gpusched.traces.reading import read_quietly

    if (job is None) != all:
        raise ValueError("ID: name one job that waits, or --all")
    cluster = _state_of(state, format, option)
    rows = np.flatnonzero(cluster.jobs.id.astype(str) == job)
    if not all and not len(rows):
        raise ValueError(f"ID: {', '.join(map(str, state or ()))} has no job {job!r}")
    known = None if history is None else read_quietly(history)
    options: dict[str, Any] = {
        "policy": policy, "placement": how.placement, "history": known, "samples": samples,
        "seed": how.seed,
    }  # fmt: skip
    every = when_all(cluster, **options) if all else [asked(int(rows[0]), cluster, **options)]
    if known is not None:
        left_out = known.rejects.lines()
        remark((f"left out of the history: {line}" for line in left_out), style="yellow")
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
        remark(["jobs that are still to be submitted are not counted: some may go first"])
    if every and not every[0].is_sampled:
        remark(["every job takes as long as the state says; --history draws run times"])
    if gone := cluster.num_withheld:
        remark([f"{gone:,} GPUs are out of use, and taken to stay so"])


def _starts(every: list[StartForecast], cluster: ClusterState) -> Table:
    """Return when jobs start, counted from now."""
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
    """Read the state; what was left out or assumed goes to stderr."""
    if not files:
        raise ValueError("--state: the file is missing; gpusched decide --schema shows its form")
    options: dict[str, Any] = {**format_options(given)}
    state = read_state(files, format, **options)
    remark((f"left out: {line}" for line in state.jobs.rejects.lines()), style="yellow")
    remark([*state.jobs.notes, *unused(state.jobs)])
    return state


def _answer_lines(defaults: dict[str, Any]) -> None:
    """Answer stdin line by line, to its end."""
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
