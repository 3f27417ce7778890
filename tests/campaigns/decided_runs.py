"""Whole runs decided step by step by ``gs.decide``, as an operator would, beside the runs.

    python -m tests.campaigns.decided_runs --replays 20000 --seed 1

Each replay is drawn by its number: a small cluster, up to ten jobs, a policy of the registry with
parameters, a memory or none. The operator keeps the books by itself (who runs since when on which
GPUs, what each has done and what was added to it), tells ``gs.decide`` what a cluster would, and
does what it says. What comes of it must be what the run does: who held which GPUs from when to
when, and who was turned down. Jobs are told of late, vanish, outlast what was said of them; the
cluster drains and fills again; the first decision may find a queue.
"""

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Final

import numpy as np

import gpusched as gs
from gpusched.base.run_warning import unwarned

US: Final = 1_000_000
MOST_DECISIONS: Final = 3_000
"""A replay that takes more of them does not end."""
WITHOUT: Final = frozenset({"fgd"})
"""Placements that look at jobs that are still to come."""


@dataclass(frozen=True)
class Job:
    """A job; times in microseconds. ``told_us`` is when the operator first speaks of it."""

    submit_us: int
    told_us: int
    service_us: int
    gpus: int
    said_us: int  # what is known of the service
    restart_us: int
    weight: float
    deadline_us: int | None
    gone_us: int | None  # taken back then, if it is still there


@dataclass(frozen=True)
class Replay:
    """What is replayed."""

    jobs: tuple[Job, ...]
    servers: tuple[int, ...]
    policy: str
    placement: str
    seed: int
    remembers: bool
    is_predicted: bool
    begin_us: int | None  # the first decision, if it finds a queue
    twice: bool  # whether each decision is asked for once more within its instant

    def cluster(self) -> gs.Cluster:
        """Return its servers."""
        return gs.Cluster(tuple(gs.ServerGroup(1, gpus) for gpus in self.servers))


Interval = tuple[int, int, int, tuple[tuple[int, int], ...]]
"""A job, from when to when, and its GPUs."""


@dataclass(frozen=True)
class Course:
    """What came of a run."""

    intervals: list[Interval]
    rejected: list[int]


class Hangs(Exception):
    """A replay takes too many decisions."""


# Of each policy, what may be said of it in parameters; times are in units of the replay.
_TURNS: Final = (
    "restart=work", "cost_s=@1", "cost_s=@3", "wide_cost_s=@2,narrow_gpus=2", "overrun_s=@1",
    "overrun_s=@4", "epoch=period,period_s=@3", "period_s=@2", "quota=hold", "displace=true",
    "scan=strict", "scan=skip",
)  # fmt: skip
_BOUND: Final = ("mode=queue", "start=in-order", "order=submit", "u=1")
_OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "2d-las": (*_TURNS, "limits=@3/@8", "limits=@5", "promote=2", "inside=entry",
               "inside=running", "crossing=floored", "sink=passed", "preset=lucid"),
    "a-srpt": ("tau=4", "scan=strict", "wait=loss", "idle=false", "queue=work"),
    "allox": ("period_s=@5", "preempt=false"),
    "chronus": ("lease_s=@5",),
    "chronus-leases": ("lease_s=@5",),
    "dancer": ("slot_s=@5", "preset=theory", "replan=false"),
    "easy": ("depth=3", "backfill=shortest", "extra=false"),
    "edf-greatest": ("slot_s=@4", "admission=true"),
    "elasticflow": ("slot_s=@4", "admission=batch"),
    "gandiva": ("slice_s=@3",),
    "gavel": ("round_s=@5",),
    "matching": ("period_s=@3", "widths=own"),
    "optimus": ("period_s=@4",),
    "afs": ("period_s=@4",),
    "themis": ("period_s=@5",),
    "themis-greedy": ("period_s=@5",),
    **dict.fromkeys(("ff", "ls", "rand", "sjf-bco"), _BOUND),
}  # fmt: skip
_LUCID: Final = {"restart": "work", "cost_s": "40", "wide_cost_s": "60", "overrun_s": "1"}
_SLOW: Final = frozenset({"gavel", "chronus-leases"})


def drawn(seed: int, number: int, policy: str | None = None) -> Replay:
    """Draw a replay; of one policy or of any."""
    draw = random.Random(f"{seed}/{number}/{policy or ''}")
    registry = gs.policies()
    if policy is None:
        policy = draw.choice(sorted(registry))
        if policy in _SLOW and draw.random() < 0.8:
            policy = draw.choice(sorted(set(registry) - _SLOW))
    flags = registry[policy].flags
    unit = draw.choice((US, US, 1, 7, 250_000))
    text, unit = _options(draw, policy, unit)
    placement = draw.choice(sorted(set(gs.placements()) - WITHOUT))
    known = gs.placements()[placement].flags
    if policy in ("gavel", "chronus-leases") or {"places", "elastic"} & set(flags):
        placement = draw.choice(("consolidated", "first-fit"))
        known = frozenset()
    is_random = "random" in flags or "random" in known
    remembers = is_random or needs_memory(text) or draw.random() < 0.4
    servers = tuple(draw.choice(((4, 4), (4,), (2, 3), (1, 2, 4), (8,))))
    is_predicted = draw.random() < 0.3
    # A run has a queue at its first decision where the policy is changed then, from one that starts
    # nobody. That adds no work to who is there, must read estimates if the next one does, and
    # knows of jobs that were taken back before, so that others have other rows. A rejection is
    # final, and its placement may see no room where a policy that chooses GPUs itself does.
    may_begin = not (is_random or "overrun_s" in text or "lucid" in text)
    may_begin = may_begin and "estimate" not in flags
    begins_late = may_begin and draw.random() < 0.2
    if begins_late and "places" in flags:
        placement = "first-fit"  # it takes whatever fits
    jobs, clock = [], 0
    gap = draw.choice((2, 6, 20))
    for _ in range(draw.randint(1, draw.choice((3, 6, 10)))):
        clock += draw.choice((0, 0, draw.randint(0, gap)))
        service = draw.randint(1, 12)
        late = draw.randint(0, 5) if remembers and not begins_late and draw.random() < 0.2 else 0
        jobs.append(
            Job(
                clock * unit, (clock + late) * unit, service * unit, draw.randint(1, sum(servers)),
                (draw.randint(1, 12) if is_predicted else service) * unit,
                draw.choice((0, 0, 1, 2)) * unit, draw.choice((1.0, 1.0, 0.5, 3.0)),
                (clock + draw.randint(1, 30)) * unit
                if "deadlines" in flags and draw.random() < 0.7 else None,
                (clock + late + draw.randint(1, 15)) * unit if draw.random() < 0.1 else None,
            )
        )  # fmt: skip
    begin = draw.randint(0, clock) * unit if begins_late else None
    if draw.random() < 0.1:
        jobs.append(_wide(jobs[-1], sum(servers) + 1))
    return Replay(
        tuple(_in_order(jobs)), servers, text, placement, draw.randint(0, 3), remembers,
        is_predicted, begin, draw.random() < 0.3 and not remembers,
    )  # fmt: skip


def _wide(job: Job, gpus: int) -> Job:
    return replace(job, gpus=gpus, gone_us=None)


def _in_order(jobs: list[Job]) -> list[Job]:
    """Return the jobs in the order in which they are told of; the first are not told of late."""
    first = min(job.told_us for job in jobs)
    kept = [
        replace(
            job, submit_us=first,
            deadline_us=None if job.deadline_us is None else max(job.deadline_us, first + 1),
        )
        if job.told_us == first else job
        for job in jobs
    ]  # fmt: skip
    return sorted(kept, key=lambda job: (job.told_us, job.submit_us))


def _options(draw: random.Random, policy: str, unit: int) -> tuple[str, int]:
    """Draw parameters; return them, and a unit of time with which none is less than it may be."""
    parameters = {each["name"]: each for each in gs.policies()[policy].parameters}
    known = _OPTIONS.get(policy, _TURNS if "restart" in parameters else ())
    chosen = draw.sample(known, draw.randint(0, min(4, len(known)))) if known else []
    parts = [part for text in chosen for part in text.split(",")]
    for part in parts:
        name, _, value = part.partition("=")
        if name in parameters and value.startswith("@"):
            least_s = parameters[name]["least_positive"] or parameters[name]["minimum"] or 0
            unit = max(unit, round(least_s * US))
    names: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition("=")
        while "@" in value:
            at = value.index("@")
            end = at + 1
            while end < len(value) and value[end].isdigit():
                end += 1
            seconds = int(value[at + 1 : end]) * unit / US
            value = f"{value[:at]}{seconds:.6f}{value[end:]}"
        names[name] = value
    said = ",".join(f"{name}={value}" for name, value in names.items())
    return f"{policy}:{said}" if said else policy, unit


@cache
def needs_memory(policy: str) -> bool:
    """Whether a policy says that it keeps more than a state."""
    jobs = gs.Trace.from_columns([0], [1], [1])
    try:
        gs.decide(gs.online.ClusterState(gs.Cluster.uniform(1, 4), jobs, 0), policy=policy)
    except ValueError as error:
        if "keeps more than the state" in str(error) or "may remember" in str(error):
            return True
    return False


def run_of(replay: Replay) -> Course:
    """The run, with what is done to it from outside."""
    jobs = replay.jobs
    trace = _trace(
        jobs, [job.told_us for job in jobs], [job.service_us for job in jobs],
        predicted_s=[job.said_us / US for job in jobs], latest=True,
    )  # fmt: skip
    more = {"predictor": "column"} if replay.is_predicted else {}
    options: dict[str, Any] = {
        "placement": replay.placement, "seed": replay.seed, "speed": "fixed", **more
    }  # fmt: skip
    begin = replay.begin_us
    with unwarned():
        first = replay.policy if begin is None else Holding()
        run = gs.Simulation(trace, replay.cluster(), policy=first, **options)
        changes = sorted((job.gone_us, row) for row, job in enumerate(jobs) if job.gone_us)
        for at_us, row in [*changes]:
            if begin is not None and at_us >= begin:
                run.run_until(begin / US)
                run.set(policy=replay.policy)
                begin = None
            run.run_until(at_us / US)
            if row in run.state.waiting or row in run.state.running:
                run.cancel(row)
        if begin is not None:
            run.run_until(begin / US)
            run.set(policy=replay.policy)
        run.run()
        result = run.result()
    rejected = np.flatnonzero(np.asarray(result.schedule.status) == _REJECTED).tolist()
    begin = replay.begin_us or 0
    # Nobody was told of those that were taken back before.
    return Course(
        _joined(result), [row for row in rejected if (jobs[row].gone_us or begin) >= begin]
    )


_REJECTED: Final = 1


class Holding(gs.Scheduler):
    """Starts nobody."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        """Wait."""

    def withdraw(self, job: int) -> bool:
        """Let it go."""
        return True


def _trace(
    jobs: tuple[Job, ...], submit_us: list[int], service_us: list[int], *, latest: bool, **more: Any
) -> gs.Trace:
    due = [
        np.nan if job.deadline_us is None
        else max(job.deadline_us, at + 1 if latest else job.deadline_us) / US
        for job, at in zip(jobs, submit_us, strict=True)
    ]  # fmt: skip
    if any(job.deadline_us is not None for job in jobs):
        more["deadline_s"] = due
    return gs.Trace.from_columns(
        [at / US for at in submit_us], [each / US for each in service_us],
        [job.gpus for job in jobs], restart_s=[job.restart_us / US for job in jobs],
        weight=[job.weight for job in jobs], estimate_s=[job.said_us / US for job in jobs],
        **more,
    )  # fmt: skip


def _joined(result: gs.Result) -> list[Interval]:
    found = result.intervals
    names = ("job", "start_us", "end_us", "server", "mask")
    held: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
    for job, start, end, server, mask in zip(
        *(np.asarray(found[name]).tolist() for name in names), strict=True
    ):
        held.setdefault((job, start, end), []).append((server, mask))
    return sorted(
        (*key, tuple(sorted(piece for piece in pieces if piece[0] >= 0)))
        for key, pieces in held.items()
    )


@dataclass
class Books:
    """What the operator knows of a job that is there."""

    attained_us: int = 0
    added_us: int = 0
    preemptions: int = 0
    has_run: bool = False
    start_us: int = -1
    cost_us: int = 0
    pieces: tuple[tuple[int, int], ...] = ()


@dataclass
class Operator:
    """Has ``gs.decide`` decide, and does what it says."""

    replay: Replay
    now_us: int = 0
    there: dict[int, Books] = field(default_factory=dict)
    memory: bytes | None = None
    intervals: list[Interval] = field(default_factory=list)
    rejected: list[int] = field(default_factory=list)
    gone: dict[int, int] = field(default_factory=dict)  # when users will take jobs back

    def __post_init__(self) -> None:
        self.cluster = self.replay.cluster()
        said = self.replay.policy.partition(":")[2]
        given = dict(part.split("=") for part in said.split(",")) if said else {}
        known = {**(_LUCID if given.get("preset") == "lucid" else {}), **given}
        self.on_work = known.get("restart") == "work"
        self.extra_us = round(float(known.get("cost_s", 0)) * US)
        wide_s = float(known.get("wide_cost_s", -1))
        self.wide_us = self.extra_us if wide_s < 0 else round(wide_s * US)
        self.narrow = int(float(known.get("narrow_gpus", 8)))
        self.overrun_us = round(float(known.get("overrun_s", 0)) * US)
        self.memory = b"" if self.replay.remembers else None
        jobs = self.replay.jobs
        self.order = sorted(range(len(jobs)), key=lambda row: (jobs[row].submit_us, row))
        told = tuple(jobs[row] for row in self.order)
        self.told = _trace(
            told, [job.submit_us for job in told], [job.said_us for job in told], latest=False,
            id=[str(row) for row in self.order],
        )  # fmt: skip

    def course(self) -> Course:
        """Go through all that happens."""
        replay, jobs = self.replay, self.replay.jobs
        begin = replay.begin_us or 0
        tells = {row: max(begin, job.told_us) for row, job in enumerate(jobs)}
        gone = self.gone = {row: job.gone_us for row, job in enumerate(jobs) if job.gone_us}
        # Who is taken back before the first decision is never told of.
        for row, at_us in [*gone.items()]:
            if at_us < begin or (at_us == begin and jobs[row].told_us < begin):
                del tells[row], gone[row]
        wake: int | None = None
        for _ in range(MOST_DECISIONS):
            times = [*tells.values(), *gone.values(), *([] if wake is None else [wake])]
            times += [self.finish_us(row) for row, each in self.there.items() if each.pieces]
            if not times:
                return Course(sorted(self.intervals), sorted(self.rejected))
            self.now_us = min(times)
            for row in [row for row, each in self.there.items() if each.pieces]:
                if self.finish_us(row) == self.now_us:
                    self.leave(row)
            for row in [row for row, at_us in gone.items() if at_us == self.now_us]:
                self.leave(row)
            for row in [row for row, at_us in tells.items() if at_us == self.now_us]:
                del tells[row]
                self.there[row] = Books(added_us=self.overrun_us)
            wake = self.decide()
        raise Hangs(f"{MOST_DECISIONS} decisions")

    def finish_us(self, row: int) -> int:
        """When the run of a job ends."""
        each = self.there[row]
        left_us = self.replay.jobs[row].service_us + each.added_us - each.attained_us
        return each.start_us + each.cost_us + left_us

    def leave(self, row: int) -> None:
        """The job is gone."""
        if self.there[row].pieces:
            self.end_run(row)
        self.forget(row)

    def forget(self, row: int) -> None:
        """The job is there no longer, so that nobody takes it back."""
        del self.there[row]
        self.gone.pop(row, None)

    def end_run(self, row: int) -> None:
        """The job lets its GPUs go."""
        each = self.there[row]
        pieces = tuple(piece for piece in each.pieces if piece[0] >= 0)
        self.intervals.append((row, each.start_us, self.now_us, pieces))
        each.attained_us += max(0, self.now_us - each.start_us - each.cost_us)
        each.pieces, each.start_us, each.cost_us = (), -1, 0

    def restart_us(self, row: int) -> int:
        """What it costs to begin a job again."""
        job = self.replay.jobs[row]
        return job.restart_us + (self.wide_us if job.gpus > self.narrow else self.extra_us)

    def decide(self) -> int | None:
        """Ask, and do what is said; return when to ask again."""
        replay = self.replay
        rows = [row for row in self.order if row in self.there]
        options: dict[str, Any] = {
            "policy": replay.policy, "placement": replay.placement, "seed": replay.seed
        }  # fmt: skip
        found = gs.decide(self.state(rows), memory=self.memory, **options)
        self.memory = found.memory
        for row in found.job[found.what == "resize"].tolist():
            self.end_run(rows[row])
        for what, row in zip(found.what.tolist(), found.job.tolist(), strict=True):
            job = rows[row]
            each = self.there[job]
            if what == "preempt":
                self.end_run(job)
                each.preemptions += 1
                each.added_us += self.restart_us(job) if self.on_work else 0
                continue
            mine = found.held_job == row
            pieces = zip(
                found.held_server[mine].tolist(), found.held_mask[mine].tolist(), strict=True
            )
            each.pieces = tuple(sorted(pieces)) or ((-1, 0),)
            each.start_us = self.now_us
            each.cost_us = self.restart_us(job) if each.has_run and not self.on_work else 0
            each.has_run = True
        for row in found.rejected.tolist():
            self.rejected.append(rows[row])
            self.forget(rows[row])
        if replay.twice:
            kept = [row for row in rows if row in self.there]
            gs.decide(self.state(kept), **options)
        return None if found.wake_s is None else round(found.wake_s * US)

    def state(self, rows: list[int]) -> gs.online.ClusterState:
        """The cluster now."""
        if not rows:
            return gs.online.ClusterState(self.cluster, None, self.now_us / US)
        books = [self.there[row] for row in rows]
        trace = self.told._take(np.flatnonzero(np.isin(self.order, rows)))
        held = [
            (place, *piece)
            for place, each in enumerate(books)
            for piece in each.pieces
            if piece[0] >= 0
        ]
        job, server, mask = zip(*held, strict=True) if held else ((), (), ())
        done = [
            each.attained_us + max(0, self.now_us - each.start_us - each.cost_us)
            if each.pieces else each.attained_us
            for each in books
        ]  # fmt: skip
        return gs.online.ClusterState(
            self.cluster, trace, self.now_us / US,
            start_s=[each.start_us / US if each.pieces else np.nan for each in books],
            attained_s=[each / US for each in done],
            cost_s=[each.cost_us / US for each in books],
            preemptions=[each.preemptions for each in books],
            held_job=list(job), held_server=list(server), held_mask=np.array(mask, np.uint64),
        )  # fmt: skip


def compared(replay: Replay) -> str:
    """Return ``same``, ``refused`` where both refuse, or what differs."""
    try:
        whole = run_of(replay)
    except ValueError as error:
        try:
            Operator(replay).course()
        except ValueError:
            return "refused"
        return f"the run is refused: {error}; decisions are not"
    course = Operator(replay).course()
    if course.intervals != whole.intervals:
        ours, theirs = (sorted(each.intervals, key=lambda row: row[1]) for each in (course, whole))
        at = next(
            (i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b),
            min(len(ours), len(theirs)),
        )
        return f"decided {ours[at : at + 2]}, and the run {theirs[at : at + 2]}"
    if course.rejected != whole.rejected:
        return f"turned down {course.rejected}, and by the run {whole.rejected}"
    return "same"


def replays(seed: int, numbers: range, policy: str | None) -> Iterator[tuple[int, Replay, str]]:
    """Yield each replay, and what came of it."""
    for number in numbers:
        replay = drawn(seed, number, policy)
        try:
            yield number, replay, compared(replay)
        except Exception:
            yield number, replay, traceback.format_exc(limit=-3)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replays", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", help="of this policy alone")
    parser.add_argument("--keep-going", action="store_true", help="after a difference")
    given = parser.parse_args()
    numbers = range(given.first, given.first + given.replays)
    begin, counts, failures = time.monotonic(), Counter[str](), 0
    for number, replay, said in replays(given.seed, numbers, given.policy):
        way = "with memory" if replay.remembers else "by the state"
        if said in ("same", "refused"):
            counts[f"{said}, {way}"] += 1
        else:
            failures += 1
            print(f"--seed {given.seed} --first {number} --replays 1: {replay}\n{said}\n")
            if not given.keep_going:
                break
        done = sum(counts.values()) + failures
        if done % 1000 == 0:
            print(f"{done:,} replays in {time.monotonic() - begin:.0f} s", flush=True)
    told = ", ".join(f"{count:,} {what}" for what, count in sorted(counts.items()))
    done, seconds = sum(counts.values()) + failures, time.monotonic() - begin
    print(f"{done:,} replays in {seconds:.0f} s: {told}; {failures} differ")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
