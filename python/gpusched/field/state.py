"""Run the field and say how it stands: :func:`state_of_the_field`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from gpusched.base.progress import OnProgress
from gpusched.base.real_data import data_at
from gpusched.field.entrants import entrants
from gpusched.field.field_study import NUM_SEEDS, field_study
from gpusched.field.standings import Standings
from gpusched.field.workloads import generated, windows
from gpusched.sweeping.sweep import sweep


def state_of_the_field(
    more: Sequence[str] = (),
    *,
    only: Sequence[str] | None = None,
    num_seeds: int = NUM_SEEDS,
    data: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    executor: Any = None,
    progress: OnProgress | None = None,
) -> tuple[Standings, list[str], list[str]]:
    """Run policies on eight windows of real traces and four generated workloads.

    Parameters
    ----------
    more
        Policies, with options, that shall have rows beside those of all that are registered and
        need nothing that the jobs lack.
    only
        These in place of all that are registered.
    num_seeds
        Of the generated jobs and of random policies, from 2,000 on.
    data
        The folder of the published traces; None: ``$GPUSCHED_DATA``. Windows that are not there are
        left out.
    folder, executor, progress
        As of :func:`gpusched.sweep`.

    Returns
    -------
    tuple
        The standings; the windows that are not there; warnings of the runs.

    Raises
    ------
    ValueError
        If a policy is not known, or asks for what the jobs do not have.
    """
    who = entrants(more, only)
    with data_at(data):
        real, missing = windows()
    workloads = [*real, *generated()]
    result = sweep(
        field_study(workloads, who, num_seeds), folder=folder, executor=executor, progress=progress
    )
    return Standings(result.finished, tuple(workloads), tuple(who)), missing, result.warnings
