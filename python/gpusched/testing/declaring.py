"""What may be said of a policy beyond its flags, and is then held against it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gpusched.base.suggest import nearest

_CLAIMS: Final = {
    "non-preemptive": "A job that runs keeps its GPUs until it finishes.",
    "work-conserving": "No job waits that would fit on the free GPUs of one server.",
    "scale-free": "Times that are longer by a factor give the schedule, longer by the factor.",
    "shift-free": "Submissions that are later by an hour give the schedule, an hour later.",
    "looks-ahead": "The whole trace decides, jobs that are still to come among it.",
    "random": "The seed of the run decides.",
}


def claims() -> dict[str, str]:
    """What ``declares`` of :func:`~gpusched.testing.check_policy` may say, by name.

    The first four ask for more laws, the last two take one away.

    Returns
    -------
    dict
        A sentence for each name.

    Examples
    --------
    >>> gs.testing.claims()["work-conserving"]
    'No job waits that would fit on the free GPUs of one server.'
    """
    return dict(_CLAIMS)


def checked_claims(declares: Iterable[str]) -> frozenset[str]:
    """Return the claims as a set.

    Raises
    ------
    ValueError
        If there is no such claim. TypeError if ``declares`` is one text.
    """
    if isinstance(declares, str):
        raise TypeError(f"declares: expected a collection of claims, not {declares!r}")
    told = frozenset(declares)
    for claim in sorted(told, key=str):
        if claim not in _CLAIMS:
            raise ValueError(
                f"declares: unknown claim {claim!r}{nearest(str(claim), list(_CLAIMS))}"
            )
    return told
