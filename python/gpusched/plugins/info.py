"""What is known of a registered name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gpusched.plugins import flags as known_flags
from gpusched.plugins.preemption import PreemptionBound

POLICY_KINDS: Final = ("order", "scheduler")
APPROXIMATE: Final = "≈"
"""Marks a policy whose defaults depart from its source."""


@dataclass(frozen=True)
class PluginInfo:
    """What is known of a registered name.

    Attributes
    ----------
    name, kind
        ``kind`` is ``"order"``, ``"scheduler"`` (both are policies), ``"placement"``, ``"speed"``
        or ``"contention"``.
    summary, source
        One sentence, and where it was published.
    flags
        What it says of itself, in words such as ``preemptive`` or ``elastic``; what each means
        stands in :data:`gpusched.plugins.flags.FLAGS`.
    parameters
        Mappings with name, type, default, minimum, maximum, least_positive (above 0 no smaller
        value is allowed, 0 itself is; None: any is), choices and help.
    python_class
        The class of a name registered from Python; None for a native one.
    columns, optional_columns
        Of a speed: the names of the job columns without which the core refuses a run, and of those
        that it reads if they are given.
    alias_of
        The policy for which the name stands, with the values that it sets (``fifo:scan=skip``);
        empty unless it is an alias.
    differs
        Where its defaults depart from its source (flag ``approximate``): how, in a sentence.
    preemption
        Of a policy: at which instants it may take GPUs back; None of a scheduler of Python that
        may and does not say when, which is at any.
    """

    name: str
    kind: str
    summary: str
    source: str
    flags: tuple[str, ...]
    parameters: tuple[Mapping[str, Any], ...]
    python_class: type | None = None
    columns: tuple[str, ...] = ()
    optional_columns: tuple[str, ...] = ()
    alias_of: str = ""
    differs: str = ""
    preemption: PreemptionBound | None = None

    def has(self, flag: str) -> bool:
        """Whether it has the flag.

        Returns
        -------
        bool
            That of the name, whatever its parameters are.

        Raises
        ------
        ValueError
            If there is no such flag.

        Examples
        --------
        >>> gs.policies()["srtf"].has("preemptive"), gs.policies()["fifo"].has("preemptive")
        (True, False)
        """
        return known_flags.has(self.flags, flag)

    @property
    def is_native(self) -> bool:
        """Whether the core implements it."""
        return self.python_class is None

    @property
    def preempts(self) -> bool | None:
        """Whether a policy may take GPUs back; None of a scheduler of Python that does not say."""
        if self.has("preemptive"):
            return True
        is_told = self.is_native or self.kind == "order" or self.has("non-preemptive")
        return False if is_told else None

    @property
    def is_policy(self) -> bool:
        """Whether a run takes it as its policy."""
        return self.kind in POLICY_KINDS

    def parameter(self, name: str) -> Mapping[str, Any] | None:
        """Return the description of a parameter.

        Returns
        -------
        Mapping, optional
            An entry of :attr:`parameters`; None if there is none of that name.

        Examples
        --------
        >>> gs.predictors()["noise"].parameter("sigma")["type"]
        'float'
        """
        return next((known for known in self.parameters if known["name"] == name), None)
