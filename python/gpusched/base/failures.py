"""Errors of several runs, collected until all have finished, then raised as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

# Errors that can be recreated with another message; others may need more arguments.
_PLAIN = (ValueError, TypeError, ImportError, RuntimeError)


class Failures:
    """The errors of the parts of a computation, by name, in order of occurrence."""

    def __init__(self) -> None:
        self.errors: dict[str, Exception] = {}

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Collect an error raised inside, except Ctrl-C."""
        try:
            yield
        except Exception as error:
            self.errors[name] = error

    def raise_if_any(self, **attributes: Any) -> None:
        """Raise the first error, see :func:`raise_named`."""
        if self.errors:
            raise_named(self.errors, **attributes)


def message_of(part: str, error: object) -> str:
    """Return the message of an error, with the name of its part once."""
    text = str(error)
    return text if text.startswith((f"{part} ", f"{part}: ")) else f"{part}: {text}"


def raise_named(errors: Mapping[str, Exception], **attributes: Any) -> NoReturn:
    """Raise the first of ``errors`` with its type, and with its part in the message.

    If the type needs more than a message, the part is in a note; so are all other errors. The
    results of finished parts are attached as ``attributes``.
    """
    (name, first), *others = errors.items()
    error = first
    if type(first) in _PLAIN:
        error = type(first)(message_of(name, first))
        error.__cause__ = first
    else:
        error.add_note(f"in the run of {name}")
    for other, why in others:
        error.add_note(f"and {other}: {why}")
    for attribute, value in attributes.items():
        setattr(error, attribute, value)
    raise error
