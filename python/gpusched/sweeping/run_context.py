"""What the runs of a study share, in a form that any worker can be sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from typing import TYPE_CHECKING, Any, Final

from gpusched.clusters.cluster import Cluster
from gpusched.plugins.policy import Choice
from gpusched.sweeping.expansion import Expansion, PlannedRun
from gpusched.sweeping.recipes import Recipe, source_of
from gpusched.sweeping.run_names import extra_metrics
from gpusched.sweeping.spec_parts import ROLES, StudyTrace

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

# Runs of a batch are kept together: it is to take some hundredths of a second, or be one run.
_BATCH_JOBS: Final = 40_000
_MOST_RUNS: Final = 64


@dataclass(frozen=True)
class RunContext:
    """What the runs of a study share.

    Attributes
    ----------
    sources
        The traces that are read or were given, by their positions in the study.
    choices
        Per role what its positions stand for, by (position, positions of values).
    warm_up_s, tail_s, metrics, max_intervals
        Of the study; ``metrics`` are those that no summary has without being asked.
    """

    entries: tuple[StudyTrace, ...]
    sources: tuple[Trace | None, ...]
    clusters: tuple[Cluster, ...]
    choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...]
    warm_up_s: float
    tail_s: float | None
    metrics: tuple[str, ...]
    max_intervals: int | None

    @property
    def window(self) -> dict[str, float | None]:
        """The part of each run that is measured, as arguments of ``Result.summary``."""
        return {"warm_up_s": self.warm_up_s, "tail_s": self.tail_s}


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs on the same jobs that one worker does in a row.

    Attributes
    ----------
    runs
        Each with its name.
    """

    recipe: Recipe
    runs: tuple[tuple[str, PlannedRun], ...]

    def __str__(self) -> str:
        return f"{self.runs[0][0]}+{len(self.runs)}"


def context_of(plan: Expansion) -> RunContext:
    """Read the files of a study, and gather what its runs need.

    Raises
    ------
    OSError, ValueError, TypeError
        If a trace cannot be read.
    """
    study = plan.study
    choices: tuple[dict[tuple[int, tuple[int, ...]], Any], ...] = tuple({} for _ in ROLES)
    for run in plan.runs:
        for role, known in enumerate(choices):
            key = (run.choices[role], run.values)
            if key not in known:
                choice = plan.choice(run, role)
                is_native = isinstance(choice, Choice) and choice.info.is_native
                known[key] = str(choice) if is_native else choice
    return RunContext(
        study.traces,
        tuple(map(source_of, study.traces)),
        plan.clusters,
        choices,
        study.warm_up_s,
        study.tail_s,
        tuple(extra_metrics(study)),
        study.max_intervals,
    )


def batches(runs: Sequence[tuple[str, PlannedRun]], num_jobs: Sequence[int]) -> Iterator[Batch]:
    """Cut runs, in the order of their jobs, into batches.

    Parameters
    ----------
    num_jobs
        About how many jobs each run has.
    """
    held: list[tuple[str, PlannedRun]] = []
    total = 0
    for one, jobs in zip(runs, num_jobs, strict=True):
        is_other = held and held[0][1].recipe.name != one[1].recipe.name
        if held and (is_other or total + jobs > _BATCH_JOBS or len(held) == _MOST_RUNS):
            yield Batch(held[0][1].recipe, tuple(held))
            held, total = [], 0
        held.append(one)
        total += jobs
    if held:
        yield Batch(held[0][1].recipe, tuple(held))


def side_by_side(left: Iterable[Batch], most_recipes: int) -> Iterator[Batch]:
    """Deal out the batches of some recipes in turn.

    Workers that go on to other jobs at a time neither wait until one of them has made those, nor
    find out the same of them twice.
    """
    by_recipe = (list(some) for _, some in groupby(left, key=lambda batch: batch.recipe.name))
    while together := list(islice(by_recipe, most_recipes)):
        for turn in zip_longest(*together):
            yield from (batch for batch in turn if batch is not None)


def jobs_of_run(context: RunContext, run: PlannedRun) -> int:
    """Return about how many jobs a run has: no fewer than that."""
    if run.recipe.jobs is not None:
        return run.recipe.jobs
    source = context.sources[run.recipe.trace]
    return 0 if source is None else len(source)
