"""Rules of the audit by the name of the plug-in that each is about: one file each, in ``rules/``.

What holds of many plug-ins follows from their flags. A rule is a twin of what one of them does, to
hold its schedules against.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Generic, TypeVar

_Rule = TypeVar("_Rule")


class RuleBook(Generic[_Rule]):
    """The rules about plug-ins of one kind, which is named in errors."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._rules: dict[str, _Rule] = {}

    def register(self, name: str) -> Callable[[_Rule], _Rule]:
        """Make what is decorated the rule about ``name``; a second one is an error."""

        def add(rule: _Rule) -> _Rule:
            if name in self._rules:
                raise ValueError(f"audit: {self.kind} {name!r} has a rule already")
            self._rules[name] = rule
            return rule

        return add

    def find(self, name: str) -> _Rule | None:
        """Return the rule about ``name``; None if there is none."""
        _load_all()
        return self._rules.get(name)

    def names(self) -> set[str]:
        """Return the names that have a rule."""
        _load_all()
        return set(self._rules)


@cache
def _load_all() -> None:
    package = importlib.import_module("gpusched.audit.rules")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"gpusched.audit.rules.{module.name}")
