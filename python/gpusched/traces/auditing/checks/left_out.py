"""Rows that are no jobs: why, and whether that says something of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpusched.traces.auditing.check_registry import Outcome, trace_check
from gpusched.traces.auditing.evidence import Evidence
from gpusched.traces.auditing.findings import Verdict

_MANY: Final = 0.01
_TIMES: Final = ("submit_s", "service_s", "deadline_s", "estimate_s")
_NOT_ABOVE: Final = ("must be positive", "must not be negative")


def _left_out(
    evidence: Evidence, chosen: Callable[[str, str], bool], fine: str, worst: Verdict = "wrong"
) -> Outcome:
    """Judge the reasons that are ``chosen(column, reason)``: odd below 1 % of all rows."""
    rejects = evidence.trace.rejects
    reasons = [
        reason for reason in rejects.counts if chosen(rejects.columns.get(reason, ""), reason)
    ]
    count = sum(rejects.counts[reason] for reason in reasons)
    if not count:
        return Outcome("fine", fine)
    share = count / (evidence.num_jobs + rejects.total)
    ranked = sorted(reasons, key=lambda reason: -rejects.counts[reason])
    told = "; ".join(f"{reason}: {rejects.counts[reason]:,}" for reason in ranked)
    rows = tuple(sorted(row for reason in reasons for row in rejects.first[reason]))
    return Outcome(worst if share >= _MANY else "odd", f"{told} ({share:.1%} of the rows)", (),
                   count, rows)  # fmt: skip


def _is_time(column: str, reason: str) -> bool:
    return column in _TIMES and reason.endswith(_NOT_ABOVE)


def _is_wait(column: str, reason: str) -> bool:
    return column == "source_wait_s" and reason.endswith(_NOT_ABOVE)


def _is_width(column: str, reason: str) -> bool:
    return column == "gpus" and (
        "must be positive" in reason or reason.endswith((*_NOT_ABOVE, "(a job without)"))
    )


def _is_step(column: str, reason: str) -> bool:
    return column == "id" and reason.endswith("(a step)")


@trace_check(
    "times-not-positive",
    summary="Run times, or other times, that are zero or negative.",
    effect="Such rows are left out. Zeros are mostly jobs that failed at once; negative times are "
    "a clock that was wrong, and then others are, too.",
    threshold="Odd from the first, wrong from 1 % of the rows.",
    rank=30,
)
def times_not_positive(evidence: Evidence) -> Outcome:
    """Count rows left out for their times."""
    return _left_out(evidence, _is_time, "no row was left out for its times")


@trace_check(
    "waits-below-zero",
    summary="Jobs that started before they were submitted.",
    effect="Such rows are left out; the clocks of submit and start differ, so the other waits are "
    "off as well, and a comparison with what happened is not to be trusted.",
    threshold="Odd from the first, wrong from 1 % of the rows.",
    rank=31,
)
def waits_below_zero(evidence: Evidence) -> Outcome:
    """Count rows left out for their waits."""
    if evidence.trace.source_wait_us is None:
        return Outcome("unknown", "the trace has no waits")
    return _left_out(evidence, _is_wait, "no wait is below zero")


@trace_check(
    "rows-without-gpus",
    summary="Rows that ask for no GPU.",
    effect="None on a study of GPUs: they are left out. Where CPUs are short, too, they matter.",
    threshold="Never odd: sites log their CPU jobs in the same file.",
    rank=32,
)
def rows_without_gpus(evidence: Evidence) -> Outcome:
    """Count rows left out for their width."""
    found = _left_out(evidence, _is_width, "every row asks for GPUs")
    return Outcome("fine", found.what, (), found.count or 0, found.rows)


@trace_check(
    "rows-unreadable",
    summary="Rows that are left out for another reason: no number, no time, empty, out of range.",
    effect="What is missing is not missing at random: it is mostly the jobs that failed, were "
    "never started, or had not ended.",
    threshold="Odd from the first, wrong from 1 % of the rows.",
    rank=33,
)
def rows_unreadable(evidence: Evidence) -> Outcome:
    """Count all other rows that were left out."""

    def other(column: str, reason: str) -> bool:
        kinds = (_is_time, _is_wait, _is_width, _is_step)
        return not any(kind(column, reason) for kind in kinds)

    return _left_out(evidence, other, "every other row was read")
