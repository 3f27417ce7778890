"""The progress display of a command, on stderr and only on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from gpusched.base.progress import Progress
from gpusched.cli.console import stderr


class ProgressDisplay:
    """One line per run, and one for the stages before and after; removed at the end.

    Thread-safe.

    ``has_time_left``: also show the remaining time.
    """

    def __init__(self, *, has_time_left: bool = False) -> None:
        console = stderr()
        self._bars: Any = None
        self._stage: Any = None
        self._runs: dict[str, Any] = {}
        if console.is_terminal:
            from rich import progress as rich

            ends = (rich.TimeRemainingColumn(elapsed_when_finished=True),) if has_time_left else ()
            self._bars = rich.Progress(
                rich.TextColumn("{task.description}"), rich.BarColumn(bar_width=30),
                rich.TaskProgressColumn(), rich.TimeElapsedColumn(), *ends,
                console=console, transient=True,
            )  # fmt: skip

    def __enter__(self) -> ProgressDisplay:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def stage(self, text: str) -> None:
        """Show the current stage until it ends."""
        self.end_stage()
        if self._bars is not None:
            self._stage = self._bars.add_task(text, total=None)

    def end_stage(self) -> None:
        """Remove the line of :meth:`stage`."""
        if self._stage is not None:
            self._bars.remove_task(self._stage)
            self._stage = None

    def runs(self, labels: list[str]) -> None:
        """Announce runs in the order of their lines."""
        self.end_stage()
        if self._bars is not None:
            tasks = (self._bars.add_task(label, total=None, start=False) for label in labels)
            self._runs |= zip(labels, tasks, strict=True)

    def update(self, progress: Progress) -> None:
        """Show the progress of a run; announce it first if necessary."""
        if self._bars is not None:
            if progress.part not in self._runs:
                self.runs([progress.part])
            task = self._runs[progress.part]
            self._bars.start_task(task)
            self._bars.update(task, completed=progress.done, total=progress.total)
