"""What plug-ins may say of themselves: the flags of the core, by which all others read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from gpusched import _core
from gpusched.base.suggest import nearest

_TOLD: Final = {told["name"]: told for told in _core.flags()}

FLAGS: Final[Mapping[str, str]] = {name: told["meaning"] for name, told in _TOLD.items()}
"""What each flag means, in a sentence."""

KINDS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset(told["kinds"].split()) for name, told in _TOLD.items()
}
"""The kinds of plug-ins that may have each flag."""

_PYTHON_KINDS: Final = {
    name: frozenset(told["python_kinds"].split()) for name, told in _TOLD.items()
}


def has(flags: Iterable[str], flag: str) -> bool:
    """Whether ``flag`` is among the ``flags``.

    Raises
    ------
    ValueError
        If there is no such flag.
    """
    if flag not in FLAGS:
        raise ValueError(f"unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
    return flag in flags


def checked(kind: str, name: str, flags: object) -> tuple[str, ...]:
    """Return what a plug-in written in Python says of itself, each flag once.

    Raises
    ------
    ValueError
        If one of the flags does not exist, or is not for plug-ins of this kind that are written
        in Python. TypeError if they are no texts.
    """
    where = f"{kind} {name}: flags"
    if isinstance(flags, str) or not isinstance(flags, Iterable):
        raise TypeError(f"{where}: expected a tuple of texts, not {flags!r}")
    known = list(flags)
    for flag in known:
        if not isinstance(flag, str):
            raise TypeError(f"{where}: expected texts, not {flag!r}")
        if flag not in FLAGS:
            raise ValueError(f"{where}: unknown flag {flag!r}{nearest(flag, list(FLAGS))}")
        if kind not in _PYTHON_KINDS[flag]:
            allowed = ", ".join(other for other in FLAGS if kind in _PYTHON_KINDS[other])
            raise ValueError(f"{where}: {flag!r} is not for a {kind} of Python; allowed: {allowed}")
    return tuple(dict.fromkeys(known))
