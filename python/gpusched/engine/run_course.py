"""The course of an open run: how it began, and what was done to it at which instant."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpusched import _core
from gpusched.base.ticks import us_to_text
from gpusched.engine.ready_run import Ready
from gpusched.engine.seams import Chosen, copied, untouched

if TYPE_CHECKING:
    from gpusched.prediction.online import OnlineRun

_ALL = 2**63 - 1


def opened(ready: Ready) -> tuple[_core.Run, OnlineRun | None]:
    """Return the core's run at its beginning; signals are handled in its course."""
    control = _core.RunControl()
    control.watch(None)
    made: list[_core.Run] = []
    online = ready.begin(control, made)
    return made[-1], online


def proceed(
    run: _core.Run,
    online: OnlineRun | None,
    limit_us: int,
    most: int,
    after: Callable[[], None] | None = None,
) -> int:
    """Handle at most so many instants before the limit; return how many there were.

    What predicts in the course of the run is asked before the arrivals; ``after`` is called at the
    end of each instant.
    """
    if online is None and after is None:
        handled: int = run.proceed(limit_us, most)
        return handled
    num_instants = 0
    while num_instants < most:
        next_us = run.next_us
        if online is not None and online.next_us is not None and online.next_us == next_us:
            if next_us >= limit_us:
                break
            online.predict_batch()
        if not run.proceed(limit_us, 1, keeps_finished=online is not None):
            break
        num_instants += 1
        if after is not None:
            after()
    return num_instants


@dataclass(frozen=True)
class Change:
    """What was done to a run after so many instants: a job taken back, or another policy."""

    num_instants: int
    at_us: int
    job: int | None = None
    policy: Chosen | None = None

    def untouched(self) -> Change:
        """Return it with the policy as it is now, for later."""
        return self if self.policy is None else replace(self, policy=untouched(self.policy))

    def apply(self, run: _core.Run, ready: Ready) -> Ready:
        """Do it; return what the run then is."""
        if self.job is not None:
            run.cancel(self.job, self.at_us)
            return ready
        assert self.policy is not None
        changed = ready.with_seams(self.policy, ready.placement)
        run.hand_over(changed.description(), self.at_us)
        return changed

    def note(self, policy: Chosen) -> str:
        """Say what was done while a policy decided."""
        what = f"job {self.job} was cancelled"
        if self.policy is not None:
            what = f"the policy became {self.policy.label} instead of {policy.label}"
        return f"{what} at {us_to_text(self.at_us)} s"


@dataclass(frozen=True)
class Course:
    """All that decides an open run: how it began, and what was done to it since.

    Attributes
    ----------
    first
        The run at its beginning, with objects of Python as they were then.
    changes
        In the order of the instants.
    """

    first: Ready
    changes: tuple[Change, ...] = ()

    def notes(self) -> Iterator[str]:
        """Say what was done, a sentence each."""
        policy = self.first.policy
        for change in self.changes:
            yield change.note(policy)
            policy = change.policy or policy

    def replayed(self, num_instants: int) -> tuple[Ready, _core.Run, OnlineRun | None]:
        """Do the run again up to so many instants."""
        ready = self.first.anew()
        run, online = opened(ready)

        def go_to(instant: int) -> None:
            proceed(run, online, _ALL, instant - run.num_instants)

        for change in self.changes:
            go_to(change.num_instants)
            if change.policy is not None:
                change = replace(change, policy=copied(change.policy))
            ready = change.apply(run, ready)
        go_to(num_instants)
        return ready, run, online
