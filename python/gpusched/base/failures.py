"""Errors of some of several runs: kept until the others have finished, then raised as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

# Errors that are made anew with another message; others may need more than that.
_PLAIN = (ValueError, TypeError, ImportError, RuntimeError)


class Failures:
    """The errors of the parts of a whole, by the name of the part, in the order they came."""

    def __init__(self) -> None:
        self.errors: dict[str, Exception] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Keep an error of what is done inside; Ctrl-C is none."""
        try:
            yield
        except Exception as error:
            self.errors[name] = error

    def raise_if_any(self, **attributes: Any) -> None:
        """Raise the first error, see :func:`raise_named`."""
        if self.errors:
            raise_named(self.errors, **attributes)


def raise_named(errors: Mapping[str, Exception], **attributes: Any) -> NoReturn:
    """Raise the first of ``errors`` in its own type, with its part in the message.

    Where the type takes more than a message, the part is in a note; so are all other errors. What
    the finished parts gave is attached as ``attributes``.
    """
    (name, first), *others = errors.items()
    error = first
    if type(first) in _PLAIN:
        error = type(first)(f"{name}: {first}")
        error.__cause__ = first
    else:
        error.add_note(f"in the run of {name}")
    for other, why in others:
        error.add_note(f"and {other}: {why}")
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    raise error
