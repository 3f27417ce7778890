"""Marks behind the names of policies in tables of results."""

from __future__ import annotations

import gpusched as gs
from gpusched.reporting.notes import footnotes, policy_name

TRACE = gs.Trace.from_columns([0.0, 1.0, 2.0], [5.0, 4.0, 3.0], [1, 2, 1])
CLUSTER = gs.Cluster.uniform(1, 2)


def test_approximations_of_what_was_published_are_marked() -> None:
    compared = gs.compare(TRACE, CLUSTER, ["fifo", "srtf", "themis-greedy"])
    names = [policy_name(label, result) for label, result in compared.results.items()]
    assert names == ["fifo", "srtf †", "themis-greedy †≈"]
    assert footnotes(compared)[-1].startswith("≈ an approximation of what was published")
    assert not any("≈" in note for note in footnotes(compared.select(("fifo", "srtf"))))


def test_the_flag_is_shown_with_its_meaning() -> None:
    approximate = {name for name, info in gs.policies().items() if info.has("approximate")}
    assert approximate == {"allox", "chronus", "optimus", "themis-greedy"}
