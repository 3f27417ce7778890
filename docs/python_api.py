"""The table of public Python names, module by module, for ``marked_tables.py``."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import gpusched as gs

Table = Callable[[Iterable[str], Iterable[Iterable[str]]], str]
MODULES: Final = ("", *gs._SUBMODULES, "reporting.plot", "traces.generating")
_ROLE: Final = re.compile(r":\w+:`(?:~?(?:\w+\.)*)?([\w.]+)`")


def modules(table: Table) -> str:
    """Write a section for each public module; a thing that several show is in the first."""
    parts, seen = [], set()
    for name in MODULES:
        dotted = f"gpusched.{name}".rstrip(".")
        module = importlib.import_module(dotted)
        rows = []
        for shown in module.__all__:
            thing = getattr(module, shown)
            if shown.startswith("_") or inspect.ismodule(thing) or id(thing) in seen:
                continue
            seen.add(id(thing))
            rows.append((f"`{shown}`", _details(thing), _summary(thing)))
        parts += [f"## {dotted}\n", table(("name", "arguments or members", "what it is"), rows)]
    return "\n".join(parts)


def _details(thing: Any) -> str:
    if inspect.isclass(thing):
        return ", ".join(f"`{member}`" for member in _members(thing))
    if callable(thing):
        return ", ".join(f"`{argument}`" for argument in _arguments(thing))
    return ""


def _arguments(function: Callable[..., Any]) -> Iterator[str]:
    """Yield the names of the arguments; those that may be left out end in ``=``."""
    for name, one in inspect.signature(function).parameters.items():
        if one.kind is one.VAR_POSITIONAL:
            yield f"*{name}"
        elif one.kind is one.VAR_KEYWORD:
            yield f"**{name}"
        else:
            yield name if one.default is one.empty else f"{name}="


def _members(kind: type) -> Iterator[str]:
    """Yield the public members, methods with brackets."""
    for name in dir(kind):
        if name.startswith("_") or any(hasattr(base, name) for base in (BaseException, tuple)):
            continue
        member = inspect.getattr_static(kind, name)
        is_method = callable(member) or isinstance(member, classmethod | staticmethod)
        yield f"{name}()" if is_method else name


def _summary(thing: Any) -> str:
    """Return the first paragraph of the docstring, in Markdown."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n", 1)[0].split())
    return _ROLE.sub(r"`\1`", text).replace("``", "`")
