"""Workloads are drawn, laws are asked, and what breaks one is made small."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gpusched.base.draws import check_seed
from gpusched.base.field_checks import check_integer
from gpusched.base.libraries import need
from gpusched.clusters.cluster import Cluster
from gpusched.plugins.policy import SpeedChoice, known_choice
from gpusched.plugins.registry import speeds
from gpusched.testing.cases import (
    Case,
    Subject,
    Workload,
    cluster_of,
    corner_cases,
    with_columns,
    with_rows,
)
from gpusched.testing.law_registry import Law, LawBroken, checked_claims, chosen_laws
from gpusched.traces.workload import Trace

_NUMBERS = {"submit_s": 0, "service_s": 1, "gpus": 1}
_NEEDED = {*_NUMBERS, "profile", "profiles", "graph", "graphs"}


def first_broken(case: Case, asked: Iterable[Law]) -> tuple[Law, str] | None:
    """Return the first law that does not hold and what is wrong; None if all hold."""
    return next(((law, fault) for law, fault in broken_laws(case, asked)), None)


def broken_laws(case: Case, asked: Iterable[Law]) -> Iterator[tuple[Law, str]]:
    """Yield the laws that do not hold; where the run itself fails, no others."""
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


def made_smaller(case: Case, law: Law, fault: str) -> tuple[Case, Law, str]:
    """Take away from a case what it can do without and still break the law."""
    while True:
        for other in _smaller_ones(case):
            broken = first_broken(other, (law,))
            if broken is not None:
                case, fault = other, broken[1]
                break
        else:
            return case, law, fault


def _smaller_ones(case: Case) -> Iterator[Case]:
    """Yield cases that are a step smaller, the largest steps first."""
    columns, num_jobs = case.columns, len(case.trace)
    for job in range(num_jobs if num_jobs > 1 else 0):
        yield case.on(with_rows(columns, [row for row in range(num_jobs) if row != job]))
    for name in columns.keys() - _NEEDED:
        yield case.on(with_columns({key: columns[key] for key in columns.keys() - {name}}))
    for cluster in _smaller_clusters(case.cluster):
        yield case.on(case.trace, cluster)
    if "graph" in columns:  # whose widths are those of the jobs
        return
    for name, least in _NUMBERS.items():
        for job, value in enumerate(columns[name]):
            for less in sorted({least, value // 2, value - 1}):
                if least <= less < value:
                    changed = [*columns[name][:job], less, *columns[name][job + 1 :]]
                    try:
                        yield case.on(with_columns(columns, **{name: changed}))
                    except ValueError:  # such as a deadline that then lies before the submission
                        continue


def _smaller_clusters(cluster: Cluster) -> Iterator[Cluster]:
    if cluster.domains:
        return
    last = cluster.servers[-1]
    links = {"nic_gbps": last.nic_gbps, "intra_gbps": last.intra_gbps}
    types = [cluster.gpu_types[i] for i in cluster.server_type.tolist()]
    servers = list(zip(cluster.server_gpus.tolist(), types, strict=True))
    for at in range(len(servers) if len(servers) > 1 else 0):
        yield cluster_of(servers[:at] + servers[at + 1 :], **links)
    for at, (gpus, gpu_type) in enumerate(servers):
        if gpus > 1:
            yield cluster_of([*servers[:at], (gpus - 1, gpu_type), *servers[at + 1 :]], **links)
    if len(set(types)) > 1:
        yield cluster_of([(gpus, types[0]) for gpus, _ in servers], **links)


_TYPES = ("A", "B")
_MOST_EXAMPLES = 10**9
_OPTIONAL = ("estimate_s", "weight", "checkpoint_s", "restart_s", "gpu_types")


def check_policy(
    policy: Any,
    *,
    placement: Any = "consolidated",
    speed: str | SpeedChoice | None = None,
    declares: Iterable[str] = (),
    laws: Iterable[str] | None = None,
    examples: int = 100,
    seed: int = 0,
    on: tuple[Trace, Cluster] | None = None,
) -> None:
    """Hold a policy against every law of policies, on many small workloads.

    Parameters
    ----------
    policy
        A name, a ``Policy``, an ``Order`` or a ``Scheduler``, or a class or a function without
        arguments that makes one. Each run gets a fresh one; an object is copied for that.
    placement
        As of :func:`gpusched.simulate`, or what makes one.
    speed
        As of :func:`gpusched.simulate`; None: ``table`` for elastic policies, ``fixed`` for
        others.
    declares
        What the policy claims beyond its flags, of those that :func:`claims` lists.
    laws
        Names of the laws that are asked; None: all.
    examples
        How many workloads are drawn, beside a few that are always asked.
    seed
        Another one draws other workloads; the same one the same. It is the seed of the runs, too.
    on
        A trace and a cluster: no workload is drawn, and these are asked.

    Returns
    -------
    None
        If all laws hold.

    Raises
    ------
    LawBroken
        An ``AssertionError``, if a law does not hold; with a small case.
    ValueError, TypeError
        As of :func:`gpusched.simulate`, or if there is no such claim or law.
    ImportError
        If Hypothesis is missing and workloads are to be drawn.

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
    on: tuple[Trace, Cluster] | None = None,
) -> None:
    """Hold a placement against every law of placements; parameters as of :func:`check_policy`.

    Returns
    -------
    None
        If all laws hold.

    Raises
    ------
    LawBroken, ValueError, TypeError, ImportError
        As of :func:`check_policy`.

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
    on: tuple[Trace, Cluster] | None = None,
) -> None:
    """Hold a speed against every law of speeds; parameters as of :func:`check_policy`.

    Returns
    -------
    None
        If all laws hold.

    Raises
    ------
    LawBroken, ValueError, TypeError, ImportError
        As of :func:`check_policy`.

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
    """All of a case but its workload."""

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
        trace, cluster = workload
        return Case(
            trace, cluster, self.policy, self.placement, contention=self.contention,
            seed=self.seed, role=self.role, **self.made,
        )  # fmt: skip

    @property
    def columns(self) -> list[str]:
        """What jobs have beside submit, service and width."""
        models = {"profile", "graph"} & set(speeds()[self.made["speed"].name].columns)
        columns = [name for name in _OPTIONAL if name != "gpu_types" or not self.is_pooled]
        if self.policy.has("deadlines"):
            columns.append("deadline_s")
        return [*columns, *sorted(models)]

    @property
    def is_pooled(self) -> bool:
        return self.placement.has("pooled")

    @property
    def has_models(self) -> bool:
        return bool({"profile", "graph"} & set(self.columns))

    def corners(self) -> Iterator[Workload]:
        """Those that are always asked; not where a speed needs more of the jobs."""
        return iter(()) if self.has_models else corner_cases(_TYPES)


def _check(
    question: _Question,
    names: Iterable[str] | None,
    examples: int,
    seed: int,
    on: Workload | None,
) -> None:
    asked = chosen_laws(names)
    check_integer("examples", examples, 0, _MOST_EXAMPLES)
    check_seed(seed)
    if on is not None:
        _ask(question.of(on), asked, 1)
        return
    number = 0
    for workload in question.corners():
        number += 1
        _ask(question.of(workload), asked, number)
    if examples:
        _search(question, asked, examples, seed, number)


def _ask(case: Case, asked: tuple[Law, ...], number: int) -> None:
    """Raise if one of the laws does not hold."""
    broken = first_broken(case, asked)
    if broken is not None:
        raise _told(*made_smaller(case, *broken), asked, number)


def _told(case: Case, law: Law, fault: str, asked: tuple[Law, ...], number: int) -> LawBroken:
    also = tuple(other.name for other, _ in broken_laws(case, asked) if other is not law)
    return LawBroken(
        law, fault, case.trace, case.cluster, examples=number, also=also, again=case.again(law.name)
    )


def _search(
    question: _Question, asked: tuple[Law, ...], examples: int, seed: int, before: int
) -> None:
    need("hypothesis", "gpusched.testing", "gpusched[testing]")
    import hypothesis

    from gpusched.testing.strategies import workloads

    found: list[tuple[Case, Law, str]] = []
    number = before

    def look(workload: Workload) -> None:
        nonlocal number
        if not found:  # else what broke a law is only repeated
            number += 1
            case = question.of(workload)
            broken = first_broken(case, asked)
            if broken is None:
                return
            found.append((case, *broken))
        raise _Broken

    types = ("gpu",) if question.is_pooled else _TYPES
    drawn = workloads(columns=question.columns, gpu_types=types, is_fitting=question.has_models)
    wrapped: Callable[[], None] = hypothesis.seed(seed)(
        hypothesis.settings(
            max_examples=examples,
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            print_blob=False,
            verbosity=hypothesis.Verbosity.quiet,
            suppress_health_check=list(hypothesis.HealthCheck),
            # Made smaller it is by what is known of jobs and servers, in far fewer runs.
            phases=(hypothesis.Phase.generate,),
        )(hypothesis.given(drawn)(look))
    )
    try:
        wrapped()
    except _Broken:
        raise _told(*made_smaller(*found[0]), asked, number) from None


class _Broken(Exception):
    """Tells Hypothesis that a workload breaks the law."""
