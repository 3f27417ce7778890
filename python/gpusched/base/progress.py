"""How far a call is: what every ``progress`` is called with, and what ``progress=True`` shows."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, NamedTuple

from gpusched.base.wording import duration


class Progress(NamedTuple):
    """How far a call is, or one of its parts.

    A ``progress`` that a user gives is called as ``progress(Progress(done, total, part))``, in
    the thread of the caller: about ten times a second, and once when all is done.

    Attributes
    ----------
    done, total
        How much, of how much: jobs; arrivals for :func:`gpusched.online.fill`, values of kappa
        for :func:`gpusched.online.plan`, tasks for a reproduction.
    part
        Where a call has several parts with totals of their own, which one: the policy for
        :func:`gpusched.compare`, the stage of a reproduction. Empty otherwise.
    """

    done: int
    total: int
    part: str = ""


OnProgress = Callable[[Progress], None]


def checked(progress: OnProgress | None) -> OnProgress | None:
    """Return what a user gave as ``progress``; TypeError if it cannot be called."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"progress: expected a function that takes a gpusched.Progress, not {progress!r}"
        )
    return progress


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
        bar = NotebookBar(display, label, what)
        try:
            yield bar
        finally:
            bar.end()
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

    What shows no HTML, such as a console or the text of a saved notebook, has the same in words.

    Parameters
    ----------
    display
        The module ``IPython.display``.
    """

    def __init__(self, display: Any, label: str, what: str) -> None:
        self._label, self._what = label, what
        self._begin = time.monotonic()
        self._before: int | None = None
        self._last: Progress | None = None
        self._handle = display.display(_both(escape(label), label), raw=True, display_id=True)

    def __call__(self, progress: Progress) -> None:
        """Show how far it is."""
        self._last = progress
        if self._before is None:
            self._before = progress.done  # took no time of this call
        self._show(progress, self._time(progress))

    def end(self) -> None:
        """Show how long it took, though not all may be done."""
        if self._last is not None:
            self._show(self._last, f"in {duration(time.monotonic() - self._begin)}")

    def _time(self, progress: Progress) -> str:
        spent = time.monotonic() - self._begin
        newly = progress.done - (self._before or 0)
        if progress.done >= progress.total:
            return f"in {duration(spent)}"
        if newly == 0:
            return ""
        left = spent / newly * (progress.total - progress.done)
        return f"{duration(max(1, round(left)))} left"  # it is a guess

    def _show(self, progress: Progress, when: str) -> None:
        done, total = progress.done, max(progress.total, progress.done, 1)
        words = f"{self._label}: {done:,} of {total:,} {self._what} {when}".rstrip()
        html = f'<progress max="{total}" value="{done}"></progress> {escape(words)}'
        self._handle.update(_both(html, words), raw=True)


def _both(html: str, text: str) -> dict[str, str]:
    return {"text/html": html, "text/plain": text}


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
