"""What policies warn of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gpusched.audit.case import Case
from gpusched.audit.course import SAYING_RULES, Saying


@SAYING_RULES.register("serverfilling-srpt")
def _of_serverfilling(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """The filling is exact if each width is a power of two that divides the cluster."""
    gpus = case.trace.gpus.astype(np.int64)
    is_odd = (gpus & (gpus - 1) != 0) | (case.cluster.num_gpus % gpus != 0)
    if not is_odd.any():
        return []
    return [
        Saying(
            f"{np.count_nonzero(is_odd)} jobs have a width that is no power of two dividing the "
            "cluster: the filling is not exact and may leave GPUs idle",
            is_due=True,
        )
    ]


@SAYING_RULES.register("dancer")
def _of_dancer(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Promises that its plans broke; what a placement adds to that, it does not count."""
    return [Saying(r"dancer: \d+ jobs that were admitted missed their deadlines")]


@SAYING_RULES.register("edf-greatest")
def _of_edf_greatest(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Whom it admitted and who ended after the deadline, as decisions and log tell."""
    decisions, deadline_us = case.schedule.decisions(), case.trace.deadline_us
    job = np.asarray(decisions["job"])[np.asarray(decisions["admitted"]) == 1]
    if deadline_us is None:
        return []
    late = case.finished[job] & (np.asarray(case.schedule.finish_us)[job] > deadline_us[job])
    count = np.count_nonzero(late)
    text = f"edf-greatest: {count} jobs that were admitted missed their deadlines"
    return [Saying(text, is_due=True)] if count else []


def _of_shares(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Who fell behind a plan the log does not tell."""
    return [Saying(r"\d+ admitted jobs fell behind their plans and became best effort")]


def _of_caps(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Where gangs are bound under a cap."""
    if float(given.get("theta_s", "0")) == 0:
        return []
    raised = r"theta_s was raised \d+ times, in the end to [\d.]+ s, for jobs that fit nowhere "
    return [
        Saying(raised + "under it"),
        Saying("the cap theta_s counts with the true services"),
    ]


@SAYING_RULES.register("gavel")
def _of_gavel(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Whether types are told apart."""
    return [
        Saying("gavel decides by throughputs, and the speed of the run has none: .+"),
        Saying(r"gavel: \d+ of \d+ programs for .+"),
    ]


@SAYING_RULES.register("chronus-leases")
def _of_leases(case: Case, given: Mapping[str, str]) -> Sequence[Saying]:
    """Who lost its leases, and which programs were not solved."""
    unsolved = r"chronus-leases: \d+ of \d+ programs had no solution; .+"
    return [*_of_shares(case, given), Saying(unsolved)]


for _name in ("chronus", "elasticflow"):
    SAYING_RULES.register(_name)(_of_shares)
for _name in ("sjf-bco", "ff", "ls", "rand"):
    SAYING_RULES.register(_name)(_of_caps)
