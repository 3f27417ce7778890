"""How jobs ended, in words that are ours, those of a simulated run, or others."""

from __future__ import annotations

from typing import Final

from gpusched.base.labels import STATUSES, Labels

OF_A_RUN: Final = {
    "finished": "ok", "rejected": "unknown", "unfinished": "unknown", "cancelled": "killed",
}  # fmt: skip
"""What the status of a job in a result says of how it ends: it has all its run time, or no one
knows. Those that are killed or failed have our words there, too."""
_NUM_SHOWN: Final = 5


def of_a_run(named: Labels) -> tuple[Labels, tuple[str, ...]]:
    """Take the statuses of a result for ours, and say so; other labels stay as they are."""
    given = _present(named)
    theirs = [name for name in given if name in OF_A_RUN]
    if not theirs or not {*given} <= OF_A_RUN.keys() | {"killed", "failed"}:
        return named, ()
    ours = Labels.of(OF_A_RUN.get(name, name) for name in named.names)
    told = ", ".join(f"{name!r} is {OF_A_RUN[name]!r}" for name in theirs)
    return Labels(ours.codes[named.codes], ours.names), (f"status is that of a run: {told}",)


def known_statuses(named: Labels) -> tuple[Labels, tuple[str, ...]]:
    """Take statuses for ours as :func:`of_a_run`, then others for ``"unknown"``, and say so."""
    named, notes = of_a_run(named)
    others = [name for name in _present(named) if name not in STATUSES]
    if others:
        shown = ", ".join(map(repr, others[:_NUM_SHOWN]))
        more = f" and {len(others) - _NUM_SHOWN:,} more" if len(others) > _NUM_SHOWN else ""
        rule = f"none of {', '.join(STATUSES)}"
        notes += (f"status {shown}{more}: {rule}, so 'unknown'",)
    return named.among(STATUSES, "unknown"), notes


def _present(named: Labels) -> list[str]:
    counts = named.counts().tolist()
    return [name for name, count in zip(named.names, counts, strict=True) if name and count]
