"""Policies and placements of Python under names of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from gpusched import _core
from gpusched.plugins.description import describe
from gpusched.plugins.info import POLICY_KINDS
from gpusched.plugins.registry import OF_PYTHON, registered
from gpusched.plugins.spelling import check_names

_Seam = TypeVar("_Seam", bound=type)


def register_order(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Order` as the policy ``name``.

    The class says by attributes how it is run: ``lifetime`` (``"fixed"``, ``"service"`` or
    ``"clock"``), ``preemptive`` (False), ``scan`` (``"skip"``), ``flags`` (further ones, such as
    ``("clairvoyant",)``), and by its docstring and ``source`` what it is. Keyword arguments of its
    constructor with defaults become parameters of the policy, beside those of the list scheduler.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, or a flag is none, ``rank`` is missing, or another name is nearly one
        that is read. TypeError if the class is not an Order.

    Examples
    --------
    >>> @gs.register_order("widest-first")
    ... class WidestFirst(gs.Order):
    ...     def rank(self, view, jobs):
    ...         return -view.gpus[jobs]
    >>> gs.policies()["widest-first"].is_policy
    True
    """
    return _register("order", name, _core.Order)


def register_scheduler(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Scheduler` as the policy ``name``.

    The class may say by the attribute ``flags`` what it does (``"preemptive"``, or
    ``"non-preemptive"``, to which the audit holds it; ``"clairvoyant"``, ``"elastic"``,
    ``"deadlines"``; see :data:`gpusched.plugins.flags.FLAGS`), and by ``parameters`` more of its
    constructor's keyword arguments: a mapping from the name to any of ``minimum``, ``maximum``,
    ``least_positive``, ``choices``, ``help`` and ``flags``, which maps a value to the flags that
    it adds.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, a flag is none, or a name is nearly one that is read.
    TypeError
        If the class is not a Scheduler.

    Examples
    --------
    >>> @gs.register_scheduler("idle")
    ... class Idle(gs.Scheduler):
    ...     def decide(self, state, finished, arrived, actions):
    ...         pass
    >>> gs.policies()["idle"].kind
    'scheduler'
    """
    return _register("scheduler", name, _core.Scheduler)


def register_placement(name: str) -> Callable[[_Seam], _Seam]:
    """Register a subclass of :class:`gpusched.Placement` as the placement ``name``.

    The class may say by the attribute ``flags`` whether it draws by the seed (``"random"``), and
    which gangs it takes on an empty cluster (``"scatters"`` or ``"consolidates"``), to which the
    audit then holds its refusals.

    Returns
    -------
    callable
        A decorator, which returns the class as it is.

    Raises
    ------
    ValueError
        If the name is taken, a flag is none, or a name is nearly one that is read.
    TypeError
        If the class is not a Placement.

    Examples
    --------
    >>> @gs.register_placement("refuses")
    ... class Refuses(gs.Placement):
    ...     def place(self, free, request):
    ...         return None
    >>> "refuses" in gs.placements()
    True
    """
    return _register("placement", name, _core.Placement)


def _register(kind: str, name: str, base: type) -> Callable[[_Seam], _Seam]:
    registry = OF_PYTHON[kind]
    kinds = (kind,) if kind == "placement" else POLICY_KINDS
    registry.check_name(name, taken=registered(*kinds))

    def register(seam: _Seam) -> _Seam:
        if not (isinstance(seam, type) and issubclass(seam, base)):
            raise TypeError(f"{kind} {name}: {seam!r} is not a subclass of {base.__name__}")
        check_names(kind, name, seam, base)
        registry.add(name, describe(seam, kind, name))
        return seam

    return register
