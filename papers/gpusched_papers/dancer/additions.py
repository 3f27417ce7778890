"""What each addition of ours to the primal-dual form is worth: the tables of those taken away."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.reporting.text_table import Table, figure_of, table
from gpusched_papers.dancer.settings import (
    BASELINES,
    DANCER,
    ONE_TAKEN_AWAY,
    TAKEN_AWAY,
    Arm,
    Setting,
)
from gpusched_papers.dancer.summary import Summary, dsr
from gpusched_papers.study import mean


def taken_away(summary: Summary, settings: Sequence[Setting]) -> Iterable[Table]:
    """One addition taken away from all, and one more at a time down to none of them."""
    notes = (
        "DSR: mean over all settings and seeds, and the 95 % interval over the seeds of what it "
        "has more than dancer on the same jobs. First: its mean is above that of every baseline; "
        "surely: the 95 % interval of its lead over the best of them excludes 0.",
    )
    for title, arms in (
        ("One of our additions taken away", ONE_TAKEN_AWAY),
        ("Our additions taken away one after the other", TAKEN_AWAY),
    ):
        rows = [_row(summary, settings, arm) for arm in (DANCER, *arms)]
        headings = (
            "policy", "DSR, %", "points more than dancer", "first in", "surely", "behind in",
        )  # fmt: skip
        yield table(f"{title}: all settings", headings, rows, notes)


def is_run(summary: Summary, settings: Sequence[Setting]) -> bool:
    """Whether all of it was run on all of the settings."""
    arms = {*ONE_TAKEN_AWAY, *TAKEN_AWAY}
    return all(summary.has(setting, arm) for setting in settings for arm in arms)


def _row(summary: Summary, settings: Sequence[Setting], arm: Arm) -> list[str]:
    leads = [_lead(summary, setting, arm) for setting in settings]
    first = sum(lead.mean() > 0 for lead in leads)
    surely = sum(mean(lead).low > 0 for lead in leads)
    behind = sum(mean(lead).high < 0 for lead in leads)
    own, full = (_by_seed(summary, settings, of) for of in (arm, DANCER))
    more = "" if arm == DANCER else figure_of(mean(own - full), 1, 100)
    of = len(settings)
    return [arm.name, f"{100 * own.mean():.1f}", more, f"{first} of {of}", f"{surely}", f"{behind}"]


def _lead(summary: Summary, setting: Setting, arm: Arm) -> Float64:
    """By how much it is ahead of the best of the baselines there; by seed."""
    baselines = [one for one in BASELINES if summary.has(setting, one)]
    best = max(baselines, key=lambda one: summary.mean(setting, one).value)
    return summary.values(setting, arm, dsr) - summary.values(setting, best, dsr)


def _by_seed(summary: Summary, settings: Sequence[Setting], arm: Arm) -> Float64:
    found: Float64 = np.mean([summary.values(setting, arm, dsr) for setting in settings], axis=0)
    return found
