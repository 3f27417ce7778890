"""The one progress display of a command, on stderr and only on a terminal."""

from __future__ import annotations

from types import TracebackType

from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn
from rich.progress import Progress as Bars
from rich.progress import TimeElapsedColumn as Elapsed
from rich.progress import TimeRemainingColumn as TimeLeft

from gpusched.base.progress import Progress
from gpusched.cli.console import stderr


class ProgressDisplay:
    """A line per run, and one for what happens before and after; gone when all is done.

    Calls are safe from several threads.

    Parameters
    ----------
    has_time_left
        Show how long it will take from now on, too.
    """

    def __init__(self, *, has_time_left: bool = False) -> None:
        console = stderr()
        ends = (TimeLeft(elapsed_when_finished=True),) if has_time_left else ()
        self._progress = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TaskProgressColumn(),
            Elapsed(),
            *ends,
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._stage: TaskID | None = None
        self._runs: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressDisplay:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def stage(self, text: str) -> None:
        """Say what goes on now, for as long as it does."""
        self.end_stage()
        self._stage = self._progress.add_task(text, total=None)

    def end_stage(self) -> None:
        """Take back what :meth:`stage` said."""
        if self._stage is not None:
            self._progress.remove_task(self._stage)
            self._stage = None

    def runs(self, labels: list[str]) -> None:
        """Announce runs in the order in which they shall stand."""
        self.end_stage()
        for label in labels:
            self._runs[label] = self._progress.add_task(label, total=None, start=False)

    def update(self, progress: Progress) -> None:
        """Show how far a run is."""
        task = self._runs[progress.part]
        self._progress.start_task(task)
        self._progress.update(task, completed=progress.done, total=progress.total)
