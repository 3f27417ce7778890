"""Forgeries that a forger has repaired: the audit of the log names all but those that it cannot."""

from __future__ import annotations

import pytest

from tests.campaigns.tamperings import SHOWN_BY_DECISIONS, SHOWN_BY_NOTHING, campaign

pytestmark = pytest.mark.long


def test_every_repaired_forgery_is_named_but_those_that_the_log_cannot_show():
    num_forged, passed = campaign(2, lambda result: result.audit())
    assert num_forged >= 600
    # Where a policy would have put a job is a matter of its placement, and so of decisions.
    left = {what for what in passed if "log server" not in what and "log mask" not in what}
    assert left <= SHOWN_BY_DECISIONS | SHOWN_BY_NOTHING.keys()
