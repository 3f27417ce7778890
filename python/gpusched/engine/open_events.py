"""What happens in an open run, and who is told of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

EVENTS: Final = ("start", "preempt", "resize", "finish", "reject", "cancel", "instant")


@dataclass(frozen=True)
class SimulationEvent:
    """What has happened in an open run.

    Attributes
    ----------
    what
        ``"start"`` (or resume), ``"preempt"``, ``"resize"``, ``"finish"``, ``"reject"``,
        ``"cancel"``, or ``"instant"`` once all of an instant is done.
    time_s
        When, seconds.
    job
        The row of the job in the trace; None of an instant.
    """

    what: str
    time_s: float
    job: int | None


def check_event(event: str) -> None:
    """Raise a ValueError unless there are events of that name."""
    if event not in EVENTS:
        raise ValueError(f"event: unknown {event!r}; there are {', '.join(EVENTS)}")


class Listeners:
    """Callbacks in the order in which they were given."""

    def __init__(self) -> None:
        self._called: list[tuple[str, Callable[[SimulationEvent], object]]] = []
        self.are_told = False

    def __bool__(self) -> bool:
        return bool(self._called)

    def add(self, event: str, callback: Callable[[SimulationEvent], object]) -> None:
        """Have one called at such events."""
        self._called.append((event, callback))

    def tell(self, time_s: float, happened: Iterable[tuple[str, int]]) -> None:
        """Call them for what happened at an instant, and then for the instant."""
        events = [SimulationEvent(what, time_s, job) for what, job in happened]
        events.append(SimulationEvent("instant", time_s, None))
        self.are_told = True
        try:
            for event in events:
                for what, callback in self._called:
                    if what == event.what:
                        callback(event)
        finally:
            self.are_told = False
