"""From every policy a waiting job can be taken back."""

import numpy as np

import gpusched as gs
from gpusched.base.run_warning import unwarned
from gpusched.schedules.schedule import CANCELLED
from tests.each import each

SETTLED = [
    "a-srpt", "a-srpt:scan=strict", "ada-srsf", "conservative", "edf-fastest", "ff", "ls", "rand",
    "sjf-bco",
]  # fmt: skip
"""Who comes last and is never looked at changes nothing of these."""


def workload(*, last: bool) -> gs.Trace:
    """Return jobs that crowd a small cluster; the last one comes when all of it is busy."""
    rng = np.random.default_rng(5)
    submit_s = np.sort(rng.integers(0, 60, 40)).astype(float)
    service_s, gpus = rng.integers(40, 300, 40).astype(float), rng.integers(1, 9, 40)
    columns = {"submit_s": submit_s, "service_s": service_s, "gpus": gpus}
    due_s = submit_s + 20 * service_s
    if last:
        more = {"submit_s": 61.5, "service_s": 5e4, "gpus": 8}
        columns = {name: np.append(values, more[name]) for name, values in columns.items()}
        due_s = np.append(due_s, 2e6)
    return gs.Trace.from_columns(**columns, deadline_s=due_s)


def crowded(policy: str, *, last: bool, until_s: float) -> gs.Simulation:
    run = gs.Simulation(workload(last=last), gs.Cluster.uniform(3, 8), policy=policy)
    run.run_until(until_s)
    return run


@each("policy", sorted(gs.policies()))
def test_a_job_that_is_taken_back_starts_no_more_and_all_others_end(policy):
    with unwarned():
        run = crowded(policy, last=False, until_s=61)
        waiting = run.state.waiting
        assert len(waiting) >= 3
        begun = run.result().schedule.start_us  # of those that were preempted
        for place in (0, len(waiting) // 2, -1):
            trial, gone = run.fork(), int(waiting[place])
            trial.cancel(gone)
            assert gone not in trial.state.waiting
            trial.run()
            result = trial.result()
            schedule = result.schedule
            assert schedule.start_us[gone] == begun[gone]
            expected = np.zeros(len(schedule.status))
            expected[gone] = CANCELLED
            assert schedule.status.tolist() == expected.tolist()
            assert result.audit().problems == []


@each("policy", SETTLED)
def test_who_comes_last_and_is_taken_back_at_once_was_never_there(policy):
    with unwarned():
        run = crowded(policy, last=True, until_s=61.75)
        assert int(run.state.waiting[-1]) == 40
        run.cancel(40)
        run.run()
        alone = crowded(policy, last=False, until_s=61.75)
        alone.run()
    found, expected = run.result().schedule, alone.result().schedule
    assert found.start_us[:40].tolist() == expected.start_us.tolist()
    assert found.finish_us[:40].tolist() == expected.finish_us.tolist()
