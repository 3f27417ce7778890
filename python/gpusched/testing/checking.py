"""Draw workloads, check the properties, and let Hypothesis shrink what violates one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gpusched.base.draws import check_seed
from gpusched.base.field_checks import check_integer
from gpusched.base.libraries import need
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.plugins.policy import SpeedChoice, known_choice
from gpusched.plugins.registry import speeds
from gpusched.testing.cases import (
    Case,
    Subject,
    Workload,
    cluster_of,
    corner_cases,
)
from gpusched.testing.law_registry import Law, LawBroken, checked_claims, chosen_laws
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


def first_broken(case: Case, asked: Iterable[Law]) -> tuple[Law, str] | None:
    """Return the first violated property and the fault; None if all hold."""
    return next(((law, fault) for law, fault in broken_laws(case, asked)), None)


def broken_laws(case: Case, asked: Iterable[Law]) -> Iterator[tuple[Law, str]]:
    """Yield the violated properties; if the run itself fails, only that."""
    for law in asked:
        if not law.applies(case):
            continue
        try:
            fault = law.fault(case)
        except Exception as error:
            fault = f"{type(error).__name__}: {error}"
        if fault is not None:
            yield law, fault
            if "result" not in vars(case):
                return


_TYPES = ("A", "B")
_MOST_EXAMPLES = 10**9
_OPTIONAL = (
    "estimate_s", "weight", "checkpoint_s", "restart_s", "gpu_types", "time_limit_s",
    "checkpoint_every_s", "max_requeues", "requeue_back", "priority", "nice",
)  # fmt: skip


def check_policy(
    policy: Any,
    *,
    placement: Any = "consolidated",
    speed: str | SpeedChoice | None = None,
    declares: Iterable[str] = (),
    laws: Iterable[str] | None = None,
    examples: int = 100,
    seed: int = 0,
    on: tuple[Trace, Cluster] | tuple[Trace, Cluster, Outages] | None = None,
) -> None:
    """Check a policy for every property of policies, on many small workloads.

    Parameters
    ----------
    policy
        A name, a ``Policy``, an ``Order`` or a ``Scheduler``, or a class or a function without
        arguments that makes one. Each run gets a fresh instance; objects are copied for that.
    placement
        As for :func:`gpusched.simulate`, or a factory.
    speed
        As for :func:`gpusched.simulate`; None: ``table`` for elastic policies, ``fixed`` for
        others.
    declares
        What the policy claims beyond its flags, see :func:`claims`.
    laws
        Names of the properties to check; None: all.
    examples
        Number of random workloads, besides a few fixed ones.
    seed
        Seed of the workloads and of the runs.
    on
        A trace, a cluster and perhaps outages to check instead of random workloads. Those have
        outages if policy and placement support them, at the speed ``fixed``.

    Returns
    -------
    None
        If all properties hold.

    Raises
    ------
    LawBroken
        An ``AssertionError`` with a small example, if a property does not hold.
    ValueError, TypeError
        As for :func:`gpusched.simulate`, or if a claim or property is unknown.
    ImportError
        If Hypothesis is missing and random workloads are needed.

    Examples
    --------
    >>> gs.testing.check_policy("srtf", examples=2)
    """
    chosen = Subject.of("policy", policy)
    if speed is None:
        speed = "table" if chosen.has("elastic") else "fixed"
    case = _Question(
        chosen, Subject.of("placement", placement), speed, "none", "policy", declares, seed
    )
    _check(case, laws, examples, seed, on)


def check_placement(
    placement: Any,
    *,
    policy: Any = "fifo-skip",
    declares: Iterable[str] = (),
    laws: Iterable[str] | None = None,
    examples: int = 100,
    seed: int = 0,
    on: tuple[Trace, Cluster] | tuple[Trace, Cluster, Outages] | None = None,
) -> None:
    """Check a placement for every property of placements; see :func:`check_policy`.

    Returns
    -------
    None
        If all properties hold.

    Raises
    ------
    LawBroken, ValueError, TypeError, ImportError
        As for :func:`check_policy`.

    Examples
    --------
    >>> gs.testing.check_placement("best-fit", examples=2)
    """
    case = _Question(
        Subject.of("policy", policy), Subject.of("placement", placement), "fixed", "none",
        "placement", declares, seed,
    )  # fmt: skip
    _check(case, laws, examples, seed, on)


def check_speed(
    speed: str | SpeedChoice,
    *,
    contention: str = "none",
    policy: Any = "fifo-skip",
    placement: Any = "spread",
    declares: Iterable[str] = (),
    laws: Iterable[str] | None = None,
    examples: int = 100,
    seed: int = 0,
    on: tuple[Trace, Cluster] | tuple[Trace, Cluster, Outages] | None = None,
) -> None:
    """Check a speed for every property of speeds; see :func:`check_policy`.

    Returns
    -------
    None
        If all properties hold.

    Raises
    ------
    LawBroken, ValueError, TypeError, ImportError
        As for :func:`check_policy`.

    Examples
    --------
    >>> gs.testing.check_speed("ring", contention="shared", examples=2)
    """
    case = _Question(
        Subject.of("policy", policy), Subject.of("placement", placement), speed, contention,
        "speed", declares, seed,
    )  # fmt: skip
    _check(case, laws, examples, seed, on)


@dataclass(frozen=True)
class _Question:
    """All of a case except its workload."""

    policy: Subject
    placement: Subject
    speed: str | SpeedChoice
    contention: str
    role: str
    declares: Iterable[str]
    seed: int
    made: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        speed = self.speed
        self.made["speed"] = known_choice(SpeedChoice, speed) if isinstance(speed, str) else speed
        self.made["claims"] = checked_claims(self.declares)

    def of(self, workload: Workload) -> Case:
        trace, cluster, outages = workload
        return Case(
            trace, cluster, self.policy, self.placement, contention=self.contention,
            seed=self.seed, role=self.role, outages=outages, **self.made,
        )  # fmt: skip

    @property
    def columns(self) -> list[str]:
        """Columns of jobs besides submit, service and number of GPUs."""
        columns = [name for name in _OPTIONAL if name != "gpu_types" or not self.is_pooled]
        if self.policy.has("deadlines"):
            columns.append("deadline_s")
        if self.made["speed"].has("steady"):
            columns.append("checkpoint_write_s")
        return [*columns, *sorted(self.models)]

    @property
    def holds(self) -> list[str]:
        """Columns that hold or cancel jobs; a workload in two has none of them."""
        return ["eligible_s", "array", "dependency", *["cancel_at_s"] * self.may_cancel]

    @property
    def is_pooled(self) -> bool:
        return self.placement.has("pooled")

    @property
    def has_models(self) -> bool:
        return bool(self.models)

    @property
    def models(self) -> set[str]:
        """Columns of the costs of jobs that the speed needs."""
        return {"profile", "graph"} & set(speeds()[self.made["speed"].name].columns)

    @cached_property
    def may_cancel(self) -> bool:
        """Whether jobs may be cancelled: if the policy can remove one that waits."""
        jobs = Trace.from_columns([0, 0], [2, 2], [1, 1], cancel_at_s=[float("nan"), 1])
        return not self.has_models and self._runs(jobs)

    @cached_property
    def has_outages(self) -> bool:
        """Whether servers may fail: if there are no models, and the run is not refused."""
        if self.has_models or self.is_pooled:
            return False
        outage = Outages.from_columns([0], [0], [1])
        return self._runs(Trace.from_columns([0], [1], [1]), outage)

    @cached_property
    def knows_maintenance(self) -> bool:
        """Whether they may be maintained at a time that is known before."""
        window = Outages.from_columns([0], [1], [2], "maint")
        return self._runs(Trace.from_columns([0], [1], [1]), window)

    def _runs(self, jobs: Trace, outages: Outages | None = None) -> bool:
        """Whether the run of some jobs on one GPU is not refused."""
        try:
            self.of((jobs, cluster_of([(1, _TYPES[0])]), outages)).simulate()
        except Exception:
            return False
        return True

    def corners(self) -> Iterator[Workload]:
        """The fixed workloads; none if a speed needs more data of the jobs."""
        return iter(()) if self.has_models else corner_cases(_TYPES)


def _check(
    question: _Question,
    names: Iterable[str] | None,
    examples: int,
    seed: int,
    on: tuple[Trace, Cluster] | tuple[Trace, Cluster, Outages] | None,
) -> None:
    asked = chosen_laws(names)
    check_integer("examples", examples, 0, _MOST_EXAMPLES)
    check_seed(seed)
    number, found = 0, list[_Found]()
    given = () if on is None else ((*on, None)[:3],)
    for workload in given or question.corners():
        number += 1
        case = question.of(workload)
        broken = first_broken(case, asked)
        if broken is not None:
            found.append((case, *broken))
            break
    if on is None and (examples or found):
        number = _search(question, asked, examples, seed, number, found)
    if found:
        raise _told(*min(found, key=_size), asked, number)


_Found = tuple[Case, Law, str]


def _size(found: _Found) -> tuple[int, ...]:
    """Sort key of failing cases: the smallest one is shown."""
    case, _, _ = found
    seconds = sum(case.columns["submit_s"]) + sum(case.columns["service_s"])
    num_outages = 0 if case.outages is None else len(case.outages)
    width = len(case.trace) + case.cluster.num_gpus
    return width, num_outages, len(case.columns), int(seconds)


def _told(case: Case, law: Law, fault: str, asked: tuple[Law, ...], number: int) -> LawBroken:
    also = tuple(other.name for other, _ in broken_laws(case, asked) if other is not law)
    return LawBroken(
        law, fault, case.trace, case.cluster, case.outages, examples=number, also=also,
        again=case.again(law.name),
    )  # fmt: skip


def _search(
    question: _Question,
    asked: tuple[Law, ...],
    examples: int,
    seed: int,
    number: int,
    found: list[_Found],
) -> int:
    """Draw workloads until one violates a property, and then smaller ones that do.

    Those that do are added to ``found``. Return how many had been tried by the first.
    """
    try:
        need("hypothesis", "gpusched.testing", "gpusched-core[testing]")
    except ImportError:
        if found:
            return number
        raise
    import hypothesis

    from gpusched.testing.strategies import outages, workloads

    if found:
        examples = _LIKE_A_CORNER

    def look(workload: Workload) -> None:
        nonlocal number
        number += not found
        case = question.of(workload)
        broken = first_broken(case, (found[0][1],) if found else asked)
        if broken is not None:
            found.append((case, *broken))
            raise _Broken

    types = ("gpu",) if question.is_pooled else _TYPES
    plain, held = (
        workloads(columns=columns, gpu_types=types, is_fitting=question.has_models)
        for columns in (question.columns, [*question.columns, *question.holds])
    )

    def with_outages(workload: tuple[Trace, Cluster]) -> SearchStrategy[Workload]:
        none = hypothesis.strategies.none()
        drawn = (
            none | outages(workload[1], is_known=question.knows_maintenance)
            if question.has_outages
            else none
        )
        return drawn.map(lambda outages: (*workload, outages))

    wrapped: Callable[[], None] = hypothesis.seed(seed)(
        hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=hypothesis.Verbosity.quiet,
            suppress_health_check=list(hypothesis.HealthCheck),
            phases=(hypothesis.Phase.generate, hypothesis.Phase.shrink),
        )(hypothesis.given((plain | held).flatmap(with_outages))(look))
    )
    with suppress(_Broken, hypothesis.errors.Flaky):  # violations may be intermittent
        wrapped()
    return number


_LIKE_A_CORNER = 100
"""Workloads tried to find a smaller case if a fixed one fails."""


class _Broken(Exception):
    """Signals Hypothesis that a workload violates the property."""
