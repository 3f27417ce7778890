"""The input (jobs) and output (outcome) of the engine, and limits of times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FINISHED, REJECTED, UNFINISHED, CANCELLED, KILLED, FAILED = range(6)

REJECT_REASONS = (
    "",
    "no server has an allowed GPU type",
    "needs more GPUs than the cluster has",
    "the placement refuses it on an empty cluster",
    "the speed knows no configuration for it",
    "needs more servers with gpus_per_node GPUs than the cluster has",
)

WHOLE = 1000
"""Thousandths of a GPU."""

Allocation = dict[int, int]
"""Server -> mask of the GPUs held there. The one pool of ``count`` is server -1."""

Row = tuple[int, int, int, int, int]
"""Job, start, end, server, mask."""

HELD = 2**62
"""An ``eligible_us`` that is never reached."""
OPEN = math.inf
"""A condition that is not decided yet."""


@dataclass(frozen=True)
class Profile:
    """The costs of one iteration of a model; seconds by GPU type."""

    gradient_bytes: float
    batch: float
    forward_s: Mapping[str, float]  # per sample
    backward_s: Mapping[str, float]

    def compute_s(self, gpu_type: str) -> float:
        """Return the seconds of one iteration without communication."""
        return self.forward_s[gpu_type] * self.batch + self.backward_s[gpu_type]


@dataclass(frozen=True)
class GraphStage:
    """Equal replicas of a part of a model; bytes and seconds per iteration."""

    replicas: int
    compute_s: Mapping[str, float]  # by GPU type
    parameter_bytes: float
    activation_bytes: float = 0.0  # to the next stage


@dataclass(frozen=True)
class Graph:
    """A model as a pipeline of stages; its replicas are numbered stage by stage."""

    stages: tuple[GraphStage, ...]

    @property
    def gpus(self) -> int:
        """Number of replicas."""
        return sum(stage.replicas for stage in self.stages)

    def stage_of(self, vertex: int) -> int:
        """Return the stage of a replica."""
        return [s for s, stage in enumerate(self.stages) for _ in range(stage.replicas)][vertex]

    def pair_bytes(self, stage: int) -> float:
        """Return the bytes between a replica of a stage and one of the next."""
        sender, receiver = self.stages[stage], self.stages[stage + 1]
        return 2.0 * sender.activation_bytes / (sender.replicas * receiver.replicas)


@dataclass(frozen=True)
class Throughputs:
    """Iterations per second by GPU type, then by number of GPUs; 0: not runnable."""

    packed: Mapping[str, Mapping[int, float]]
    spread: Mapping[str, Mapping[int, float]] | None = None
    """On more servers than the GPUs need; None: as fast."""


@dataclass(frozen=True)
class Samples:
    """Throughput of workers per GPU type, in samples."""

    per_s: Mapping[str, float]  # 0: not runnable there
    batch: int  # of all workers together
    most: Mapping[str, int] = field(default_factory=dict)  # memory limit per worker
    gradient_bytes: float = 0.0


@dataclass(frozen=True)
class Dependency:
    """What must happen to another job: it started or ended (``after``), or ended.

    ``kind`` is ``after``, ``afterany``, ``afterok`` or ``afternotok``; ``delay_us`` is of
    ``after`` alone.
    """

    target: int
    kind: str = "afterany"
    delay_us: int = 0


@dataclass(frozen=True)
class Job:
    """A job as in the trace; times are integer microseconds.

    ``share_milli``, ``cpu_milli`` and ``memory_mib`` are requests per worker: thousandths of a GPU
    (all of it, unless the job is one worker), thousandths of a core, and MiB. ``gpus_per_node`` is
    the number of GPUs on each of its servers; 0: any.

    A run writes a checkpoint after each ``checkpoint_every_us`` of work (0: none), which takes
    ``checkpoint_write_us``. ``max_requeues`` is the number of failures after which the job runs
    again (None: any), ``time_limit_us`` the longest run. With ``requeue_back`` a job that an outage
    hits is queued as if it were submitted then.

    A job is not in the queue before ``eligible_us`` (:data:`HELD`: never) and before all of its
    ``dependencies`` are met, or one of them with ``dependency_any``; ``array`` is the array of
    which it is a task. It is cancelled at ``cancel_at_us``, unless it is over. With
    ``exit_failed`` its end is not ok.

    List-like policies order jobs by ``precedence``, the lower first, before their own keys.
    """

    submit_us: int
    service_us: int
    gpus: int
    estimate_us: int | None = None
    predicted_us: int | None = None
    weight: float = 1.0
    checkpoint_us: int = 0
    restart_us: int = 0
    allowed: frozenset[str] | None = None
    profile: Profile | None = None
    graph: Graph | None = None
    share_milli: int = WHOLE
    cpu_milli: int = 0
    memory_mib: int = 0
    throughputs: Throughputs | None = None
    samples: Samples | None = None
    min_gpus: int = 1
    max_gpus: int | None = None
    deadline_us: int | None = None
    value: float = 1.0
    gpus_per_node: int = 0
    checkpoint_every_us: int = 0
    checkpoint_write_us: int = 0
    max_requeues: int | None = None
    time_limit_us: int | None = None
    eligible_us: int | None = None
    dependencies: tuple[Dependency, ...] = ()
    dependency_any: bool = False
    array: int | None = None
    cancel_at_us: int | None = None
    exit_failed: bool = False
    precedence: int = 0
    requeue_back: bool = False

    @property
    def may_be_held(self) -> bool:
        """Whether the job may be held or cancelled."""
        own = self.eligible_us, self.array, self.cancel_at_us
        return own != (None, None, None) or bool(self.dependencies)


@dataclass(frozen=True)
class Outage:
    """A server takes no job for some time; ``drain`` lets those there go on.

    ``fail`` and ``maint`` end their runs; the latter is no failure, and from ``known_us`` on (None:
    not before it begins) no job starts that its length carries into it.
    """

    server: int
    start_us: int
    end_us: int | None = None  # None: never back
    kind: str = "fail"
    known_us: int | None = None

    @property
    def is_known_ahead(self) -> bool:
        """Whether policies know of it before it begins."""
        return self.known_us is not None and self.known_us < self.start_us


@dataclass(frozen=True)
class Outcome:
    """The result, one entry per job in JobId order."""

    start_us: list[int]
    finish_us: list[int]
    held_us: list[int]
    paid_us: list[int]
    preemptions: list[int]
    resizes: list[int]
    num_servers: list[int]
    status: list[int]
    reason: list[int]
    failures: list[int]
    lost_us: list[int]
    written_us: list[int]
    rows: list[Row]
    digest: str
    uncontended_us: list[float]
    """Empty at a fixed speed."""
    eligible_us: list[int] = field(default_factory=list)
    """When the jobs joined the queue, -1: never, -2: their dependencies can never be met.

    Empty if no job could be held or cancelled.
    """
    rates_changed: int = field(default=0, compare=False)
    """Number of rate changes of running jobs."""


@dataclass(eq=False, slots=True)
class Active:
    """A job and its state in the engine.

    Attributes
    ----------
    gpus
        The job's own number of GPUs.
    service
        Its run time at full speed.
    work
        All service that it needs, including preemption costs and overruns.
    predicted
        The predicted service, at least one tick.
    estimate
        The estimate that easy and conservative use, at least one tick.
    is_share
        Whether the job requests a part of a GPU.
    asks_for_more
        Whether the job requests anything but whole GPUs.
    """

    id: int
    job: Job
    gpus: int = field(init=False)
    service: int = field(init=False)
    work: int = field(init=False)
    predicted: int = field(init=False)
    estimate: int = field(init=False)
    is_share: bool = field(init=False)
    asks_for_more: bool = field(init=False)
    status: int = UNFINISHED
    reason: int = 0
    allocation: Allocation | None = None
    stretch: float = 1.0  # run time relative to its service when placed by heavy-edge
    ranks: list[int] = field(default_factory=list)  # replica on each GPU; empty: in order
    since: int = -1
    pending: int = 0
    released: int = -1
    queued: int = field(init=False)  # place in the order of submission, before the JobId
    eligible: int = -1
    start: int = -1
    finish: int = -1
    ended: int = -1  # in whatever way, also by a rejection
    held: int = 0
    paid: int = 0
    preemptions: int = 0
    resizes: int = 0
    failures: int = 0
    lost: int = 0
    written: int = 0
    num_servers: int = 0
    rate: float | None = None  # service per tick; None until the instant of the start is over
    counted: int = -1  # tick up to which `done` counts; in the future while a cost is paid
    done: float = 0  # service done by then, over all runs; whole ticks at a rate of one
    done_before: float = 0  # the same before this run, or the next one
    finish_tick: int = -1  # end of the running job if its rate stays
    uncontended: float = 0.0
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        job = self.job
        self.gpus, self.service, self.work = job.gpus, job.service_us, job.service_us
        self.queued = job.submit_us
        self.predicted = max(1, self.service if job.predicted_us is None else job.predicted_us)
        self.estimate = self.predicted if job.estimate_us is None else max(1, job.estimate_us)
        self.is_share = job.share_milli < WHOLE
        self.asks_for_more = self.demand != (WHOLE, 0, 0)

    def met_at(self, depends: Dependency) -> float | None:
        """Return when a condition on this job is met, None if it cannot be met any more."""
        if depends.kind == "after" and self.start >= 0:
            return self.start + max(depends.delay_us, 1)  # the decision comes after the releases
        if self.ended < 0:
            return OPEN
        is_ok = self.status == FINISHED and not self.job.exit_failed
        is_met = depends.kind in ("after", "afterany") or is_ok == (depends.kind == "afterok")
        return self.ended + depends.delay_us if is_met else None

    @property
    def width(self) -> int:
        """Number of GPUs that the job holds."""
        return sum(map(int.bit_count, (self.allocation or {}).values()))

    @property
    def demand(self) -> tuple[int, int, int]:
        """Requests of each worker."""
        return self.job.share_milli, self.job.cpu_milli, self.job.memory_mib

    @property
    def stated_length(self) -> int:
        """The limit, else the estimate of the trace; 0 without both."""
        limit, estimate = self.job.time_limit_us, self.job.estimate_us
        return (estimate or 0) if limit is None else limit

    @property
    def running(self) -> bool:
        """Whether the job holds GPUs."""
        return self.allocation is not None

    def attained(self, now: int) -> int:
        """Return the time with GPUs until ``now`` but for restarts."""
        before = self.held - self.paid
        if self.allocation is None:
            return before
        return before + max(0, now - self.since - self.pending)

    def progress(self, now: int) -> float:
        """Return the service done until ``now``."""
        if self.allocation is None or now <= self.counted:
            return self.done
        assert self.rate is not None
        return self.done + (now - self.counted) * self.rate - self.writing(now)

    def remaining(self, now: int) -> int:
        """Return the predicted remaining run time if nothing interrupts, at least one tick."""
        left = max(1, math.ceil(self.work - self.progress(now)))
        left += self.job.checkpoint_write_us * self.checkpoints - self.writing(now)
        return max(1, left + self.predicted - self.service)

    @property
    def checkpoints(self) -> int:
        """Number of checkpoints of this run, or the next one; there is none at its end."""
        every, left = self.job.checkpoint_every_us, self.work - self.done_before
        return max(0, -floor_div(-left, every) - 1) if every else 0

    def writing(self, now: int) -> int:
        """Return the time of this run spent writing checkpoints until ``now``."""
        every, write = self.job.checkpoint_every_us, self.job.checkpoint_write_us
        ran = now - self.since - self.pending
        if self.allocation is None or ran <= 0 or write == 0:
            return 0
        cycles = min(ran // (every + write), self.checkpoints)
        in_cycle = ran - cycles * (every + write)
        is_last = cycles == self.checkpoints
        return cycles * write + (0 if is_last else min(max(in_cycle - every, 0), write))

    def saved(self, now: int) -> float:
        """Return the work of this run that complete checkpoints hold at ``now``."""
        every, write = self.job.checkpoint_every_us, self.job.checkpoint_write_us
        if every == 0:
            return 0
        ran = self.progress(now) - self.done_before + self.writing(now)
        whole = min(floor_div(ran, every + write), self.checkpoints) * every
        return whole if isinstance(ran, int) or whole == 0 else float(whole)

    @property
    def end_tick(self) -> int:
        """End of the running job if its rate stays: its finish, or its time limit if earlier."""
        limit = self.job.time_limit_us
        return self.finish_tick if limit is None else min(self.finish_tick, self.since + limit)

    def settle(self, now: int) -> None:
        """Update the work done until ``now``."""
        self.done = self.progress(now)
        self.counted = max(self.counted, now)

    def set_rate(self, rate: float, now: int) -> None:
        """Continue at another rate."""
        self.settle(now)
        self.rate = rate
        if isinstance(rate, int):
            left = self.work - int(self.done)
            left += self.job.checkpoint_write_us * self.checkpoints
        else:
            left = math.ceil((float(self.work) - self.done) / rate)
        self.finish_tick = max(self.counted + left, now + 1)


def floor_div(value: float, by: int) -> int:
    """Return a quotient rounded down: exact if both are whole, else that of doubles."""
    return value // by if isinstance(value, int) else math.floor(value / by)


MAX_SERVICE_US = 2**53
MAX_SUBMIT_US = 2**61
MAX_HORIZON_US = 2**62


def check_horizon(jobs: Sequence[Job]) -> None:
    """Raise ValueError if a time, or the sum of all services, exceeds its limit."""
    for row, job in enumerate(jobs):
        if Active(row, job).checkpoints * job.checkpoint_write_us > MAX_SERVICE_US:
            raise ValueError(f"job {row}: its checkpoints take longer than 2^53 us")
        if job.service_us > MAX_SERVICE_US:
            raise ValueError(f"job {row}: a service of {job.service_us} us is beyond 2^53")
        if job.submit_us > MAX_SUBMIT_US:
            raise ValueError(f"job {row}: a submit of {job.submit_us} us is beyond 2^61")
    last = max((job.submit_us for job in jobs), default=0)
    horizon = last + sum(job.service_us for job in jobs)
    if horizon >= MAX_HORIZON_US:
        raise ValueError(f"the last submit plus all services is {horizon} us, not below 2^62")


def check_instant(now: int) -> None:
    """Raise ValueError if an instant exceeds the limit: restarts may have cost too much."""
    if now >= MAX_HORIZON_US:
        raise ValueError("the schedule passes 2^62 us: services and restart costs are too large")
