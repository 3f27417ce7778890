"""The properties by name, the error if one does not hold, and the claims of policies.

A new property is a function in a file of ``known/``, under :func:`law`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from gpusched.base.registry import Registry
from gpusched.base.suggest import nearest
from gpusched.model.cluster import Cluster
from gpusched.model.outages import Outages
from gpusched.testing.cases import Case, cluster_code, outages_code, trace_code
from gpusched.traces.workload import Trace

_CLAIMS: Final = {
    "non-preemptive": "A running job keeps its GPUs until it finishes.",
    "work-conserving": "No job waits that would fit on the free GPUs of one server.",
    "scale-free": "Scaling all times by a factor scales the schedule by the factor.",
    "shift-free": "Submitting all jobs an hour later shifts the schedule by an hour.",
    "looks-ahead": "Decisions depend on the whole trace, including future jobs.",
    "random": "Decisions depend on the seed of the run.",
}


def claims() -> dict[str, str]:
    """List the claims for ``declares`` of :func:`~gpusched.testing.check_policy`.

    The first four add properties to check, the last two remove one.

    Returns
    -------
    dict
        A sentence for each name.

    Examples
    --------
    >>> gs.testing.claims()["work-conserving"]
    'No job waits that would fit on the free GPUs of one server.'
    """
    return dict(_CLAIMS)


def checked_claims(declares: Iterable[str]) -> frozenset[str]:
    """Return the claims as a set.

    Raises ValueError if a claim is unknown. TypeError if ``declares`` is a single string.
    """
    if isinstance(declares, str):
        raise TypeError(f"declares: expected a collection of claims, not {declares!r}")
    told = frozenset(declares)
    for claim in sorted(told, key=str):
        if claim not in _CLAIMS:
            raise ValueError(
                f"declares: unknown claim {claim!r}{nearest(str(claim), list(_CLAIMS))}"
            )
    return told


Faults = Iterator[str]
ROLES: Final = ("policy", "placement", "speed")


@dataclass(frozen=True)
class Law:
    """A property of every run, or of every run of some plug-ins.

    Attributes
    ----------
    name
        Words with hyphens.
    sentence
        The property in one sentence.
    roles
        The parts it tests: any of ``"policy"``, ``"placement"`` and ``"speed"``.
    rank
        Properties are checked in this order, then by name.
    """

    name: str
    sentence: str
    roles: tuple[str, ...]
    rank: int
    _faults: Callable[[Case], Faults]
    _applies: Callable[[Case], bool]

    def applies(self, case: Case) -> bool:
        """Whether the property applies to a case.

        Returns
        -------
        bool
            Whether to call :meth:`fault`.

        Raises
        ------
        ValueError, TypeError
            As for :func:`gpusched.simulate`, if the answer depends on the run.

        Examples
        --------
        >>> from gpusched.testing.cases import Case
        >>> from gpusched.testing.cases import Subject
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> case = Case(
        ...     jobs, gs.Cluster.uniform(1, 4), Subject.of("policy", "fifo"),
        ...     Subject.of("placement", "consolidated"), gs.plugins.SpeedChoice("fixed"),
        ... )
        >>> gs.testing.laws()["capacity"].applies(case)
        True
        """
        return case.role in self.roles and self._applies(case)

    def fault(self, case: Case) -> str | None:
        """Describe what is wrong with a case.

        Returns
        -------
        str, optional
            The first fault; None if the property holds.

        Raises
        ------
        ValueError, TypeError
            As for :func:`gpusched.simulate`, which runs the case.

        Examples
        --------
        >>> from gpusched.testing.cases import Case
        >>> from gpusched.testing.cases import Subject
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> case = Case(
        ...     jobs, gs.Cluster.uniform(1, 4), Subject.of("policy", "fifo"),
        ...     Subject.of("placement", "consolidated"), gs.plugins.SpeedChoice("fixed"),
        ... )
        >>> print(gs.testing.laws()["capacity"].fault(case))
        None
        """
        return next(self._faults(case), None)


class LawBroken(AssertionError):
    """A property does not hold; the message has a small case and how to repeat it.

    Attributes
    ----------
    law, sentence
        The violated property.
    fault
        What is wrong with the case.
    trace, cluster, outages
        The example; ``outages`` is None without any.
    examples
        Number of workloads tried up to the first fault.
    also
        Names of other properties that the same case violates.
    """

    def __init__(
        self,
        law: Law,
        fault: str,
        trace: Trace,
        cluster: Cluster,
        outages: Outages | None = None,
        *,
        examples: int = 1,
        also: tuple[str, ...] = (),
        again: str = "",
    ) -> None:
        self.law, self.sentence, self.fault = law.name, law.sentence, fault
        self.trace, self.cluster, self.outages = trace, cluster, outages
        self.examples, self.also = examples, also
        lines = [f"{law.name}: {law.sentence}", f"  {fault}"]
        lines.append(f"Found with workload {examples}; this case is smaller or equal:")
        lines += [trace_code(trace), cluster_code(cluster)]
        if outages is not None:
            lines.append(outages_code(outages))
        if also:
            lines.append(f"It also violates {', '.join(also)}.")
        lines.append(f"To repeat: {again}")
        super().__init__("\n".join(lines))


LAWS: Final[Registry[Law]] = Registry(
    "law", "gpusched.testing.known", order=lambda registered: registered.rank
)


def law(
    name: str,
    sentence: str,
    *,
    of: tuple[str, ...] = ROLES,
    when: Callable[[Case], bool] = lambda case: True,
    rank: int = 100,
) -> Callable[[Callable[[Case], Faults]], Callable[[Case], Faults]]:
    """Register a function that yields the faults of a case as the property ``name``.

    The other parameters are those of :class:`Law`.
    """

    def register(faults: Callable[[Case], Faults]) -> Callable[[Case], Faults]:
        LAWS.add(name, Law(name, sentence, of, rank, faults, when))
        return faults

    return register


def laws() -> dict[str, Law]:
    """List the properties by name, in the order of checks; other packages may add some.

    Returns
    -------
    dict
        A :class:`Law` for each name.

    Examples
    --------
    >>> gs.testing.laws()["capacity"].sentence
    'No GPU is held by two jobs at a time.'
    """
    return LAWS.all()


def chosen_laws(names: Iterable[str] | None) -> tuple[Law, ...]:
    """Return the properties with these names; None: all."""
    if names is None:
        return tuple(laws().values())
    if isinstance(names, str):
        raise TypeError(f"laws: expected a collection of names, not {names!r}")
    return tuple(LAWS.find(name) for name in names)
