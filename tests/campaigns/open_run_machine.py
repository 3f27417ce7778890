"""An open run under test: what is done to it, and what it then has to equal."""

import contextlib
import functools
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import gpusched as gs
from gpusched.reference import (
    CANCELLED,
    PLACEMENTS,
    REJECTED,
    UNFINISHED,
    Job,
    Outcome,
    make_scheduler,
    replay,
)
from gpusched.reference.engine import Change
from tests.campaigns.trials import MOST_INSTANTS, Difference, attempt, compare
from tests.parity.core import outcome_of
from tests.parity.slow_twins import slow_twins
from tests.reference.open_run_cases import (
    BINDING,
    BY_SLOT,
    LEARNERS,
    PYTHON,
    Choice,
    Move,
    Row,
    Start,
)  # fmt: skip

SEC = 1e6
MOST_BRANCHES = 2
"""Beside the run itself."""

MAY_WAIT = (*BY_SLOT, "gavel", "matching")
"""Policies under which a job that could run may be left out."""

FOLDER = "/dev/shm" if os.path.isdir("/dev/shm") else "."


class PythonSjf(gs.Order):
    """The shortest job first."""

    lifetime = "fixed"

    def rank(self, view: Any, jobs: Any) -> Any:
        """Return the keys."""
        return view.predicted_us[jobs].astype(np.float64)


PYTHON_SJF = """class PythonSjf(gs.Order):
    lifetime = "fixed"
    def rank(self, view, jobs): return view.predicted_us[jobs].astype(float)"""


@dataclass(frozen=True)
class Done:
    """A change that was accepted, at its tick."""

    at_us: int
    job: int | None = None  # its id
    policy: Choice | None = None
    is_asked: bool = False
    what: Any = "cancel"


@dataclass
class Branch:
    """A run, the jobs that it knows, and what was done to it."""

    run: gs.Simulation
    name: str
    jobs: tuple[Row, ...]
    policies: tuple[Choice, ...]
    done: tuple[Done, ...] = ()
    is_asked: bool = False
    """By a question of the core, of which the course of a run knows nothing."""


@dataclass
class Machine:
    """A run that is opened, changed and compared; ``lines`` is what was done, as Python."""

    start: Start
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        start = self.start
        self.next_id = len(start.jobs)
        self.branches: list[Branch] = []
        self.checked: dict[Any, Outcome] = {}
        self.say("import gpusched as gs")
        self.say(f"jobs = {trace_text(start.jobs)}")
        groups = ", ".join(f"gs.ServerGroup(1, {gpus}, {kind!r})" for gpus, kind in start.servers)
        self.say(f"cluster = gs.Cluster(({groups},))")
        self.say(
            f"run = gs.Simulation(jobs, cluster, policy={policy_text(start.policy)}, "
            f"placement={start.placement!r}, predictor={start.predictor!r}, seed={start.seed})"
        )
        run = opened(start, start.jobs, start.policy)
        self.main = Branch(run, "run", start.jobs, (start.policy,))

    def say(self, line: str) -> None:
        """Note what is done, before it is."""
        self.lines.append(line)

    def do(self, move: Move) -> None:
        """Do one thing."""
        getattr(self, f"do_{move.what}")(move)

    def do_step(self, move: Move) -> None:
        """A few instants."""
        for _ in range(1 + move.number % 3):
            self.say("run.step()")
            self.main.run.step()

    def do_run_until(self, move: Move) -> None:
        """Halt where something happens, or a tick beside it."""
        run, unit = self.main.run, self.start.unit
        to_us = run._clock_us + (move.number // 2) * unit + move.number % 2
        if unit > 1 and move.number < 5:
            to_us -= to_us % unit if to_us - to_us % unit >= run._clock_us else 0
        self.say(f"run.run_until({to_us / SEC!r})")
        run.run_until(to_us / SEC)

    def do_submit(self, move: Move) -> None:
        """More jobs; where these are refused nothing has changed."""
        main = self.main
        if main.is_asked:
            return
        first_us = main.run._next_tick()
        if move.number == 0:
            first_us = max(0, first_us - 2)  # perhaps at an instant that is over
        new = tuple(
            replace(
                job,
                id=self.next_id + number,
                submit_us=first_us + job.submit_us,
                deadline_us=None if job.deadline_us is None else first_us + job.deadline_us,
            )
            for number, job in enumerate(move.jobs)
        )
        self.next_id += len(new)
        self.say(f"run.submit({trace_text(new)})")
        if self.is_taken(lambda: main.run.submit(trace_of(new))):
            main.jobs += new

    def do_cancel(self, move: Move) -> None:
        """Take a job back, one in six of them one that is over or still to come."""
        main = self.main
        state = main.run.state
        live = sorted([*state.waiting.tolist(), *state.running.tolist(), *state.held.tolist()])
        if len(set(live)) != len(live):
            raise Difference(f"a job stands twice: {state}")
        of = range(len(main.jobs)) if move.number == 5 or not live else live
        job = of[move.number % len(of)]
        done = Done(main.run._next_tick(), job=int(main.run.trace.id[job]))
        self.ask(move, done.at_us)
        self.say(f"run.cancel({job})")
        cancelled = self.is_taken(lambda: main.run.cancel(job))
        if cancelled != (job in live) and not (
            job in live and isinstance(self.refusal, ValueError) and "withdraw" in str(self.refusal)
        ):
            raise Difference(f"job {job}: cancelled {cancelled}, live {live}: {self.refusal}")
        self.note(move, done, cancelled)

    def do_hold(self, move: Move) -> None:
        """Take a job that waits out of the queue; one in six of them is none that waits."""
        self.move_in_queue(move, "hold", self.main.run.state.waiting.tolist())

    def do_release(self, move: Move) -> None:
        """Put it back."""
        self.move_in_queue(move, "release", self.main.run.state.held.tolist())

    def move_in_queue(self, move: Move, what: str, there: list[int]) -> None:
        main = self.main
        state = main.run.state
        of = [*state.running.tolist(), *there] if move.number == 5 else there
        if not of:
            return
        job = of[move.number % len(of)]
        done = Done(main.run._next_tick(), job=int(main.run.trace.id[job]), what=what)
        self.ask(move, done.at_us)
        self.say(f"run.{what}({job})")
        is_done = self.is_taken(lambda: getattr(main.run, what)(job))
        if is_done != (job in there) and not (job in there and "withdraw" in str(self.refusal)):
            raise Difference(f"job {job}: {what} {is_done}, of {there}: {self.refusal}")
        self.note(move, done, is_done)

    def do_set(self, move: Move) -> None:
        """Another policy, or one that is refused."""
        assert move.policy is not None
        main, policy = self.main, move.policy
        done = Done(main.run._next_tick(), policy=policy)
        self.ask(move, done.at_us)
        self.say(f"run.set(policy={policy_text(policy)})")
        is_set = self.is_taken(lambda: main.run.set(policy=policy_of(policy)))
        if is_set:
            main.policies += (policy,)
        self.note(move, done, is_set)

    def ask(self, move: Move, at_us: int) -> None:
        """Have the policy asked at a tick."""
        if move.asks:
            self.say(f"run._run.ask({at_us})  # the decision comes in any case")
            self.main.run._run.ask(at_us)

    def note(self, move: Move, done: Done, is_taken: bool) -> None:
        """Note a change, or that it was refused but the question was not."""
        main = self.main
        if is_taken:
            main.done += (done,)
        elif move.asks and not any(each.at_us == done.at_us for each in main.done):
            main.is_asked = True
            main.done += (Done(done.at_us, is_asked=True),)

    def do_ask(self, move: Move) -> None:
        """A decision though nothing happens, in a run that is forked for it."""
        if self.start.predictor in LEARNERS or len(self.branches) >= MOST_BRANCHES:
            return
        made = self.forked()
        at_us = made.run._next_tick()
        if made.run._run.next_us is not None and made.run._run.next_us < at_us:
            return
        self.say(f"{made.name}._run.ask({at_us})")
        made.run._run.ask(at_us)
        if not any(done.at_us == at_us for done in made.done):
            made.done += (Done(at_us, is_asked=True),)
        made.is_asked = True
        self.branches.append(made)

    def do_fork(self, move: Move) -> None:
        """Go on with the one or the other; each comes to its end."""
        if self.start.predictor in LEARNERS:
            self.say("run.fork()  # refused")
            if self.is_taken(self.main.run.fork):
                raise Difference("a run whose predictor learns was forked")
            return
        made = self.forked()
        if len(self.branches) < MOST_BRANCHES:
            self.branches.append(made)
        if move.number % 2:
            self.say(f"run, {made.name} = {made.name}, run")
            self.main.run, made.run = made.run, self.main.run

    def forked(self) -> Branch:
        name = f"other_{len(self.branches)}"
        self.say(f"{name} = run.fork()")
        return replace(self.main, run=self.main.run.fork(), name=name)

    def do_save(self, move: Move) -> None:
        """Go on with what was saved."""
        if self.main.is_asked:
            return
        path = f"{FOLDER}/open-run-{os.getpid()}-{id(self):x}.run"
        self.say('run.save("open.run")')
        try:
            self.main.run.save(path)
            self.say('run = gs.resume("open.run", trust_python=True)')
            self.main.run = gs.resume(path, trust_python=True)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)

    def do_look(self, move: Move) -> None:
        """Look at all that a run shows, which changes nothing."""
        run = self.main.run
        self.say("run.result()")
        check_intervals(outcome_of(run.result().schedule))
        if move.number >= 3 or self.start.predictor != "oracle":
            return
        state = run.state
        if len(state.waiting) + len(state.running):
            policy = policy_text(self.main.policies[-1])
            self.say(
                f"gs.decide(gs.online.ClusterState.of(run), policy={policy}, "
                f"placement={self.start.placement!r})"
            )
            with contextlib.suppress(ValueError, TypeError):
                gs.decide(
                    gs.online.ClusterState.of(run),
                    policy=policy_of(self.main.policies[-1]),
                    placement=self.start.placement,
                )

    refusal: Exception | None = None

    def is_taken(self, work: Callable[[], object]) -> bool:
        """Whether a change is accepted; an error that is no refusal is raised."""
        self.refusal = None
        try:
            work()
        except ValueError as error:
            if "the run is over" in str(error):
                raise
            self.refusal = error
            return False
        return True

    def end(self) -> None:
        """Bring every branch to its end, and compare."""
        for branch in (self.main, *self.branches):
            self.say(f"{branch.name}.run(); print({branch.name}.result().jobs)")
            self.check(branch)

    def check(self, branch: Branch) -> None:
        """Compare a run with its equals."""
        branch.run.run()
        result = branch.run.result()
        actual = outcome_of(result.schedule)
        told = branch.jobs, branch.policies, branch.done
        if (equal := self.checked.setdefault(told, actual)) is not actual:
            compare(equal, actual, "run that was told the same", "fork")
            return
        check_intervals(actual)
        if not branch.is_asked and (problems := result.audit().problems):
            raise Difference(f"the audit finds in it: {problems}")
        told_last = {done.job: done.what for done in branch.done if done.job is not None}
        held = {job for job, what in told_last.items() if what == "hold"}
        cancelled = {job for job, what in told_last.items() if what == "cancel"}
        jobs = sorted(branch.jobs, key=lambda job: job.submit_us)
        if branch.policies[-1].name not in MAY_WAIT:
            for number, job in enumerate(jobs):
                if actual.status[number] == UNFINISHED and job.id not in cancelled | held:
                    raise Difference(f"job {number} waits for ever; {list(result.warnings)}")
        try:
            with slow_twins():
                run, knows = retold(self.start, branch, branch.jobs)
                again = outcome_of(run.result().schedule)
        except Exception as error:
            raise Difference(f"told from the start: {type(error).__name__}: {error}") from error
        compare(again, actual, "run told the same from the start, by the plain rule", "run")
        self.check_readable(branch, jobs, actual)
        self.check_rejects(branch, jobs, actual, cancelled)
        if cancelled and not knows:
            self.check_unknown(branch, jobs, actual, cancelled)

    def check_readable(self, branch: Branch, jobs: list[Row], actual: Outcome) -> None:
        """Compare with the readable engine, where it has all of it."""
        start = self.start
        if (
            any(done.is_asked for done in branch.done)
            or start.predictor in LEARNERS
            or start.placement not in PLACEMENTS
            or not all(policy.is_readable for policy in branch.policies)
        ):
            return
        expected = attempt(lambda: read(start, branch, jobs))
        if not isinstance(expected, RuntimeError):
            compare(expected, actual, "readable engine", "run")

    def check_unknown(
        self, branch: Branch, jobs: list[Row], actual: Outcome, cancelled: set[int | None]
    ) -> None:
        """What a cancelled job would have taken decides nothing where nobody knows it."""
        ended = {
            job.id for number, job in enumerate(jobs)
            if job.id in cancelled and actual.status[number] == CANCELLED
        }  # fmt: skip
        if not ended:
            return
        longer = tuple(
            replace(job, service_us=job.service_us + 1000 * self.start.unit)
            if job.id in ended else job
            for job in branch.jobs
        )  # fmt: skip
        other, _ = retold(self.start, branch, longer)
        who = "run whose cancelled jobs had been longer"
        compare(outcome_of(other.result().schedule), actual, who, "run")
        if other._online is not None and branch.run._online is not None:
            here, there = (run._online.predicted_us.tolist() for run in (branch.run, other))
            if here != there:
                raise Difference(f"predicted: {there} in the {who}, {here} in the run")

    def check_rejects(
        self, branch: Branch, jobs: list[Row], actual: Outcome, cancelled: set[int | None]
    ) -> None:
        """Who can never run is told by the policy that decides when it arrives."""
        names = [policy.name for policy in branch.policies]
        if len(names) == 1 or not set(names) & {*BINDING, "gandiva"} or set(names) & {*BY_SLOT}:
            return
        changes = [done for done in branch.done if done.policy is not None]
        first = branch.policies[0]
        under = [
            ([first, *(done.policy for done in changes if done.at_us <= job.submit_us)])[-1]
            for job in jobs
        ]
        for policy in dict.fromkeys(under):
            mine = [number for number in range(len(jobs)) if under[number] == policy]
            assert policy is not None
            alone = opened(self.start, tuple(jobs[number] for number in mine), policy)
            alone.run()
            status = alone.result().schedule.status.tolist()
            for number, found in zip(mine, status, strict=True):
                is_told = actual.status[number] == REJECTED
                # One that waits as the policy changes is judged once more.
                may_be = any(done.at_us > jobs[number].submit_us for done in changes)
                if (found == REJECTED) != is_told and not (is_told and may_be):
                    raise Difference(
                        f"job {number} rejected: {is_told}, and {policy.name} alone: {not is_told}"
                    )


def check_intervals(outcome: Outcome) -> None:
    """Intervals have a length, and two of one job that touch are on other GPUs."""
    held: dict[tuple[int, int, int], set[tuple[int, int]]] = {}
    for job, begin, end, server, mask in outcome.rows:
        if begin >= end:
            raise Difference(f"job {job} has an interval of no length at {begin} us")
        held.setdefault((job, begin, end), set()).add((server, mask))
    ends = {(job, end): pieces for (job, _, end), pieces in held.items()}
    for (job, begin, _), pieces in held.items():
        if ends.get((job, begin)) == pieces:
            raise Difference(f"job {job} has two intervals that touch at {begin} us")


def policy_of(choice: Choice) -> Any:
    """Return the policy."""
    if choice.name == "python-sjf":
        return PythonSjf()
    return gs.Policy(choice.name, **dict(choice.params)) if choice.params else choice.name


def policy_text(choice: Choice) -> str:
    """Return the policy as Python."""
    if choice.name == "python-sjf":
        return "PythonSjf()"
    if not choice.params:
        return repr(choice.name)
    params = ", ".join(f"{name}={value!r}" for name, value in choice.params)
    return f"gs.Policy({choice.name!r}, {params})"


def columns_of(jobs: tuple[Row, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that make a trace of the jobs."""
    jobs = tuple(sorted(jobs, key=lambda job: job.submit_us))
    named: dict[str, Any] = {"id": [job.id for job in jobs], "user": [job.user for job in jobs]}
    for name in ("estimate", "deadline"):
        if getattr(jobs[0], f"{name}_us") is not None:
            named[f"{name}_s"] = [getattr(job, f"{name}_us") / SEC for job in jobs]
    if jobs[0].priority is not None:
        named["priority"] = [job.priority for job in jobs]
    if any(job.types for job in jobs):
        named["gpu_types"] = [job.types for job in jobs]
    first = [[job.submit_us / SEC for job in jobs], [job.service_us / SEC for job in jobs]]
    return [*first, [job.gpus for job in jobs]], named


@functools.lru_cache(maxsize=8)
def trace_of(jobs: tuple[Row, ...]) -> gs.Trace:
    """Return the jobs; those of the runs that one is compared with are the same."""
    first, named = columns_of(jobs)
    return gs.Trace.from_columns(*first, **named)


def trace_text(jobs: tuple[Row, ...]) -> str:
    """Return the jobs as Python."""
    first, named = columns_of(jobs)
    shown = [*map(repr, first), *(f"{name}={value!r}" for name, value in named.items())]
    return f"gs.Trace.from_columns({', '.join(shown)})"


@functools.lru_cache(maxsize=8)
def cluster_of(servers: tuple[tuple[int, str], ...]) -> gs.Cluster:
    """Return the servers."""
    return gs.Cluster(tuple(gs.ServerGroup(1, gpus, kind) for gpus, kind in servers))


def opened(start: Start, jobs: tuple[Row, ...], policy: Choice) -> gs.Simulation:
    """Begin a run."""
    return gs.Simulation(
        trace_of(jobs), cluster_of(start.servers), policy=policy_of(policy),
        placement=start.placement, predictor=start.predictor, seed=start.seed,
    )  # fmt: skip


def sees_truth(run: gs.Simulation, policy: Choice, predictor: str) -> bool:
    """Whether the policy decides by true services; one written in Python does not declare it."""
    return run._ready._sees_truth() or (policy.name in PYTHON and predictor == "oracle")


def retold(start: Start, branch: Branch, jobs: tuple[Row, ...]) -> tuple[gs.Simulation, bool]:
    """Return a run at its end that knew all jobs and was told all changes from the start, and
    whether its policies knew what was to come.
    """
    policies = list(branch.policies)
    first = policies.pop(0)
    begin_us = min(job.submit_us for job in jobs)
    done = list(branch.done)
    # Before anything has happened another policy is the policy.
    while done and done[0].policy is not None and done[0].at_us <= begin_us:
        first = done.pop(0).policy  # type: ignore[assignment]
    run = opened(start, jobs, first)
    knows = sees_truth(run, first, start.predictor)
    row_of = {job: row for row, job in enumerate(run.trace.id.tolist())}
    for each in done:
        run.run_until(each.at_us / SEC)
        if each.job is not None:
            getattr(run, each.what)(row_of[each.job])
        elif each.policy is not None:
            run.set(policy=policy_of(each.policy))
            knows = knows or sees_truth(run, each.policy, start.predictor)
        elif run._run.next_us is None or run._run.next_us >= each.at_us:
            run._run.ask(each.at_us)
    run.run()
    return run, knows


def read(start: Start, branch: Branch, jobs: list[Row]) -> Outcome:
    """Return what the readable engine comes to."""
    is_told = start.predictor == "estimate"
    number_of = {job.id: number for number, job in enumerate(jobs)}
    last: dict[int, Done] = {done.at_us: done for done in branch.done if done.policy is not None}
    changes = [
        Change(done.at_us, job=number_of[done.job], what=done.what)
        for done in branch.done
        if done.job is not None
    ] + [
        Change(at_us, scheduler=make_scheduler(done.policy.twin.name, dict(done.policy.params)))
        for at_us, done in last.items()
        if done.policy is not None
    ]  # of two policies at one tick the second decides
    first = branch.policies[0].twin
    ranks = sorted({-(job.priority or 0) for job in jobs})
    return replay(
        [
            Job(
                job.submit_us, job.service_us, job.gpus, job.estimate_us,
                predicted_us=job.estimate_us if is_told else None,
                allowed=None if job.types is None else frozenset(job.types),
                deadline_us=job.deadline_us, precedence=ranks.index(-(job.priority or 0)),
            )
            for job in jobs
        ],
        start.servers, first.name, start.placement, policy_params=dict(first.params),
        seed=start.seed, max_instants=MOST_INSTANTS, changes=changes,
    )  # fmt: skip
