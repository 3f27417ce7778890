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
    """Write a section for each public module."""
    parts = []
    for dotted, things in public():
        rows = ((f"`{name}`", _details(thing), _summary(thing)) for name, thing in things)
        parts += [f"## {dotted}\n", table(("name", "arguments or members", "what it is"), rows)]
    return "\n".join(parts)


def public() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    """Yield each public module with its names; what several show is in the first."""
    seen: set[int] = set()
    for name in MODULES:
        dotted = f"gpusched.{name}".rstrip(".")
        module = importlib.import_module(dotted)
        things = []
        for shown in module.__all__:
            thing = getattr(module, shown)
            if not (shown.startswith("_") or inspect.ismodule(thing) or id(thing) in seen):
                seen.add(id(thing))
                things.append((shown, thing))
        yield dotted, things


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
    """Yield the public members that are gpusched's own, methods with brackets."""
    for name in dir(kind):
        home = next(base for base in kind.__mro__ if name in vars(base))
        if name.startswith("_") or not home.__module__.startswith("gpusched"):
            continue
        member = vars(home)[name]
        is_method = callable(member) or isinstance(member, classmethod | staticmethod)
        yield f"{name}()" if is_method else name


def _summary(thing: Any) -> str:
    """Return the first paragraph of the docstring, in Markdown."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n", 1)[0].split())
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


def add_docstrings(_app: Any, docname: str, source: list[str]) -> None:
    """Give the built page every docstring in full, below the table; Sphinx calls it."""
    if docname == "reference/api":
        source[0] += "\n" + "\n".join(_autodoc())


def _autodoc() -> Iterator[str]:
    for dotted, things in public():
        yield f"## Docstrings of {dotted}\n\n```{{eval-rst}}\n.. currentmodule:: {dotted}\n"
        for name, thing in things:
            if not inspect.isclass(thing):
                kind = "function" if callable(thing) else "data"
                yield f".. auto{kind}:: {name}"
                continue
            yield f".. auto{'exception' if issubclass(thing, BaseException) else 'class'}:: {name}"
            told = inspect.getdoc(thing) or ""  # under Attributes
            names = (each.removesuffix("()") for each in _members(thing))
            if members := [each for each in names if not re.search(rf"^{each}\b", told, re.M)]:
                yield f"   :members: {', '.join(members)}"
        yield "\n```\n"
