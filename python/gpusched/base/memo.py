"""Weakly keyed memoisation for immutable objects."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Final, Generic, TypeVar

_Owner = TypeVar("_Owner")
_Value = TypeVar("_Value")


class Memo(Generic[_Owner, _Value]):
    """Cached values by an object, held weakly and compared by identity, and by a key.

    ``most``: most values per object; the oldest are dropped first.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._known: weakref.WeakKeyDictionary[_Owner, dict[Hashable, _Value]] = (
            weakref.WeakKeyDictionary()
        )

    def of(self, owner: _Owner, key: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Return the value of ``owner`` for ``key``; concurrent threads may each compute it."""
        known = self._known.get(owner)
        if known is None:
            known = self._known.setdefault(owner, {})
        if key in known:
            return known[key]
        value = known[key] = compute()
        while len(known) > self._most:
            known.pop(next(iter(known)), None)
        return value


if TYPE_CHECKING:
    kept = cached_property
else:

    class kept(cached_property):
        """``functools.cached_property`` without its lock, which takes longer than a short column.

        Concurrent threads may each compute the value, as in Python 3.12 and later.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
