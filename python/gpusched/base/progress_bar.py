"""A bar with the time left, in a terminal or a notebook: what ``progress=True`` shows."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from gpusched.base.progress import OnProgress, Progress
from gpusched.base.wording import duration


@contextmanager
def watched(
    progress: OnProgress | bool | None, label: str, what: str
) -> Iterator[OnProgress | None]:
    """Give what is to be called with how far a call is.

    Parameters
    ----------
    progress
        What the user gave: a function, or whether there is to be a bar. Nothing is shown where
        errors go neither to a terminal nor to a notebook.
    label, what
        What goes on, and what is counted, such as ``runs``.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    display = _notebook_display() if progress else None
    if display is not None:
        yield NotebookBar(display, label, what)
    elif progress and sys.stderr.isatty():
        with _terminal_bar(label) as shown:
            yield shown
    else:
        yield None


def _notebook_display() -> Any:
    """Return the module ``IPython.display`` in a notebook, None elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    import importlib

    return importlib.import_module("IPython.display")


class NotebookBar:
    """One line of HTML below a cell, which is written anew; it needs no widgets.

    Parameters
    ----------
    display
        The module ``IPython.display``.
    """

    def __init__(self, display: Any, label: str, what: str) -> None:
        self._display, self._label, self._what = display, label, what
        self._first: tuple[float, int] | None = None
        self._handle = display.display(display.HTML(escape(label)), display_id=True)

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, progress.done
        self._handle.update(self._display.HTML(self._text(progress, now)))

    def _text(self, progress: Progress, now: float) -> str:
        assert self._first is not None
        done, total = progress.done, max(progress.total, progress.done, 1)
        begin, before = self._first  # what was done before this call took no time of it
        spent = now - begin
        if done >= total:
            time_left = f"in {duration(spent)}"
        elif done > before:
            time_left = f"{duration(spent / (done - before) * (total - done))} left"
        else:
            time_left = ""
        return (
            f'<progress max="{total}" value="{done}"></progress> {escape(self._label)}: '
            f"{done:,} of {total:,} {self._what} {time_left}"
        )


@contextmanager
def _terminal_bar(label: str) -> Iterator[OnProgress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(bar_width=30),
        MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(elapsed_when_finished=True),
    )  # fmt: skip
    with Bars(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(label, total=None)

        def update(progress: Progress) -> None:
            bars.update(task, completed=progress.done, total=progress.total)

        yield update
