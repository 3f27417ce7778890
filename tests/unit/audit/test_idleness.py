"""A job that waits though its policy would have started it on what is free is named."""

from __future__ import annotations

import gpusched as gs
from tests.campaigns.tamperings import delayed, stored
from tests.each import each
from tests.golden.workload import cluster, trace


@each("placement", ["best-fit", "consolidated", "count"])
@each("policy", ["fifo", "sjf", "sjf:scan=skip", "srtf", "easy"])
def test_the_last_job_is_not_left_waiting(policy, placement):
    result = stored(
        gs.simulate(trace(is_typed=False), cluster(), policy=policy, placement=placement)
    )
    assert result.audit().ok
    late = delayed(result, "last")
    assert late is not None
    assert any(problem.startswith("left waiting: ") for problem in late.audit().problems)
