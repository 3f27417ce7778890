"""The memory that the runs of a study need which are under way at one time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from gpusched.engine.prepare import check_memory, of_jobs
from gpusched.sweeping.expansion import PlannedRun
from gpusched.sweeping.run_context import RunContext, jobs_of_run


def remarks(runs: Iterable[PlannedRun], context: RunContext, num_slots: int) -> list[str]:
    """Say if the largest runs, as many as there are workers, need much of the memory that there is.

    None is refused: they may not come together, and each is looked at before it begins.
    """
    largest = heapq.nlargest(num_slots, (jobs_of_run(context, run) for run in runs))
    if not largest:
        return []
    try:
        return check_memory(sum(map(of_jobs, largest)), largest[0], len(largest))
    except MemoryError as error:
        return [str(error)]
