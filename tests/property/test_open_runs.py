"""Open runs that are changed in any order equal those that were told the same from the start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.campaigns.open_run_machine import Machine
from tests.campaigns.open_runs import course_of, play
from tests.examples import examples
from tests.reference.open_run_cases import Start, moves, starts

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


class OpenRuns(RuleBasedStateMachine):
    """The machine with the choices of Hypothesis, which makes a failure small."""

    @initialize(start=starts())
    def begin(self, start: Start) -> None:
        """Open a run."""
        self.machine = Machine(start)

    @rule(data=st.data())
    def do(self, data: Any) -> None:
        """Do anything to it."""
        self.machine.do(data.draw(moves(self.machine.start)))

    def teardown(self) -> None:
        """Bring it to its end, and compare."""
        if hasattr(self, "machine"):
            self.machine.end()


TestOpenRuns = OpenRuns.TestCase
TestOpenRuns.settings = examples(20, stateful_step_count=8)


def test_sequences_of_the_campaign_equal_runs_told_the_same_from_the_start():
    """The first of seed 1; ``python -m tests.campaigns.open_runs`` plays more."""
    verdicts = {index: play(course_of(1, index))[0] for index in range(100)}
    assert {index: verdict for index, verdict in verdicts.items() if verdict != "same"} == {}
