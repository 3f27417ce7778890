"""A speed that has nothing but what every speed must have, known only while a test asks for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gpusched._core import _testing
from gpusched.plugins import registry as plugins


@contextmanager
def bare_speed(columns: Sequence[str] = (), optional_columns: Sequence[str] = ()) -> Iterator[str]:
    """Register the speed as one that reads these columns, and give its name."""
    _testing.register_bare_speed(list(columns), list(optional_columns))
    plugins.ask_again()
    try:
        yield "bare"
    finally:
        _testing.forget_bare_speed()
        plugins.ask_again()
