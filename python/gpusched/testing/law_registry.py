"""The laws by name, what is raised where one does not hold, and what a policy may claim.

A new law is a function in a file of ``known/``, under :func:`law`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpusched.base.registry import Registry
from gpusched.base.suggest import nearest
from gpusched.testing.cases import cluster_code, trace_code

if TYPE_CHECKING:
    from gpusched.model.cluster import Cluster
    from gpusched.testing.cases import Case
    from gpusched.traces.workload import Trace


_CLAIMS: Final = {
    "non-preemptive": "A job that runs keeps its GPUs until it finishes.",
    "work-conserving": "No job waits that would fit on the free GPUs of one server.",
    "scale-free": "Times that are longer by a factor give the schedule, longer by the factor.",
    "shift-free": "Submissions that are later by an hour give the schedule, an hour later.",
    "looks-ahead": "The whole trace decides, jobs that are still to come among it.",
    "random": "The seed of the run decides.",
}


def claims() -> dict[str, str]:
    """What ``declares`` of :func:`~gpusched.testing.check_policy` may say, by name.

    The first four ask for more laws, the last two take one away.

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

    Raises
    ------
    ValueError
        If there is no such claim. TypeError if ``declares`` is one text.
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
    """Something that holds of every run, or of every run of some plug-ins.

    Attributes
    ----------
    name
        Words with hyphens.
    sentence
        What holds.
    roles
        Of what it is asked: any of ``"policy"``, ``"placement"`` and ``"speed"``.
    rank
        Laws are asked in this order, then by name.
    """

    name: str
    sentence: str
    roles: tuple[str, ...]
    rank: int
    _faults: Callable[[Case], Faults]
    _applies: Callable[[Case], bool]

    def applies(self, case: Case) -> bool:
        """Whether it says something of a case.

        Returns
        -------
        bool
            Whether to ask :meth:`fault`.

        Raises
        ------
        ValueError, TypeError
            As :func:`gpusched.simulate`, where the run of the case decides.

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
        """Say what is wrong with a case.

        Returns
        -------
        str, optional
            The first fault; None if the law holds.

        Raises
        ------
        ValueError, TypeError
            As :func:`gpusched.simulate`, by which the case is run.

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
    """A law does not hold; the message shows a small case and how to repeat it.

    Attributes
    ----------
    law, sentence
        The law.
    fault
        What is wrong with the case.
    trace, cluster
        The case.
    examples
        How many workloads had been tried when the first fault was seen.
    also
        Names of other laws that the same case breaks.
    """

    def __init__(
        self,
        law: Law,
        fault: str,
        trace: Trace,
        cluster: Cluster,
        *,
        examples: int = 1,
        also: tuple[str, ...] = (),
        again: str = "",
    ) -> None:
        self.law, self.sentence, self.fault = law.name, law.sentence, fault
        self.trace, self.cluster = trace, cluster
        self.examples, self.also = examples, also
        lines = [f"{law.name}: {law.sentence}", f"  {fault}"]
        lines.append(f"Seen at workload {examples}, and then with this smaller or equal one:")
        lines += [trace_code(trace), cluster_code(cluster)]
        if also:
            lines.append(f"It breaks {', '.join(also)} as well.")
        lines.append(f"Again: {again}")
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
    """Register a function that yields what is wrong with a case as the law ``name``.

    The other parameters are those of :class:`Law`.
    """

    def register(faults: Callable[[Case], Faults]) -> Callable[[Case], Faults]:
        LAWS.add(name, Law(name, sentence, of, rank, faults, when))
        return faults

    return register


def laws() -> dict[str, Law]:
    """Every law by name, in the order in which they are asked; other packages may add some.

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
    """Return the laws of these names; None: all.

    Raises
    ------
    ValueError
        If there is no such law. TypeError if ``names`` is one text.
    """
    if names is None:
        return tuple(laws().values())
    if isinstance(names, str):
        raise TypeError(f"laws: expected a collection of names, not {names!r}")
    return tuple(LAWS.find(name) for name in names)
