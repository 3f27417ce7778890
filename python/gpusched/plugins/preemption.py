"""When a policy may take GPUs back: what bounds its preemptions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class PreemptionBound:
    """At which instants a policy may preempt jobs.

    At each of them every job is preempted at most once, and at most all that run are, as a job that
    is started is not stopped in the same decision. Where nothing is set nobody is preempted, but in
    a run that is handed over to another policy.

    Attributes
    ----------
    at_arrivals, at_finishes
        Where a job arrives, and where one finishes.
    period
        Name of the parameter, in seconds, at whose multiples from time 0 on; where it is 0, at
        arrivals and finishes.
    per_entry
        Name of a parameter, a list: for each of its entries every job may once ask for an instant.
    least_run
        Name of the parameter for whose seconds a job has run, from its start, before it is
        preempted; where nothing else is set, at any instant.
    one_per_arrival
        In a pool, if all jobs ask for one GPU: no more preemptions than jobs have arrived, all of
        them at arrivals. With default parameters, and predictions that are true.
    reason
        Why, in a sentence.
    """

    at_arrivals: bool = False
    at_finishes: bool = False
    period: str = ""
    per_entry: str = ""
    least_run: str = ""
    one_per_arrival: bool = False
    reason: str = ""

    @property
    def is_none(self) -> bool:
        """Whether nobody is preempted."""
        return self == PreemptionBound(reason=self.reason)

    def __str__(self) -> str:
        if self.is_none:
            return "never"
        at = [name for name in ("arrivals", "finishes") if getattr(self, f"at_{name}")]
        if self.period:
            at.append(f"multiples of `{self.period}`")
        if self.per_entry:
            at.append(f"once per job and entry of `{self.per_entry}`")
        if self.least_run:
            at.append(f"of jobs that have run for `{self.least_run}` or longer")
        return ", ".join(at)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters that it is stated by."""
        return tuple(name for name in (self.period, self.per_entry, self.least_run) if name)


def stated(name: str, told: Mapping[str, Any]) -> PreemptionBound:
    """Return what a plug-in written in Python says; raise unless these are fields of a bound."""
    known = {field.name for field in fields(PreemptionBound)}
    if unknown := sorted(set(told) - known):
        raise ValueError(
            f"scheduler {name}: preemption: unknown field {unknown[0]!r}; allowed: "
            f"{', '.join(sorted(known))}"
        )
    return PreemptionBound(**told)


def check_parameters_of(name: str, bound: PreemptionBound, parameters: Collection[str]) -> None:
    """Raise unless the bound of a plug-in is stated by parameters that it has."""
    for parameter in bound.parameters:
        if parameter not in parameters:
            raise ValueError(
                f"scheduler {name}: preemption: it has no parameter {parameter!r}; it has: "
                f"{', '.join(sorted(parameters)) or 'none'}"
            )
