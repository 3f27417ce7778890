"""Marks behind the names of policies in tables of results."""

from __future__ import annotations

import re

import gpusched as gs
from gpusched.plugins.registry import describe
from gpusched.reporting.notes import footnotes, policy_name
from gpusched.reporting.tables import policy_html

TRACE = gs.Trace.from_columns([0.0, 1.0, 2.0], [5.0, 4.0, 3.0], [1, 2, 1])
CLUSTER = gs.Cluster.uniform(1, 2)


def test_policies_that_depart_from_what_was_published_are_marked():
    compared = gs.compare(TRACE, CLUSTER, ["fifo", "srtf", "themis-greedy"])
    names = [policy_name(label, result) for label, result in compared.results.items()]
    assert names == ["fifo", "srtf †", "themis-greedy †≈"]
    said = [note for note in footnotes(compared) if note.startswith("≈")]
    assert said[0] == "≈ by default not quite as published"
    assert said[1:] == [f"≈ themis-greedy: {gs.policies()['themis-greedy'].differs}"]
    assert not any("≈" in note for note in footnotes(compared.select(("fifo", "srtf"))))


def test_tables_of_the_report_have_the_same_marks():
    compared = gs.compare(TRACE, CLUSTER, ["fifo", "srtf", "themis-greedy", "gandiva"])
    shown = [policy_html(label, result) for label, result in compared.results.items()]
    plain = [re.sub("<[^>]*>", "", name).replace("&nbsp;", " ") for name in shown]
    assert plain == [policy_name(label, result) for label, result in compared.results.items()]
    assert [re.findall('title="([^"]*)"', name)[-1:] for name in shown[2:]] == [
        ["by default not quite as published"]
    ] * 2


def test_what_differs_is_said_once_for_each_policy():
    compared = gs.compare(TRACE, CLUSTER, ["optimus:period_s=0", "chronus", "optimus:period_s=60"])
    said = [note.partition(":")[0] for note in footnotes(compared) if note.startswith("≈ ")]
    assert said[1:] == ["≈ optimus", "≈ chronus"]


def test_the_approximations_are_those_that_say_what_differs():
    approximate = {name for name, info in gs.policies().items() if info.has("approximate")}
    assert approximate == {name for name, info in gs.policies().items() if info.differs}
    assert {"allox", "chronus", "optimus", "themis-greedy"} <= approximate


def test_a_policy_of_python_that_says_what_differs_is_an_approximation():
    class Lazy(gs.Order):
        """First come, first served, more or less."""

        differs = "It is lazier than that of the paper."

        def rank(self, view, jobs):
            return view.submit_s[jobs]

    info = describe(Lazy, "order", "lazy")
    assert info.has("approximate")
    assert info.differs == Lazy.differs
