"""``gpusched decide``: what a policy would do now on a cluster as it is."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Final

import msgspec
import typer

from gpusched.cli import options
from gpusched.cli.console import new_table, show_json, show_lines, show_table
from gpusched.cli.state_files import StateFiles, StateFormat, StateOptions, state_of
from gpusched.deciding.decision import decide as decided
from gpusched.deciding.decision_lines import Action, answer, answer_of
from gpusched.deciding.states.schemas import state_schema

EPILOG: Final = """
[bold]Examples[/]

gpusched decide --state cluster.json --policy easy

gpusched decide --state squeue.json --state sinfo.json --policy easy

gpusched decide --state folder --policy srtf --json | jq .actions

my-controller | gpusched decide --stream --policy easy

gpusched decide --schema
"""

PolicyName = Annotated[
    str,
    typer.Option("--policy", "-p", metavar="NAME[:KEY=VALUE,...]", help="The policy that decides."),
]


def decide(
    state: StateFiles = None,
    format: StateFormat = None,
    option: StateOptions = None,
    policy: PolicyName = "fifo",
    placement: options.Placement = "consolidated",
    seed: options.Seed = 0,
    stream: Annotated[
        bool,
        typer.Option(
            "--stream",
            help="Answer each line of stdin, a request in JSON, with a line; a mistake too.",
        ),
    ] = False,
    schema: Annotated[
        bool,
        typer.Option(
            "--schema",
            help="Print the JSON schema of the file, or those of the lines of --stream, and end.",
        ),
    ] = False,
    json: options.Json = False,
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
    given: dict[str, Any] = {"policy": policy, "placement": placement, "seed": seed}
    if stream:
        if state or format or option:
            raise ValueError("--stream: states come on stdin, not in files")
        _answer_lines(given)
        return
    found = decided(state_of(state, format, option), **given)
    told = answer_of(found, explain=json)
    if json:
        values = msgspec.to_builtins(told)
        del values["id"], values["memory"]
        show_json(values)
        return
    actions = told.actions
    if actions:
        table = new_table()
        for name in ("what", "job", "GPUs", "where", "why"):
            table.add_column(name, justify="right" if name == "GPUs" else "left")
        for each in actions:
            table.add_row(each.what, each.id, str(each.gpus), _where(each), each.why)
        show_table(table)
    else:
        show_lines(["nothing is to be done now"])
    if found.wake_s is not None:
        show_lines([f"ask again at {found.wake_s:g} s, whatever happens by then"])


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
