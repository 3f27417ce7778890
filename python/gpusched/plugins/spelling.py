"""Misspelt names in a plug-in of Python, which would otherwise be attributes that nobody reads."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, Final

from gpusched.base.suggest import nearest

_SHARED: Final = frozenset({"source", "spec_key"})
_POLICY: Final = _SHARED | {"differs", "flags"}
# Without "preemption", of a scheduler: one with a "preempt" of its own is not misspelt.
READ: Final[Mapping[str, frozenset[str]]] = {
    "order": _POLICY | {"rank", "lifetime", "preemptive", "scan"},
    "scheduler": _POLICY | {"begin", "decide", "warnings", "parameters"},
    "placement": _SHARED | {"begin", "place", "flags", "parameters"},
}
"""What a run reads of a plug-in of each kind."""
NEEDED: Final[Mapping[str, str]] = {"order": "rank", "scheduler": "decide", "placement": "place"}
"""The method without which a plug-in of each kind does nothing."""
ARGUMENTS: Final[Mapping[str, str]] = {
    "order": "(view, jobs)",
    "scheduler": "",
    "placement": "(free, request)",
}
OF_PARAMETERS: Final = frozenset({"minimum", "maximum", "choices", "help", "flags"})
_NEAR: Final = 0.75


def check_names(
    kind: str, name: str, plug_in: type, base: type, state: Iterable[str] | None = None
) -> None:
    """Check that a class has no name that was meant to be one of those that a run reads.

    Parameters
    ----------
    state
        Names of the attributes of an object of the class that is to run: then the class must have
        the method by which it decides, too.

    Raises
    ------
    ValueError
        For a name that is nearly one that is read, where the class does not have that itself.
    TypeError
        If the method that it must have is missing.
    """
    own = {key for kind in _own_classes(plug_in, base) for key in vars(kind)} | set(state or ())
    unread = check_spelling(f"{kind} {name}", own, READ[kind])
    needed = NEEDED[kind]
    is_native = any(
        kind.__module__.startswith(base.__module__) for kind in _own_classes(plug_in, base)
    )
    if state is not None and needed not in own and not is_native:
        told = f"; it has {', '.join(unread)}" if unread else ""
        raise TypeError(f"{kind}: {needed}{ARGUMENTS[kind]} is missing in {name}{told}")


def check_spelling(where: str, own: Iterable[str], read: Iterable[str]) -> list[str]:
    """Return the names of ``own`` that are not in ``read``, sorted, without private ones.

    Raises
    ------
    ValueError
        If one of these is nearly one that is read and that is not in ``own``.
    """
    there, wanted = set(own), set(read)
    unread = sorted(key for key in there - wanted if not key.startswith("_"))
    for key in unread:
        close = difflib.get_close_matches(key, sorted(wanted - there), n=1, cutoff=_NEAR)
        if close:
            raise ValueError(
                f"{where}: nothing reads {key!r}; did you mean {close[0]!r}? (a name of one's "
                "own begins with _, or is not so near)"
            )
    return unread


def check_parameters(
    kind: str, name: str, told: Mapping[str, Mapping[str, Any]], known: Iterable[str]
) -> None:
    """Check that ``parameters`` speaks of arguments of the constructor, in words that are known.

    Raises
    ------
    ValueError
        If not; the message has the nearest name.
    """
    arguments = list(known)
    for key, words in told.items():
        where = f"{kind} {name}: parameters"
        if key not in arguments:
            hint = nearest(key, arguments) if arguments else "; its constructor has none"
            raise ValueError(
                f"{where}: the constructor has no argument {key!r} with a default{hint}"
            )
        for word in words:
            if word not in OF_PARAMETERS:
                hint = nearest(word, sorted(OF_PARAMETERS))
                raise ValueError(f"{where}: {key}: unknown {word!r}{hint}")


def _own_classes(plug_in: type, base: type) -> list[type]:
    """The classes that the author wrote: those above the core's, and what they mix in."""
    return [kind for kind in plug_in.__mro__ if kind not in base.__mro__]
