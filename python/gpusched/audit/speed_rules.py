"""The seam of the audit's rules about speeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpusched.audit.case import Case, Flags, parameters
from gpusched.audit.links import OnLinks
from gpusched.audit.rule_book import RuleBook
from gpusched.audit.type_speeds import Measured
from gpusched.base.arrays import Float64
from gpusched.base.memo import Memo

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class SpeedRule:
    """How fast jobs are under a speed; one of ``rates`` and ``on_links`` is there.

    Attributes
    ----------
    rates
        The service per tick in each interval of a case, where nobody is in anybody's way.
    on_links
        The intervals of a case on the links that they use.
    measured
        ``measured(trace, cluster, speed)`` of a speed by figures per GPU type, by its text; what it
        returns is the case's ``measured``.
    is_rounded
        The core adds up in doubles what the audit computes exactly: full speed is not known to the
        last bit.
    """

    rates: Callable[[Case], Float64] | None = None
    on_links: Callable[[Case], OnLinks] | None = None
    measured: Callable[[Trace, Cluster, str], Measured] | None = None
    is_rounded: bool = False


SPEED_RULES: Final = RuleBook[SpeedRule]("speed")


def measured_of(trace: Trace, cluster: Cluster, speed: str, flags: Flags) -> Measured | None:
    """Return what is known of a speed by figures per GPU type; None of all others."""
    if not flags.is_elastic or trace.profile is None:
        return None
    rule = SPEED_RULES.find(parameters(speed)[0])
    if rule is None or rule.measured is None:
        return None
    measured = rule.measured
    return _measured.of(trace, (cluster, speed), lambda: measured(trace, cluster, speed))


# Runs of one trace are audited one after the other.
_measured: Memo[Trace, Measured] = Memo(2)
