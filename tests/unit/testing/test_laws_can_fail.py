"""Each law of a run names what is wrong: of a schedule that was forged, and of runs that differ."""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.plugins.policy import SpeedChoice
from gpusched.schedules.schedule import (
    CANCELLED,
    FAILED,
    FINISHED,
    REJECTED,
    UNFINISHED,
    StoredSchedule,
)
from gpusched.testing.cases import Case, Subject
from tests.each import each
from tests.unit.testing import planted_bugs

S = 1_000_000
# Two servers of two GPUs; the first two jobs run at once, the third and the fourth follow.
TRACE = gs.Trace.from_columns(
    submit_s=[0, 0, 1, 2],
    service_s=[10, 20, 5, 7],
    gpus=[2, 2, 2, 1],
    gpu_types=["A", "", "A|B", ""],
)
CLUSTER = gs.Cluster((gs.ServerGroup(1, 2, "A"), gs.ServerGroup(1, 2, "B")))


class Forged(Case):
    """A case whose run is what was made of it, and whose other runs are those of other cases."""

    forge: Callable[[Any], None] | None = None
    other: dict[str, Any] | None = None
    opens: Callable[[Any], Any] | None = None

    @cached_property
    def result(self) -> Any:
        whole = Case.simulate(self)
        if self.forge is None:
            return whole
        schedule = SimpleNamespace(
            **{field.name: np.array(getattr(StoredSchedule.of(whole.schedule), field.name))
               for field in dataclasses.fields(StoredSchedule)}
        )  # fmt: skip
        made = SimpleNamespace(
            schedule=schedule,
            intervals={name: np.array(values) for name, values in whole.intervals.items()},
            digest=whole.digest,
            spec=whole.spec,
        )
        type(self).forge(made)
        return made

    def simulate(self, **changed: Any) -> Any:
        return super().simulate(**{**changed, **(self.other or {})})

    def open(self, **changed: Any) -> Any:
        run = super().open(**{**changed, **(self.other or {})})
        return type(self).opens(run) if self.opens else run


def case_of(
    *,
    policy: Any = "fifo",
    placement: Any = "consolidated",
    trace: gs.Trace = TRACE,
    role: str = "policy",
    claims: tuple[str, ...] = (),
    outages: gs.Outages | None = None,
    **forged: Any,
) -> Case:
    made = type("Made", (Forged,), forged)
    return made(
        trace, CLUSTER, Subject.of("policy", policy), Subject.of("placement", placement),
        SpeedChoice("fixed"), role=role, claims=frozenset(claims), outages=outages,
    )  # fmt: skip


def fault_of(law: str, case: Case) -> str | None:
    chosen = gs.testing.laws()[law]
    assert chosen.applies(case)
    return chosen.fault(case)


def figure(name: str, job: int, value: int) -> Callable[[Any], None]:
    """Change what the schedule says of a job."""

    def forge(result: Any) -> None:
        getattr(result.schedule, name)[job] = value

    return forge


def row(name: str, at: int, value: int) -> Callable[[Any], None]:
    """Change a row of the log."""

    def forge(result: Any) -> None:
        result.intervals[name][at] = value

    return forge


def status(job: int, value: int, reason: int = 0) -> Callable[[Any], None]:
    def forge(result: Any) -> None:
        result.schedule.status[job], result.schedule.reason[job] = value, reason

    return forge


def split(result: Any) -> None:
    """Job 1 has two rows where there was one, and a pause between them."""
    (at,) = np.flatnonzero(result.intervals["job"] == 1)
    for name, values in result.intervals.items():
        result.intervals[name] = np.insert(values, at, values[at])
    result.intervals["end_us"][at] = 3 * S
    result.intervals["start_us"][at + 1] = 4 * S


def both(*forgeries: Callable[[Any], None]) -> Callable[[Any], None]:
    """Change the schedule and the log in one sense."""

    def forge(result: Any) -> None:
        for one in forgeries:
            one(result)

    return forge


FORGED: list[tuple[str, Callable[[Any], None], str]] = [
    (
        "capacity",
        row("server", 1, 0),
        "GPU used twice: GPU 0 of server 0 by job"
        " 0 until 10000000 us and by job 1 from 0 us (and 1 more)",
    ),
    ("real-gpus", row("mask", 0, 12), "no such GPU: job 0 holds GPUs 0xc of the 2 on server 0"),
    ("real-gpus", row("server", 0, 2), "no such server: job 0 on server 2"),
    ("whole-gangs", row("mask", 0, 1), "job not whole: job 0 holds 1 of 2 GPUs from 0 us"),
    ("allowed-types", row("server", 0, 1), "GPU type not allowed: job 0 on B of server 1"),
    ("after-submit", both(figure("start_us", 2, 0), row("start_us", 2, 0)),
     "start before submit: job 2 runs from 0 us, submitted at 1000000 us"),
    ("full-service", both(figure("held_us", 1, 19 * S), row("end_us", 1, 19 * S)),
     "work lost: job 1 did 19000000 us of 20000000 us without restarts"),
    ("full-service", both(figure("held_us", 1, 21 * S), row("end_us", 1, 21 * S)),
     "work invented: job 1 did 21000000 us of 20000000 us without restarts"),
    ("ends", status(3, UNFINISHED),
     "job never ends: job 3 is neither finished nor rejected, nor was it cancelled"),
    ("reasons", status(3, REJECTED, 2), "rejected job runs: job 3 is in the log"),
    ("reasons", status(3, FINISHED, 2), "wrong reason: job 3 is not rejected"),
    ("fits-one-server", status(3, REJECTED, 3), "job 3 of 1 GPUs is rejected"),
    ("keeps-gpus", figure("preemptions", 1, 2), "job 1 is preempted, 2 times"),
    ("keeps-gpus", split, "non-preemptive policy preempts: job 1 has 2 intervals under fifo"),
    ("accounts", figure("held_us", 1, 19 * S),
     "wrong held_us: job 1: 19000000, the log has 20000000"),
    ("accounts", figure("finish_us", 1, 3 * S),
     "wrong finish_us: job 1: 3000000, the log has 20000000"),
    ("steady-service", figure("held_us", 1, S),
     "job 1 holds GPUs for 1000000 us; its service is 20000000"),
]  # fmt: skip


@each(("law", "forge", "fault"), FORGED)
def test_a_schedule_that_was_forged_breaks_the_law(law, forge, fault):
    role = "speed" if law == "steady-service" else "policy"
    assert fault_of(law, case_of(role=role)) is None
    assert fault_of(law, case_of(role=role, forge=forge)) == fault


# Job 1 runs from 0 to 5 s and again from 8 s on, job 0 is done at its limit.
OUTAGE = gs.Outages.from_columns([1], [5], [8])
LIMITED = TRACE.with_columns(time_limit_s=[10, 40, 20, 20])


@each(
    ("law", "forge", "fault"),
    [
        ("closed-servers", row("start_us", 2, 7 * S),
         "start on a closed server: job 1 from 7000000 us on server 1"),
        ("failures", row("end_us", 1, 6 * S),
         "runs through a failure: job 1 until 6000000 us on server 1, down from 5000000 us"),
        (
            "requeues",
            status(1, FAILED),
            "wrong requeue: job 1 fails after 1 failures of its servers, its max_requeues is not "
            "given",
        ),
        ("limits", row("end_us", 0, 11 * S),
         "runs beyond its limit: job 0 from 0 us for 11000000 us, its limit is 10000000 us"),
        ("limits", status(0, UNFINISHED), "not killed at its limit: job 0 at 10000000 us"),
        ("accounts", figure("lost_us", 1, 0), "wrong lost_us: job 1: 0, the log has 5000000"),
    ],
)  # fmt: skip
def test_a_forged_schedule_with_failures_and_limits_breaks_the_law(law, forge, fault):
    assert fault_of(law, case_of(trace=LIMITED, outages=OUTAGE)) is None
    assert fault_of(law, case_of(trace=LIMITED, outages=OUTAGE, forge=forge)) == fault


# Job 1 is cancelled at 15 s, job 2 waits for job 0, and job 3 is never in the queue.
HELD = gs.Trace.from_columns(
    submit_s=[0, 0, 1, 2], service_s=[10, 20, 5, 5], gpus=[1, 1, 1, 1], id=["a", "b", "c", "d"],
    dependency=["", "", "afterok:a,after:b+0.1", "afternotok:a?afternotok:c"],
    cancel_at_s=[float("nan"), 15, float("nan"), float("nan")], user=["ann", "ann", "bob", "bob"],
    array=["x", "", "x", ""], array_limit=[1, float("nan"), 1, float("nan")],
)  # fmt: skip


@each(
    ("law", "forge", "fault"),
    [
        (
            "eligible",
            both(figure("start_us", 2, 9 * S), row("start_us", 2, 9 * S)),
            "start before its dependencies are met: job 2 runs from 9000000 us, but that is at "
            "10000000 us",
        ),
        ("eligible", figure("eligible_us", 3, -1), "wrong eligible_us: job 3: -1, the log has -2"),
        (
            "cancellations",
            row("end_us", 1, 16 * S),
            "cancelled at another time: job 1 runs until 16000000 us, and is cancelled at "
            "15000000 us",
        ),
        (
            "cancellations",
            status(2, CANCELLED),
            "cancelled without a reason: job 2: no time, dependency or call cancels it",
        ),
    ],
)
def test_a_forged_schedule_with_held_jobs_breaks_the_law(law, forge, fault):
    assert fault_of(law, case_of(trace=HELD)) is None
    assert fault_of(law, case_of(trace=HELD, forge=forge)) == fault


def test_held_jobs_break_no_law():
    for claims in ((), ("scale-free", "shift-free")):
        case = case_of(trace=HELD, claims=claims)
        held = {name for name, law in gs.testing.laws().items() if law.applies(case)}
        assert {name: fault for name in held if (fault := fault_of(name, case))} == {}
        assert ("shift-free" in held) == bool(claims)
        assert not {"lone-job", "scale-free", "no-foresight"} & held
    assert case.result.schedule.eligible_us.tolist() == [0, 0, 10 * S, -2]


def test_a_pool_that_hands_out_more_than_it_has_breaks_the_law():
    jobs = gs.Trace.from_columns(submit_s=[0, 0], service_s=[9, 9], gpus=[4, 3])
    assert fault_of("capacity", case_of(placement="count", trace=jobs)) is None
    forged = case_of(placement="count", trace=jobs, forge=row("start_us", 1, 5 * S))
    assert fault_of("capacity", forged) == "GPUs used twice: 7 of 4 GPUs held at 5000000 us"


def test_a_job_that_is_too_wide_must_be_rejected():
    wide = gs.Trace.from_columns(submit_s=[0, 0], service_s=[1, 1], gpus=[5, 1])
    assert fault_of("too-wide", case_of(trace=wide)) is None
    forged = case_of(trace=wide, forge=status(0, FINISHED))
    assert fault_of("too-wide", forged) == "job 0 of 5 GPUs is not rejected"


# Runs that are to be alike, where the other one is run under another policy.
OTHERWISE: list[tuple[str, str]] = [
    ("repeats", "the digest of the repeated run differs"),
    ("seedless", "the digests of seeds 1 and 0 differ"),
    ("stepped", "the digest of the stepped run differs"),
    ("in-parts", "the digest of the run in parts differs"),
    ("forks", "the digest of the fork at 5.5 s differs"),
    ("forks-apart", "the digest of the run differs after jobs were cancelled in forks"),
    ("row-order", "the digest differs with the latest rows first"),
    ("ids", "the digest differs with other ids and names"),
    ("type-names", "the digest differs with other names of GPU types"),
    ("rejected-unseen", "with a rejected job the column start_us of the intervals differs"),
    ("verified-rates", "the digest of the verified run differs"),
    ("no-foresight", "the digest differs if jobs [3] are submitted after 1 s"),
]


@each(("law", "fault"), OTHERWISE)
def test_a_run_that_is_not_the_run_breaks_the_law(law, fault):
    role = "speed" if law == "verified-rates" else "policy"
    assert fault_of(law, case_of(role=role)) is None
    assert fault_of(law, case_of(role=role, other={"policy": "sgf"})) == fault


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        ("submit_s", "job 0 started at 500000 us, but later at another time"),
        ("service_s", "job 0 finished at 500000 us, but later at another time"),
    ],
)
def test_a_result_of_another_past_breaks_the_law(column, fault):
    columns: dict[str, Any] = {"submit_s": [0, 2], "service_s": [1, 1], "gpus": [1, 1]}
    jobs = gs.Trace.from_columns(**columns)
    assert fault_of("partial-results", case_of(trace=jobs)) is None
    columns[column][0] = 0.5
    other = gs.Trace.from_columns(**columns)
    assert fault_of("partial-results", case_of(trace=jobs, other={"trace": other})) == fault


class Watched:
    """An open run that shows or does something else than it is told."""

    def __init__(self, run: Any) -> None:
        self.run_ = run

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run_, name)


class Deaf(Watched):
    def cancel(self, job: int) -> None:
        """Do nothing of that."""


class Tied(Watched):
    """A fork whose jobs are cancelled in the run that it was made of, too."""

    def __init__(self, fork: Any, run: Any) -> None:
        super().__init__(fork)
        self.origin = run

    def cancel(self, job: int) -> None:
        self.run_.cancel(job)
        self.origin.cancel(job)


class Tying(Watched):
    def fork(self) -> Any:
        return Tied(self.run_.fork(), self.run_)


class Miscounting(Watched):
    shown: dict[str, Any]

    @property
    def state(self) -> Any:
        state = self.run_.state
        names = (
            "waiting", "running", "held_server", "held_mask", "free_gpus", "gpus", "num_free",
            "num_waiting", "num_running", "num_finished", "num_rejected", "num_arrived", "now_s",
        )  # fmt: skip
        return SimpleNamespace(**{name: getattr(state, name) for name in names} | self.shown)


def miscounting(**shown: Any) -> type:
    return type("Shown", (Miscounting,), {"shown": shown})


OPENED: list[tuple[str, type, str]] = [
    ("cancelled", Deaf, "job 0 was cancelled at 1 s but exists at 2 s"),
    ("forks-apart", Tying, "the digest of the run differs after jobs were cancelled in forks"),
    ("sound-states", miscounting(num_free=4), "free and held GPUs do not add up to the cluster at"),
    ("sound-states", miscounting(num_waiting=9), "2 jobs have arrived at 0 s; 11 are known"),
    ("sound-states", miscounting(waiting=np.array([0]), running=np.array([0])),
     "a job both waits and runs at 0 s"),
    ("sound-states", miscounting(free_gpus=np.array([1, 0])),
     "free and held GPUs do not add up to the servers at 0 s"),
]  # fmt: skip


@each(("law", "opens", "fault"), OPENED)
def test_an_open_run_that_is_not_sound_breaks_the_law(law, opens, fault):
    assert fault_of(law, case_of()) is None
    assert (fault_of(law, case_of(opens=opens)) or "").startswith(fault)


@each(
    ("law", "policy", "fault"),
    [
        ("key-lifetime", planted_bugs.SecretClock, 'but its lifetime is "fixed"'),
        ("key-of-its-own", planted_bugs.FirstAskedFirst, "asked in another sequence"),
        ("asking-is-free", planted_bugs.ByAddress, "job 0, asked twice at 0 s: keys"),
        ("takes-over", planted_bugs.Forgetful, "is unfinished"),
        ("class-unchanged", planted_bugs.SharedMemory, "SharedMemory.served was {"),
    ],
)
def test_a_mistake_of_a_policy_breaks_the_law(law, policy, fault):
    if law == "class-unchanged":
        planted_bugs.SharedMemory.served.clear()
    assert fault in (fault_of(law, case_of(policy=policy)) or "")


def test_claims_that_do_not_hold_break_the_law():
    blocked = gs.Trace.from_columns(
        submit_s=[0, 1, 2], service_s=[50, 50, 5], gpus=[2, 4, 1], gpu_types=["A", "", ""]
    )
    case = case_of(trace=blocked, claims=("work-conserving", "scale-free", "shift-free"))
    assert fault_of("work-conserving", case) == "job 2 waits at 2 s; server 1 has 2 GPUs"
    for law in ("scale-free", "shift-free"):
        assert fault_of(law, case) is None
    twice = case_of(trace=blocked, claims=("scale-free", "shift-free"), other={"trace": blocked})
    assert fault_of("scale-free", twice) == (
        "times are three times as long: start_us of job 1 is 50000000, was 50000000"
    )
    assert fault_of("shift-free", twice) == (
        "times are an hour later: start_us of job 0 is 0, was 0"
    )
