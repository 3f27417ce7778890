"""A gang that loses its GPUs while it still pays for its restart: what counts as paid."""

import functools

import pytest

import gpusched as gs


@pytest.mark.parametrize("placement", ["count", "first-fit"])
def test_a_run_that_stops_during_its_restart_has_paid_until_then(placement):
    # Resumed at 11, stopped at 13 with 2 of 5 s paid; resumed at 14 it pays 5 s again.
    trace = gs.Trace.from_columns(submit_s=[0, 10, 13], service_s=[100, 1, 1], gpus=[2, 2, 2])
    cluster = gs.Cluster.uniform(1, 2)
    result = gs.simulate(trace, cluster, policy="srtf:cost_s=5", placement=placement)
    result.audit().raise_if_bad()
    schedule = result.schedule
    assert (schedule.paid_us // 10**6).tolist() == [7, 0, 0]
    assert (schedule.held_us // 10**6).tolist() == [107, 1, 1]
    assert (schedule.finish_us // 10**6).tolist() == [109, 11, 14]
    assert schedule.preemptions.tolist() == [2, 0, 0]


def test_a_run_that_stops_as_its_restart_is_paid_has_paid_all_of_it():
    trace = gs.Trace.from_columns(submit_s=[0, 10, 16], service_s=[100, 1, 1], gpus=[1, 1, 1])
    result = gs.simulate(trace, gs.Cluster.uniform(1, 1), policy="srtf:cost_s=5")
    result.audit().raise_if_bad()
    assert (result.schedule.paid_us // 10**6).tolist() == [10, 0, 0]
    assert (result.schedule.held_us // 10**6).tolist() == [110, 1, 1]


@pytest.mark.parametrize("policy", ["las", "llf"])
def test_jobs_that_take_turns_and_lose_more_to_each_than_they_gain_are_refused(policy):
    for restart_s, is_refused in ((59, False), (61, True)):
        trace = gs.Trace.from_columns(
            [0, 0], [600, 600], [1, 1], deadline_s=[700, 700], restart_s=[restart_s] * 2
        )
        cluster = gs.Cluster.uniform(servers=1, gpus=1)
        run = functools.partial(
            gs.simulate, trace, cluster, policy=f"{policy}:restart=work,period_s=60"
        )
        if is_refused:
            with pytest.raises(ValueError, match="restart=work: job 0 would lose at each"):
                run()
        else:
            assert (run().schedule.finish_us > 0).all()
