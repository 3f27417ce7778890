"""A-SRPT, its preemptive form and its baselines, by examples worked out by hand."""

import pytest

import gpusched as gs
from tests.each import each

FOUR_GPUS = gs.Cluster.uniform(servers=1, gpus=4)


def starts(
    jobs: list[tuple[float, float, int]],
    policy: str,
    cluster: gs.Cluster = FOUR_GPUS,
    restart_s: list[float] | None = None,
) -> list[float]:
    """When the jobs, each (submit, service, GPUs), first start."""
    submit, service, gpus = zip(*jobs, strict=True)
    optional = {"restart_s": restart_s} if restart_s else {}
    trace = gs.Trace.from_columns(submit_s=submit, service_s=service, gpus=gpus, **optional)
    result = gs.simulate(trace, cluster, policy=policy, placement="first-fit")
    result.audit().raise_if_bad()
    return [float(start) for start in result.jobs["start_s"]]


ONE_GPU = gs.Cluster.uniform(servers=1, gpus=1)
IN_TURN = [(0, 8, 2), (0, 20, 1)]
PAST_A_WIDE_ONE = [(0, 10, 3), (0.5, 0.5, 2), (3, 4, 1)]
# The machine is done at 4, 5 and 5.5; the first runs until 12 beside 2 free GPUs.
AFTER_EACH_OTHER = [(0, 8, 2), (4, 1, 4), (5, 2, 1)]
# At 2 the first has 8 s left and the second needs 5.
SHORTER = [(0, 10, 1), (2, 5, 1)]
QUEUE = [(0.0, 10.0, 3), (1.0, 1.0, 4), (2.0, 3.0, 2), (3.0, 7.0, 1)]
# Behind a job that holds everything: first 3 GPUs for 4 s, then 4 for 3.5 s, 1 for 5 s.
KEYS = [(0, 10, 4), (1, 4, 3), (2, 3.5, 4), (3, 5, 1)]


@each(
    ("jobs", "policy", "expected"),
    [
        # The share of the virtual machine: 2 of 4 GPUs for 10 s are 5 s of one that has all.
        ([(3, 10, 2)], "a-srpt:idle=false", [8]),
        # An instant between two ticks, 0.75 microseconds, is rounded up.
        ([(0, 3e-6, 1)], "a-srpt:idle=false", [1e-6]),
        # A shorter job interrupts the first on the machine from 1 until 3; then 9 s remain.
        ([(0, 10, 4), (1, 2, 4)], "a-srpt:idle=false", [12, 3]),
        # The first two hold 3 GPUs from 1.5 to 11.5; the machine does not see that and is done
        # with the third at 4.5.
        ([(0, 2, 3), (0, 10, 3), (0, 1, 1)], "a-srpt:idle=false", [1.75, 9.25, 0.25]),
        # Equal work is done in order of arrival.
        ([(0, 4, 1), (0, 2, 2), (0, 4, 1)], "a-srpt:idle=false", [1, 2, 3]),
        # An idle cluster starts the job that the machine runs, and no other: it keeps its copy of
        # the first for 4 s, and only then turns to the second.
        (IN_TURN, "a-srpt", [0, 4]),
        (IN_TURN, "a-srpt:idle=false", [4, 9]),
        # Nothing starts early past a job that waits, the second from 0.75 on: the third starts
        # when it is queued, and not when it comes.
        (PAST_A_WIDE_ONE, "a-srpt:scan=strict", [0, 10, 10]),
        (PAST_A_WIDE_ONE, "a-srpt", [0, 10, 4]),
        # Strict waits for the head of the queue, skip goes on.
        (AFTER_EACH_OTHER, "a-srpt:idle=false", [4, 12, 5.5]),
        (AFTER_EACH_OTHER, "a-srpt:idle=false,scan=strict", [4, 12, 13]),
        # A narrow gang has less virtual work left: 8 s of 4 GPUs against 20 s, or 33 s, of 1.
        ([(0, 10, 4), (2, 20, 1)], "a-srpt-p", [0, 2]),
        ([(0, 10, 4), (2, 33, 1)], "a-srpt-p", [0, 10]),
        # The strict baselines block, the others conserve work.
        *((QUEUE, policy, [0, 10, 11, 11]) for policy in ("spjf", "spwf", "qssf")),
        *((QUEUE, f"wcs-{key}", [0, 10, 11, 3]) for key in ("duration", "workload", "subtime")),
        # Each of them has a key of its own.
        *((KEYS, policy, [0, 13.5, 10, 13.5]) for policy in ("spjf", "wcs-duration")),
        *((KEYS, policy, [0, 10, 15, 10]) for policy in ("spwf", "wcs-workload", "wcs-subtime")),
    ],
)
def test_jobs_start_in_the_order_of_the_policy(jobs, policy, expected):
    assert starts(jobs, policy) == pytest.approx(expected, abs=1e-9)


@each(
    ("policy", "restart_s", "second"),
    [
        ("a-srpt-p", [2, 0], 2),
        ("a-srpt-p", [4, 0], 10),
        ("a-srpt-p:cost_s=4", None, 10),
        ("a-srpt-p:cost_s=4,wide_cost_s=0", None, 10),
        ("a-srpt-p:cost_s=4,wide_cost_s=0,narrow_gpus=0", None, 2),
    ],
)
def test_a_restart_must_gain_more_than_it_costs(policy, restart_s, second):
    assert starts(SHORTER, policy, ONE_GPU, restart_s) == [0, second]


# Two servers of 2. A gang of 2 exchanges 1e9 bytes an iteration: 0.1 s inside a server, beside
# 0.1 s of compute; over two servers each worker owns half a card: 2 s. 10.5 times as long.
PAIRS = gs.Cluster.uniform(servers=2, gpus=2, nic_gbps=8, intra_gbps=80)
MODEL = gs.model.JobProfile("model", gradient_bytes=1e9, batch=1, forward_s=0.0, backward_s=0.1)


def exchanging(
    trace: gs.Trace, policy: str, cluster: gs.Cluster = PAIRS, placement: str = "spread"
) -> gs.Result:
    """Run jobs whose gangs exchange as much as ``MODEL`` does."""
    result = gs.simulate(
        trace.with_profiles([MODEL]), cluster, policy=policy, placement=placement,
        speed="ring:overhead_s=0,reduction_bytes_per_s=1e18", contention="reserved", verify=True,
    )  # fmt: skip
    result.audit().raise_if_bad()
    return result


def gang_runs(options: str, policy: str = "a-srpt") -> tuple[float, float]:
    """When the gang starts and ends; it is queued at 60, with one free GPU on each server."""
    # On the machine until 15, 40 and 60. The first job ends at 75, the second at 140.
    trace = gs.Trace.from_columns(submit_s=[0, 0, 40], service_s=[60, 100, 40], gpus=[1, 1, 2])
    jobs = exchanging(trace, f"{policy}:idle=false,fill=most-free{options}").jobs
    return float(jobs["start_s"][2]), float(jobs["finish_s"][2])


APART_S = pytest.approx(40 * 10.5)


def test_a_gang_that_communicates_much_waits_for_a_good_placement():
    assert gang_runs("") == (75, 115)  # until 60 + 20 at most
    assert gang_runs(",tau=0.5")[0] == 70


@each(
    ("options", "start_s"),
    [
        # Its patience is a multiple of its virtual work,
        (",wait=work,tau=0.5", 70),
        (",wait=work,tau=0", 60),
        # and ends at the first tick that is not before its end: 20 s / 3 and 20 s / 6 are
        # 6,666,666.7 and 3,333,333.3 microseconds.
        (f",wait=work,tau={1 / 3}", 66.666667),
        (f",wait=work,tau={1 / 6}", 63.333334),
        # A tick and a bit: not the tick after the one at which it was first looked at.
        (",wait=work,tau=0.00000006", 60.000002),
        # Or a multiple of the time that the placement costs: 40 s x (10.5 - 1) = 380 s.
        (",wait=loss,tau=0.03", pytest.approx(60 + 0.03 * 380)),
        (",wait=loss,tau=0.04", 75),
        # One that communicates little or is placed well enough does not wait.
        (",heavy=10.4", 75),
        (",heavy=10.6", 60),
        (",near=10.4", 75),
        (",near=10.6", 60),
    ],
)
def test_the_patience_of_a_gang_is_that_of_the_options(options, start_s):
    start, finish = gang_runs(options)
    assert start == start_s
    assert finish - start == (40 if start == 75 else APART_S)


def test_a_srpt_by_work_sorts_the_queue_by_virtual_work_and_waits_by_what_is_lost():
    policy = "a-srpt-by-work:idle=false,scan=strict"
    assert starts(AFTER_EACH_OTHER, policy) == [4, 12, 5.5]
    assert gs.policies()["a-srpt-by-work"].alias_of == "a-srpt:queue=work,tau=4,wait=loss"
    for options, same in (
        ("", ",queue=work,wait=loss,tau=4"),
        (",tau=0.03", ",queue=work,wait=loss,tau=0.03"),
        (",wait=work", ",queue=work,wait=work,tau=4"),
    ):
        assert gang_runs(options, "a-srpt-by-work") == gang_runs(same)


# Spread puts a gang of 2 on two servers of 2 here, as long as some of these jobs run.
FOUR_PAIRS = gs.Cluster.uniform(servers=4, gpus=2, nic_gbps=8, intra_gbps=80)
HOLDERS = [(0.0, 4_000.0, 1)] * 4


def gangs_start(gangs: list[tuple[float, float, int]], tau: float) -> list[float]:
    """When gangs of 2 start that find no server of their own, under a-srpt-by-work."""
    submit, service, gpus = zip(*HOLDERS, *gangs, strict=True)
    trace = gs.Trace.from_columns(submit_s=submit, service_s=service, gpus=gpus)
    result = exchanging(trace, f"a-srpt-by-work:fill=most-free,tau={tau}", FOUR_PAIRS)
    return [float(start) for start in result.jobs["start_s"][len(HOLDERS) :]]


def test_a_gang_that_is_overtaken_does_not_begin_to_wait_anew():
    # In the queue from 1,010 on, it waits for 0.1 x 40 s x (10.5 - 1) = 38 s.
    assert gangs_start([(1_000, 40, 2)], 0.1) == [1_048]
    # One of 20 s goes first from 1,040 on and waits for 19 s of its own. Then both start.
    assert gangs_start([(1_000, 40, 2), (1_035, 20, 2)], 0.1) == [1_059, 1_059]


def test_under_the_fixed_speed_all_jobs_go_where_the_placement_of_the_run_puts_them():
    # Best-fit would fill the first server; spread takes a new one, whatever fill says.
    trace = gs.Trace.from_columns(submit_s=[0, 1], service_s=[100, 1], gpus=[1, 1])
    for fill in ("fewest", "most-free"):
        policy = f"a-srpt:fill={fill}"
        result = gs.simulate(trace, PAIRS, policy=policy, placement="spread", speed="fixed")
        assert result.intervals["server"].tolist() == [0, 1]


def test_a_gang_on_as_few_servers_as_possible_is_placed_well_whatever_near_says():
    # It is queued at 60, beside a job that runs until 75, and the other server is free.
    trace = gs.Trace.from_columns(submit_s=[0, 40], service_s=[60, 40], gpus=[1, 2])
    result = exchanging(trace, "a-srpt:idle=false,near=1", placement="consolidated")
    assert result.jobs["start_s"].tolist() == [15, 60]


def test_where_nothing_runs_no_gang_waits_for_what_will_not_come():
    trace = gs.Trace.from_columns(submit_s=[0], service_s=[40], gpus=[2]).with_profiles([MODEL])
    options = {"placement": "spread", "speed": "ring", "contention": "reserved"}
    result = gs.simulate(trace, PAIRS, policy="a-srpt:tau=1000000", **options)
    assert result.jobs["start_s"][0] == 0


def test_a_gang_that_communicates_little_fills_fragments():
    # One GPU of the first server is busy: spread takes a new server, fewest the fragment.
    trace = gs.Trace.from_columns(submit_s=[0, 1], service_s=[100, 1], gpus=[1, 1])
    trace = trace.with_profiles([MODEL])
    for fill, server in (("fewest", 0), ("most-free", 1)):
        policy = f"a-srpt:fill={fill}"
        result = gs.simulate(trace, PAIRS, policy=policy, placement="spread", speed="ring")
        intervals = result.intervals
        assert intervals["server"][intervals["job"] == 0] == 0
        assert intervals["server"][intervals["job"] == 1] == server


def replicas(gpus: int) -> gs.model.JobGraph:
    """Replicas of one stage that reduce 1 GB."""
    return gs.model.JobGraph(f"{gpus} replicas", (gs.model.Stage(gpus, 0.1, parameter_bytes=1e9),))


def test_predictions_count_with_what_a_good_placement_takes():
    # 3 GPUs do not fit a server: amin is far above alow, and a job of half the service is longer.
    trace = gs.Trace.from_columns(submit_s=[0, 1, 1], service_s=[10, 5, 9], gpus=[4, 3, 2])
    trace = trace.with_graphs([replicas(4), replicas(3), replicas(2)])
    limits = gs.bounds.iteration_limits(trace, PAIRS, speed="stages")
    assert limits["min"][1] > 2 * limits["low"][1]
    assert limits["min"][2] == limits["low"][2]

    def order(policy: str) -> list[int]:
        options = {"placement": "heavy-edge", "speed": "stages", "contention": "reserved"}
        result = gs.simulate(trace, PAIRS, policy=policy, **options)
        return result.schedule.start_us.argsort(kind="stable").tolist()

    assert order("sjf") == [0, 1, 2]
    assert order("qssf") == [0, 1, 2]
    assert order("spjf") == order("wcs-duration") == [0, 2, 1]
    assert order("spwf") == order("wcs-workload") == [0, 2, 1]
    assert order("srsf") == [0, 1, 2]
    assert order("a-srpt-p") == [0, 2, 1]
    assert order("a-srpt:idle=false") == [2, 1, 0]
    assert order("a-srpt:idle=false,work=low") == [1, 2, 0]


@pytest.mark.parametrize("policy", ["a-srpt-p", "srsf"])
def test_keys_that_round_to_one_number_tie(policy):
    # 2^53 + 5 and 2^53 + 3 ticks are one double: of the two that wait the earlier goes first.
    most = 2**53
    jobs = gs.Trace.from_columns(
        submit_s=[0, 0, 0], service_s=[1, 1, 1], gpus=[1, 1, 1],
        estimate_s=[1, most / 1e6, (most - 2) / 1e6],
    )  # fmt: skip
    assert jobs.estimate_us.tolist() == [10**6, most, most - 2]
    result = gs.simulate(
        jobs, gs.Cluster.uniform(1, 1), policy=f"{policy}:overrun_s=5e-6", predictor="estimate"
    )
    assert result.jobs["start_s"].tolist() == [0, 1.000005, 2.00001]
