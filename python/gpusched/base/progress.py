"""Progress of a call: the argument of ``progress`` callbacks, and the bar of ``progress=True``."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any, NamedTuple

from gpusched.base.wording import duration


class Progress(NamedTuple):
    """The progress of a call, or of one of its parts.

    A user's ``progress`` is called as ``progress(Progress(done, total, part))`` in the caller's
    thread, about ten times a second and once at the end.

    Attributes
    ----------
    done, total
        Finished and total number of jobs; of arrivals for :func:`gpusched.online.fill`, values of
        kappa for :func:`gpusched.online.plan`, tasks for a reproduction.
    part
        Part of a call with several totals: the policy for :func:`gpusched.compare`, the stage of
        a reproduction. Empty otherwise.
    """

    done: int
    total: int
    part: str = ""


OnProgress = Callable[[Progress], None]


def checked(progress: OnProgress | None) -> OnProgress | None:
    """Return a user's ``progress``; raise TypeError if it is not callable."""
    if progress is not None and not callable(progress):
        raise TypeError(
            f"progress: expected a function that takes a gpusched.Progress, not {progress!r}"
        )
    return progress


@contextmanager
def watched(
    progress: OnProgress | bool | None, label: str, what: str
) -> Iterator[OnProgress | None]:
    """Provide the callback that shows or passes on the progress of a call.

    ``progress``: the user's argument: a function, or whether to show a bar. A bar needs a terminal
        or a notebook.
    ``label``, ``what``: the activity, and the counted unit, such as ``runs``.
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
    """One line of HTML below a cell, updated in place without widgets.

    Text is shown if HTML cannot be, as in a console or the text of a saved notebook.

    ``display``: the module ``IPython.display``.
    """

    def __init__(self, display: Any, label: str, what: str) -> None:
        self._label, self._what = label, what
        self._begin = time.monotonic()
        self._before: int | None = None
        self._last: Progress | None = None
        self._handle = display.display(_both(escape(label), label), raw=True, display_id=True)

    def __call__(self, progress: Progress) -> None:
        """Show the progress."""
        self._last = progress
        if self._before is None:
            self._before = progress.done  # done before this call
        self._show(progress, self._time(progress))

    def end(self) -> None:
        """Show the elapsed time, also if not all is done."""
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
        return f"{duration(max(1, round(left)))} left"  # an estimate

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
