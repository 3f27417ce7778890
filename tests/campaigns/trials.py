"""One random case and what is asked of it: to equal the readable engine, or to keep the laws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import gpusched as gs
from gpusched.base.run_warning import unwarned
from gpusched.reference import Job, Outcome, make_engine
from tests.parity.core import choice_text, make_cluster, make_trace, outcome_of, predictor_of
from tests.parity.native import run_case, run_native
from tests.parity.native_whims import WHIMS
from tests.parity.slow_twins import slow_twins
from tests.reference.cases import Case
from tests.reference.elastic_cases import ElasticCase
from tests.reference.follower import Follower

SAME, REFUSED, ENDLESS = "same", "refused", "endless"

MOST_INSTANTS = 2_000
"""A replay that is longer is no small case, and left out."""


class Difference(Exception):
    """The core is not what it should be; the message says where."""


class Trial(Protocol):
    """A case under test."""

    @property
    def names(self) -> tuple[str, str, str]:
        """Policy, placement and speed, as the report counts them."""

    def check(self) -> str:
        """Return ``same``, ``refused`` or ``endless``, or raise a Difference."""

    def save(self, path: Path) -> str | None:
        """Write the case for the replay tool, return its digest; None if it is no such case."""

    def smaller(self) -> Iterator[Trial]:
        """Return the same case with less in it."""


def attempt(run: Callable[[], Outcome]) -> Outcome | Exception:
    """Return what a run returns or raises."""
    try:
        return run()
    except Exception as error:
        return error


def compare(
    expected: Outcome | Exception,
    actual: Outcome | Exception,
    first: str = "readable engine",
    second: str = "core",
) -> str:
    """Return the verdict on what both engines made of a case, or raise a Difference."""
    if isinstance(expected, RuntimeError):
        return ENDLESS
    if isinstance(expected, ValueError) and isinstance(actual, ValueError):
        return REFUSED
    for engine, found in ((first, expected), (second, actual)):
        if isinstance(found, Exception):
            raise Difference(f"{engine}: {type(found).__name__}: {found}") from found
    for field in dataclasses.fields(Outcome):
        if not field.compare:
            continue
        one, other = getattr(expected, field.name), getattr(actual, field.name)
        if one != other:
            raise Difference(f"{field.name}: {one} in the {first}, {other} in the {second}")
    return SAME


def simulate(case: Case) -> gs.Result:
    """Return what the core makes of a case."""
    return gs.simulate(
        make_trace(case.jobs, case.array_limits),
        make_cluster(case.servers, case.network, case.room, case.part_of),
        policy=gs.Policy(case.policy, **case.policy_params),
        placement=choice_text(case.placement, case.placement_params),
        predictor=predictor_of(case.jobs), speed=choice_text(case.speed, case.speed_params),
        contention=choice_text(case.contention, case.contention_params), seed=case.seed,
        kill_invalid_depend=case.kill_invalid_depend, verify=True,
    )  # fmt: skip


def saved(case: Case, path: Path) -> str | None:
    """Write a case for the replay tool, return its digest; None if it is refused.

    The tool cannot cancel jobs whose dependencies can never be met: they stay held.
    """
    case = replace(case, kill_invalid_depend=False)
    try:
        result = simulate(case)
    except (ValueError, gs.InvariantError):
        return None
    result.save_case(path)
    return result.digest


def fewer_jobs(case: Any) -> Iterator[Any]:
    """Return the case without half of its jobs, and without one of them."""
    every = range(len(case.jobs))
    half = len(every) // 2
    if half:
        yield replace(case, jobs=some_jobs(case.jobs, every[:half]))
        yield replace(case, jobs=some_jobs(case.jobs, every[half:]))
        for job in every:
            rest = [*every[:job], *every[job + 1 :]]
            yield replace(case, jobs=some_jobs(case.jobs, rest))


def some_jobs(jobs: Sequence[Job], kept: Sequence[int]) -> list[Job]:
    """Return some of the jobs, which are in order of submission, without conditions on others."""
    place = {job: new for new, job in enumerate(kept)}
    return [
        replace(
            jobs[job],
            dependencies=tuple(
                replace(one, target=place[one.target])
                for one in jobs[job].dependencies
                if one.target in place
            ),
        )
        for job in kept
    ]


@dataclass(frozen=True)
class OfCase:
    """A trial of one case."""

    case: Any

    @property
    def names(self) -> tuple[str, str, str]:
        """Policy, placement and speed."""
        case = self.case
        speed = case.speed if case.contention == "none" else f"{case.speed}, {case.contention}"
        return case.policy, case.placement, speed

    def save(self, path: Path) -> str | None:
        """Write the case."""
        return saved(self.case, path)

    def smaller(self) -> Iterator[Any]:
        """Take jobs away."""
        for case in fewer_jobs(self.case):
            yield replace(self, case=case)


@dataclass(frozen=True)
class Twin(OfCase):
    """The core equals the readable engine."""

    case: Case

    def check(self) -> str:
        """Compare every column and the digest."""
        expected = attempt(lambda: self.without_holds(self.case.replay(max_instants=MOST_INSTANTS)))
        if isinstance(expected, RuntimeError):
            return ENDLESS
        run = attempt(lambda: self.without_holds(outcome_of(simulate(self.case).schedule)))
        return compare(expected, run)

    def without_holds(self, outcome: Outcome) -> Outcome:
        """Leave out when jobs were eligible if none was held: such columns are not handed over."""
        submits = sorted(job.submit_us for job in self.case.jobs)
        joined = zip(outcome.eligible_us, submits, outcome.reason, strict=False)
        if all(reason or at == submit for at, submit, reason in joined):
            return replace(outcome, eligible_us=[])
        return outcome

    def smaller(self) -> Iterator[Twin]:
        """Take jobs and parameters away."""
        yield from super().smaller()
        for name in self.case.policy_params:
            rest = {k: v for k, v in self.case.policy_params.items() if k != name}
            yield replace(self, case=replace(self.case, policy_params=rest))


FRAILTIES = (
    "checkpoint_write_us", "checkpoint_every_us", "max_requeues", "time_limit_us", "checkpoint_us",
    "restart_us", "allowed", "estimate_us", "cpu_milli", "memory_mib", "eligible_us",
    "cancel_at_us", "dependencies", "dependency_any", "array", "exit_failed", "precedence",
    "requeue_back",
)  # fmt: skip


@dataclass(frozen=True)
class Frail(Twin):
    """With outages, limits, and jobs that are held, the core equals the readable engine."""

    def check(self) -> str:
        """Compare every column and the digest."""
        expected = attempt(lambda: self.case.replay(max_instants=MOST_INSTANTS))
        return compare(expected, attempt(lambda: run_case(self.case)))

    def save(self, path: Path) -> str | None:
        """Return None: the replay tool knows no outages and no held jobs."""
        return None

    def smaller(self) -> Iterator[Frail]:
        """Take also outages away, and what is not at its default in a job."""
        yield from super().smaller()
        case = self.case
        for index in range(len(case.outages)):
            yield Frail(replace(case, outages=case.outages[:index] + case.outages[index + 1 :]))
        for index, job in enumerate(case.jobs):
            for name in FRAILTIES:
                plain = replace(job, **{name: getattr(Job, name)})
                if plain != job and plain.checkpoint_every_us >= bool(plain.checkpoint_write_us):
                    jobs = [*case.jobs[:index], plain, *case.jobs[index + 1 :]]
                    yield Frail(replace(case, jobs=jobs))


@dataclass(frozen=True)
class Followed(OfCase):
    """Where a policy without a readable twin runs jobs, they are held and end as by the rules."""

    case: Case

    def check(self) -> str:
        """Let the readable engine repeat the schedule; compare every column and the digest."""
        case = self.case
        actual = attempt(lambda: run_case(case))
        if isinstance(actual, ValueError):
            return REFUSED
        follower = Follower([] if isinstance(actual, Exception) else actual.rows)
        options = {**case.speeds(), **case.holds(), "outages": case.outages, "seed": case.seed}
        engine = make_engine(case.jobs, case.servers, follower, case.placement, **options)
        compare(attempt(engine.run), actual)
        return compare(actual, attempt(lambda: run_case(case)), "first run", "second run")

    def save(self, path: Path) -> str | None:
        """Return None: the replay tool knows no held jobs."""
        return None


@dataclass(frozen=True)
class Whimsical(OfCase):
    """Whatever is resized, the core equals the readable engine."""

    case: ElasticCase
    kind: str

    @property
    def names(self) -> tuple[str, str, str]:
        """Who decides, placement and speed."""
        return self.kind, self.case.placement, f"{self.case.speed}, {self.case.contention}"

    def check(self) -> str:
        """Compare what both engines show at each instant, and every column."""
        case = self.case
        seen: list[Any] = []

        def replay() -> Outcome:
            outcome, shown = case.replay(self.kind)
            seen.extend(shown)
            return outcome

        whim = WHIMS[self.kind](case)
        expected = attempt(replay)
        if isinstance(expected, RuntimeError):
            return ENDLESS
        actual = attempt(lambda: run_native(case.jobs, case.servers, whim, **case.options()))
        for own, of_reference in zip(whim.seen, seen, strict=False):
            if own != of_reference:
                raise Difference(f"seen: {of_reference} in the readable engine, {own} in the core")
        return compare(expected, actual)

    def save(self, path: Path) -> str | None:
        """Return None: who decides is written in Python."""
        return None


@dataclass(frozen=True)
class FastPath(OfCase):
    """What a scheduler does where something has changed equals its slow twin, which does it all."""

    case: Case

    def check(self) -> str:
        """Compare every column and the digest."""
        with unwarned():
            fast = attempt(lambda: outcome_of(simulate(self.case).schedule))
            with slow_twins():
                slow = attempt(lambda: outcome_of(simulate(self.case).schedule))
        return compare(slow, fast, "slow twin", "fast path")


@dataclass(frozen=True)
class Lawful(OfCase):
    """A policy without a readable twin: the audit holds, and the digest is the same twice."""

    case: Case

    def check(self) -> str:
        """Run twice and audit; whatever could run has run."""
        try:
            result = simulate(self.case)
        except ValueError:
            return REFUSED
        audit = result.audit()
        if not audit.ok:
            raise Difference(f"audit: {audit}")
        again = simulate(self.case).digest
        if again != result.digest:
            raise Difference(f"digest: {result.digest}, then {again}")
        return SAME

    def save(self, path: Path) -> str | None:
        """Write the case, if the policy is native."""
        return super().save(path) if gs.Policy(self.case.policy).info.is_native else None


LONG = 40


def brief(value: Any) -> str:
    """Return a case as text, without what is at its default, and with the ends of long lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = [
            f"{field.name}={brief(getattr(value, field.name))}"
            for field in dataclasses.fields(value)
            if not is_default(field, getattr(value, field.name))
        ]
        return f"{type(value).__name__}({', '.join(shown)})"
    if isinstance(value, list) and len(value) > LONG:
        return f"[{brief(value[0])}, {brief(value[1])}, ..., {brief(value[-1])}: {len(value)}]"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(brief, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {brief(entry)}' for key, entry in value.items())}}}"
    return repr(value)


def is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    """Whether a field has the value that it has if nobody gives one."""
    if field.default_factory is not dataclasses.MISSING:
        return bool(value == field.default_factory())
    return bool(value == field.default)


def shrunk(trial: Trial, num_tries: int = 300) -> Trial:
    """Return a smaller case that fails, too: less is taken away as long as that helps."""
    while True:
        for candidate in trial.smaller():
            num_tries -= 1
            if num_tries < 0:
                return trial
            if is_failing(candidate):
                trial = candidate
                break
        else:
            return trial


def is_failing(trial: Trial) -> bool:
    """Whether a check fails, in whatever way."""
    try:
        trial.check()
    except Exception:
        return True
    return False
