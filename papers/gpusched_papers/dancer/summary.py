"""The runs of the study of Dancer by setting and policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.statistics.intervals import Interval
from gpusched_papers.dancer.runs import Run
from gpusched_papers.dancer.settings import ARMS, DANCER, Arm, Setting
from gpusched_papers.study import mean


def dsr(run: Run) -> float:
    """Part of the jobs that met their deadlines."""
    return run.dsr


def bound(run: Run) -> float:
    """Part of the jobs that could have, at most."""
    return run.bound


class Summary:
    """The runs by setting and policy, one value per seed."""

    def __init__(self, runs: Mapping[tuple[Setting, Arm], Sequence[Run]]) -> None:
        self._runs = runs
        self.num_seeds = max(len(some) for some in runs.values())

    def has(self, setting: Setting, arm: Arm = DANCER) -> bool:
        """Whether it was run."""
        return (setting, arm) in self._runs

    def values(self, setting: Setting, arm: Arm, column: Callable[[Run], float]) -> Float64:
        """One value per seed."""
        return np.array([column(run) for run in self._runs[setting, arm]])

    def mean(self, setting: Setting, arm: Arm, column: Callable[[Run], float] = dsr) -> Interval:
        """Over the seeds."""
        return mean(self.values(setting, arm, column))

    def settings(self) -> list[Setting]:
        """Return those that Dancer was run on, as they come."""
        return list(dict.fromkeys(setting for setting, arm in self._runs if arm == DANCER))

    def main(self) -> list[Setting]:
        """Return those in which only workload, load and cluster differ."""
        return [
            setting
            for setting in self.settings()
            if setting == Setting(setting.workload, setting.load, setting.place)
            and len(set(setting.place.servers)) == 1
        ]

    def arms(self, settings: Sequence[Setting]) -> list[Arm]:
        """Return the policies that were run on some of these."""
        return [arm for arm in ARMS if any(self.has(setting, arm) for setting in settings)]
