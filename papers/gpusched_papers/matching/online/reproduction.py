"""The policy matching online, beside gavel, allox and others on the same jobs."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final

from gpusched.base.failures import Failures
from gpusched.base.real_data import find_data
from gpusched.reporting.text_table import Table
from gpusched_papers.claims import Claim, Comparison
from gpusched_papers.matching.online import tables
from gpusched_papers.matching.online.comparisons import comparisons
from gpusched_papers.matching.online.runs import OnlineRun, run_arms
from gpusched_papers.matching.online.settings import SEEDS, WORKLOADS, Arm, Setting, requests
from gpusched_papers.matching.online.tables import Summary
from gpusched_papers.study import BySeed, Interrupted, Progress, run_stage, with_left_out
from gpusched_papers.unequal_gpus import TABLES, Workload, absent

_STAGE: Final = "online: jobs of a seed, all policies"


@dataclass
class Online:
    """All runs online.

    Attributes
    ----------
    runs
        A list by seed for every pair of a setting and a policy.
    missing
        Files that were not found; without the measured throughputs nothing is run.
    """

    runs: dict[tuple[Setting, Arm], list[OnlineRun]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def tables(self) -> list[Table]:
        """The results; none if nothing was run."""
        if not self.runs:
            return []
        return with_left_out(tables.all_tables(Summary(self.runs)), self.missing)

    def comparisons(self, fairness: Claim) -> list[Comparison]:
        """What is published of fairness, beside ours; nothing if nothing was run."""
        return list(comparisons(Summary(self.runs), fairness)) if self.runs else []

    def rows(self) -> list[dict[str, Any]]:
        """All runs, as plain values."""
        return [dataclasses.asdict(run) for runs in self.runs.values() for run in runs]

    def figures(self) -> dict[str, Any]:
        """Return the figure by its file's name; none if nothing was run."""
        if not self.runs:
            return {}
        from gpusched_papers.matching.online import figures

        summary = Summary(self.runs)
        place = summary.small()[0].place
        note = f"{place.name}, {place.jobs} jobs; {summary.num_seeds} seeds, mean and 95 % interval"
        return {"online.png": figures.by_load(summary, note)}


def stages(*, seeds: int, quick: bool) -> dict[str, int]:
    """Return the stage of :func:`study` and its parts; none without the measured throughputs."""
    if find_data(TABLES) is None:
        return {}
    return {_STAGE: len(SEEDS[:seeds]) * len(_wanted(quick, absent(WORKLOADS)))}


def _wanted(quick: bool, missing: tuple[Workload, ...]) -> dict[Setting, tuple[Arm, ...]]:
    return {
        setting: arms
        for setting, arms in requests(quick).items()
        if setting.workload not in missing
    }


def study(
    found: Online, *, seeds: int, quick: bool, progress: Progress, failures: Failures | None = None
) -> None:
    """Run all policies on the jobs of at most ``len(SEEDS)`` seeds, into ``found``.

    After Ctrl-C it holds the seeds that were done, if there are two. Errors go to
    ``failures``, or are raised at the end.
    """
    if find_data(TABLES) is None:
        found.missing = (TABLES,)
        return
    missing = absent(WORKLOADS)
    found.missing = () if quick else tuple(of.trace for of in missing)
    wanted = _wanted(quick, missing)
    tasks = [(setting, arms, seed) for seed in SEEDS[:seeds] for setting, arms in wanted.items()]
    made: BySeed[Setting, list[OnlineRun]] = BySeed(wanted)
    own = Failures() if failures is None else failures
    done = run_stage(_STAGE, run_arms, tasks, progress, own, name=_part_of)
    try:
        for (setting, _, seed), runs in done:
            made.add(setting, seed, runs)
    finally:
        if len(made.seeds()) >= 2:
            found.runs = _by_policy(wanted, made)
    if failures is None:
        own.raise_if_any()


def reproduce(*, seeds: int, quick: bool, exact: bool, progress: Progress) -> Online:
    """Run it alone; see :meth:`gpusched_papers.registry.Paper.reproduce`."""
    found = Online()
    try:
        study(found, seeds=seeds, quick=quick, progress=progress)
    except KeyboardInterrupt:
        shown: Any = found if found.runs else None
        raise Interrupted(shown) from None
    return found


def _part_of(task: tuple[Setting, tuple[Arm, ...], int]) -> str:
    return f"{task[0]}, seed {task[2]}"


def _by_policy(
    wanted: dict[Setting, tuple[Arm, ...]], made: BySeed[Setting, list[OnlineRun]]
) -> dict[tuple[Setting, Arm], list[OnlineRun]]:
    return {
        (setting, arm): [runs[place] for runs in made.of(setting)]
        for setting, arms in wanted.items()
        for place, arm in enumerate(arms)
    }
