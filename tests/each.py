"""A matrix of cases in one test: every case is tried, and those that fail are named."""

import functools
import inspect
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

_MOST_SHOWN = 5


def each(
    names: str | tuple[str, ...],
    cases: Iterable[Any] = (),
    *,
    named: Mapping[str, Any] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test with each case, as ``pytest.mark.parametrize`` does, but as one test.

    For hundreds of cases that take a moment each and share no state. A case is a value, or a tuple
    of values where there are several names; ``named`` gives the cases names of their own. A case
    that is skipped is left out; the test is skipped where all are.
    """
    own = tuple(names.split(", ")) if isinstance(names, str) else names
    pairs = [(_name(case), case) for case in cases] if named is None else list(named.items())
    assert pairs, f"no case of {own}"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run_all(**fixtures: Any) -> None:
            failed: list[tuple[str, str]] = []
            skipped = []
            for name, case in pairs:
                values = (case,) if len(own) == 1 else case
                try:
                    test(**dict(zip(own, values, strict=True)), **fixtures)
                except pytest.skip.Exception as reason:
                    skipped.append(str(reason))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append((name, "".join(traceback.format_exception(error))))
            if failed:
                texts = [f"--- {name}\n{text}" for name, text in failed[:_MOST_SHOWN]]
                names_of_failed = ", ".join(name for name, _ in failed)
                heading = f"{len(failed)} of {len(pairs)} cases fail: {names_of_failed}"
                pytest.fail("\n".join([heading, *texts]), pytrace=False)
            if len(skipped) == len(pairs):
                pytest.skip(skipped[0])

        left = [value for name, value in signature.parameters.items() if name not in own]
        run_all.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return run_all

    return decorate


def _name(case: Any) -> str:
    """What a case is called: its name where it has one, else its text."""
    if isinstance(case, tuple | list):
        return " ".join(map(_name, case))
    return str(getattr(case, "name", None) or getattr(case, "__name__", case))
