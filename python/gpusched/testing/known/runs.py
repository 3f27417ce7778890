"""A run does nothing impossible, and goes to its end. Asked first: all else looks at the run."""

from __future__ import annotations

from gpusched._core import InvariantError
from gpusched.testing.cases import Case
from gpusched.testing.law_registry import Faults, law


@law(
    "possible-actions",
    "Whoever decides names free GPUs, whole gangs, and jobs that wait or run.",
    rank=1,
)
def _possible_actions(case: Case) -> Faults:
    try:
        _ = case.result
    except InvariantError as error:
        yield str(error)
    except Exception:
        return  # the next law's


@law("no-error", "A run of jobs that are in order ends without an error.", rank=2)
def _no_error(case: Case) -> Faults:
    try:
        _ = case.result
    except InvariantError:
        return  # the law's before
    except Exception as error:
        yield f"{type(error).__name__}: {error}"
