"""What is judged on held-out jobs: the best few of a search, and what they are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpusched.sweeping.run_names import choice_content
from gpusched.tuning.search import Attempt


@dataclass(frozen=True)
class Candidate:
    """A policy that is judged on what was held out.

    Attributes
    ----------
    trial
        Its number; None: no trial, but the baseline or the default options of a policy.
    search_value
        The metric in the whole search window; None if it was not run there, or failed.
    """

    label: str
    choice: Any
    trial: int | None
    search_value: float | None


def content_of_policy(choice: Any) -> bytes:
    """Return what a policy is, by whatever label: defaults that are written are no others."""
    return choice_content("policy", choice)


def best_of(
    found: Sequence[Attempt], baseline: Candidate, better: str, number: int
) -> list[Candidate]:
    """Return the best policies that finished, the best one first.

    Of those that have one and the same value only the first is there: they are one policy by
    another name, such as those that differ in an option without effect.
    """
    done = [one for one in found if one.state == "finished"]
    if not done:
        errors = [one.error for one in found if one.error]
        raise ValueError(f"no trial of {len(found):,} finished: {errors[0]}")
    sign = 1 if better == "lower" else -1
    done.sort(key=lambda one: (sign * one.scores[-1], one.number))
    distinct: dict[float, Candidate] = {}
    for one in done:
        value = one.scores[-1]
        is_base = content_of_policy(one.policy) == content_of_policy(baseline.choice)
        label = baseline.label if is_base else str(one.policy)
        distinct.setdefault(value, Candidate(label, one.policy, one.number, value))
    return list(distinct.values())[:number]
