"""What every reproduction is: how it tells how far it is, what it gives back, how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gpusched.base.failures import Failures
from gpusched.reporting.text_table import Table

if TYPE_CHECKING:
    from gpusched_papers.common.verdicts import Comparison

Progress = Callable[[str, int, int], None]
"""Called as ``progress(stage, done, total)``."""


class Reproduction(Protocol):
    """What a reproduction gives back."""

    def tables(self) -> list[Table]:
        """The results, ours beside the published ones."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """All settings, runs and tables as plain values for JSON."""
        ...

    def write(self, folder: Path) -> list[Path]:
        """Write figures, tables and all runs; return the files."""
        ...


@runtime_checkable
class Judged(Protocol):
    """A reproduction that sets its figures beside the published ones."""

    def comparisons(self) -> list[Comparison]:
        """Return the published figures, each beside ours."""
        ...


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a reproduction; ``reproduction`` is what the finished seeds give, or None."""

    def __init__(self, reproduction: Reproduction | None) -> None:
        super().__init__("interrupted")
        self.reproduction = reproduction


def finish(failures: Failures, reproduction: Reproduction | None) -> None:
    """Raise the first error of a reproduction whose other parts are done, if there is one.

    Its attributes are ``reproduction``, what the finished seeds give or None, and ``failed``, all
    errors by the name of the part.
    """
    failures.raise_if_any(reproduction=reproduction, failed=failures.errors)
