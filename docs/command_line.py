"""Tables of the commands and their options, from the app itself, for ``marked_tables.py``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from gpusched.cli import Commands, TraceCommands

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]
_MARKUP: Final = re.compile(r"\[(?:bold|dim|/|/bold|/dim)\]")
_SHARED_BY: Final = 3
"""An option that so many commands have, in the same words, is described once."""


def options(table: Table) -> str:
    """Write the shared options, and after them a section for each command."""
    commands = dict(_commands())
    rows = {name: [*_rows(command)] for name, command in commands.items()}
    users = Counter(row for own in rows.values() for row in own)
    shared = [row for row, count in users.items() if count >= _SHARED_BY]
    parts = ["## Shared options\n", table(("option", "value", "what it sets"), shared)]
    for name, command in commands.items():
        parts += _section(name, command, rows[name], shared, table)
    return "\n".join(parts).rstrip("\n") + "\n"


def _commands() -> Iterator[tuple[str, Any]]:
    for name, entry in Commands.entries.items():
        if entry.group is None:
            yield name, entry.load(name)
    for name, entry in TraceCommands.entries.items():
        yield f"trace {name}", entry.load(name)


def _rows(command: Any) -> Iterator[tuple[str, ...]]:
    """Yield (option, value, what it sets) for each option and argument."""
    for each in command.params:
        if each.hidden or each.name == "help":
            continue
        is_option = each.param_type_name == "option"
        names = ", ".join(f"`{name}`" for name in each.opts) if is_option else f"`{each.metavar}`"
        value = "" if not is_option or each.is_flag else f"`{each.metavar or 'TEXT'}`"
        text = " ".join(plain(each.help or "").split())
        if each.show_default and not (each.default is None or each.default is False):
            text += f" Default: {each.default}."
        yield names, value, text + (" Required." if each.required else "")


def _section(
    name: str,
    command: Any,
    rows: list[tuple[str, ...]],
    shared: Collection[tuple[str, ...]],
    table: Table,
) -> Iterator[str]:
    yield f"## gpusched {name}\n"
    yield plain(command.help or "").strip() + "\n"
    own = [row for row in rows if row not in shared]
    if also := [row[0] for row in rows if row in shared]:
        own.append((f"[shared](#shared-options): {', '.join(also)}", "", ""))
    yield table(("option", "value", "what it sets"), own)


def plain(text: str) -> str:
    """Return a help text without its markup."""
    return _MARKUP.sub("", text).replace("\\[", "[")
