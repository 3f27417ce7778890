"""A what-if as a person reads it: lines of text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gpusched.base.wording import Kind, decimals_of, plural, scale_of, text_of
from gpusched.studies.fidelity.wait_statistics import factor_between
from gpusched.studies.text_columns import aligned, wrapped

if TYPE_CHECKING:
    from gpusched.studies.fidelity.likeness import Likeness
    from gpusched.studies.whatif.outcome import Outcome
    from gpusched.traces.workload import Trace

_SHOWN: Final[tuple[tuple[str, str, Kind], ...]] = (
    ("mean_wait_s", "mean wait", "time"),
    ("p95_wait_s", "p95 wait", "time"),
    ("mean_jct_s", "mean JCT", "time"),
    ("utilisation", "util.", "percent"),
    ("makespan_s", "makespan", "time"),
)
_LONGEST: Final = 24


def lines(
    trace: Trace,
    base: Outcome,
    outcomes: tuple[Outcome, ...],
    likeness: Likeness | None,
    no_grade: str,
    resolution_s: float,
    remarks: Sequence[str],
) -> list[str]:
    """Return the text of a what-if.

    Parameters
    ----------
    trace, base, outcomes, likeness, no_grade, resolution_s, remarks
        As of :class:`~gpusched.studies.whatif.whatif_result.WhatIf`.
    """
    grade = f"no grade: {no_grade}" if likeness is None else f"grade {likeness.grade}"
    missed = [] if likeness is None else _within_error(base, outcomes, likeness.mean_wait_factor)
    return [
        f"{trace.name}: {plural(len(trace), 'job')}",
        *wrapped(
            f"base: {_policy(base)}, placement {base.placement}, predictor {base.predictor}, "
            f"{base.cluster}"
        ),
        *wrapped(grade),
        "",
        *aligned(_rows(base, outcomes)),
        "",
        f"gain, lose: jobs done sooner and later than in the base case, by over "
        f"{resolution_s:,.0f} s",
        *missed,
        *(line for remark in remarks for line in wrapped(remark)),
    ]


def _policy(outcome: Outcome) -> str:
    return f"{outcome.policy} †" if outcome.clairvoyant else outcome.policy


def _rows(base: Outcome, outcomes: tuple[Outcome, ...]) -> list[list[str]]:
    every = (base, *outcomes)
    shown = [entry for entry in _SHOWN if any(math.isfinite(o.measures[entry[0]]) for o in every)]
    columns = [_column(every, key, label, kind) for key, label, kind in shown]
    headings = ["", *(heading for heading, _ in columns), "gain", "lose"]
    rows = [headings]
    for place, outcome in enumerate(every):
        counts = ["", ""] if place == 0 else [f"{outcome.num_gain:,}", f"{outcome.num_lose:,}"]
        name = outcome.label if len(outcome.label) <= _LONGEST else f"{outcome.label[:22]}.."
        rows.append([name, *(cells[place] for _, cells in columns), *counts])
        if place:
            rows.append(["", *(_change(base, outcome, key) for key, _, _ in shown), "", ""])
    return rows


def _column(every: Sequence[Outcome], key: str, label: str, kind: Kind) -> tuple[str, list[str]]:
    """Return the heading with the unit, and a text per outcome."""
    values = [outcome.measures[key] for outcome in every]
    known = [value for value in values if math.isfinite(value)]
    scale, unit = scale_of(kind, known)
    decimals = decimals_of(kind, [value / scale for value in known])
    texts = [
        text_of(value / scale, decimals, kind) if math.isfinite(value) else "-" for value in values
    ]
    return f"{label}, {unit}", texts


def _change(base: Outcome, outcome: Outcome, key: str) -> str:
    """Return the change in percent of the base case's measure."""
    before, after = base.measures[key], outcome.measures[key]
    if not (math.isfinite(before) and math.isfinite(after)):
        return ""
    if before == after:
        return "same"
    if before <= 0:
        return "more"
    percent = 100 * (after / before - 1)
    return f"{percent:+,.0f} %" if abs(percent) >= 0.5 else f"{percent:+.1g} %"


def _within_error(base: Outcome, outcomes: tuple[Outcome, ...], factor: float) -> list[str]:
    """Name the changes of the mean wait that are no larger than what the base case misses."""
    before = base.measures["mean_wait_s"]
    small = [
        outcome.label
        for outcome in outcomes
        if factor > 1 and factor_between(before, outcome.measures["mean_wait_s"]) <= factor
    ]
    if not small:
        return []
    return wrapped(
        f"the base case misses the trace's own mean wait by a factor of {factor:.2f}; no larger "
        f"is the change of: {', '.join(small)}"
    )
