"""Handles of values that stay in this process, and values that were shared before."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusched.execution.backend import Handle


@dataclass(frozen=True, eq=False)
class Reference(Handle):
    """The value itself."""

    value: Any


def referred(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with the values of references in their places."""
    return tuple(arg.value if isinstance(arg, Reference) else arg for arg in args)


class Shared:
    """The handles that are alive, by what they stand for."""

    def __init__(self, make: Callable[[Any], Handle]) -> None:
        self._make = make
        self._handles: weakref.WeakValueDictionary[int, Handle] = weakref.WeakValueDictionary()

    def handle_of(self, value: Any) -> Handle:
        """Return the handle of ``value``, made where there is none."""
        handle = self._handles.get(id(value))
        if handle is None:
            handle = self._make(value)
            # Nothing else can get its id while the handle lives.
            handle.__dict__["original"] = value
            self._handles[id(value)] = handle
        return handle
