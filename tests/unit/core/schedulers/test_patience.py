"""Jobs that have waited for `patience_s` go first, and nobody passes them."""

import pytest

import gpusched as gs


def starts_s(policy: str, placement: str = "count", **columns: list[float]) -> list[float]:
    trace = gs.Trace.from_columns(**columns)
    cluster = gs.Cluster.uniform(servers=1, gpus=2)
    result = gs.simulate(trace, cluster, policy=policy, placement=placement)
    result.audit(level="decisions").raise_if_bad()
    return (result.schedule.start_us / 1e6).tolist()


# A job of 2 GPUs, which jobs of one GPU pass for ever.
WIDE = {
    "submit_s": [0, 0, 10, 20, 40, 60, 80],
    "service_s": [30, 50, 10, 40, 40, 40, 40],
    "gpus": [1, 1, 2, 1, 1, 1, 1],
}


@pytest.mark.parametrize("placement", ["count", "first-fit"])
def test_a_wide_job_is_passed_until_its_patience_ends(placement):
    assert starts_s("fifo-skip", placement, **WIDE) == [0, 0, 130, 30, 50, 70, 90]
    assert starts_s("fifo-skip:patience_s=50", placement, **WIDE)[2] == 90
    assert starts_s("fifo-skip:patience_s=5", placement, **WIDE)[2] == 50


def test_in_a_strict_queue_the_first_to_lose_patience_starts_at_that_instant():
    # The shortest job is too wide for the free GPU, and in a strict queue nobody passes it.
    jobs = {"submit_s": [0, 10, 10], "service_s": [100, 50, 10], "gpus": [1, 1, 2]}
    assert starts_s("sjf:scan=strict", **jobs) == [0, 110, 100]
    assert starts_s("sjf:scan=strict,patience_s=30", **jobs) == [0, 40, 100]


def test_patience_goes_before_priority():
    jobs = {
        "submit_s": [0, 10, 60], "service_s": [100, 10, 10], "gpus": [2, 2, 2],
        "priority": [0, 0, 5],
    }  # fmt: skip
    assert starts_s("fifo", **jobs) == [0, 110, 100]
    assert starts_s("fifo:patience_s=80", **jobs) == [0, 100, 110]
