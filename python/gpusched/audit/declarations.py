"""What an audit must know about a run's names: their flags, parameters and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Int64

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

Given = Mapping[str, str]
"""The values of the parameters of a run's plug-in, as texts."""

PRESETS: Final[dict[str, dict[str, Given]]] = {
    "2d-las": {
        "lucid": {
            "epoch": "period", "period_s": "60", "quota": "hold", "restart": "work",
            "cost_s": "40", "wide_cost_s": "60", "overrun_s": "1",
        },
        "tiresias-artefact": {"period_s": "0"},
    },
}  # fmt: skip
"""What a preset of a policy says of decisions and restarts, where not the defaults."""


@dataclass(frozen=True)
class Flags:
    """What the registry declares of the names of a run.

    Attributes
    ----------
    preempts
        Whether the policy may take GPUs back; None if it does not say, and nothing is assumed.
    places
        Whether the policy chooses GPUs itself, whatever the placement.
    is_pooled
        Whether the placement takes the cluster for one pool of GPUs without servers.
    scatters
        Whether the placement takes any gang on an empty cluster that has GPUs enough.
    consolidates
        Whether it takes there what fits on as few servers as the gang's width allows.
    is_elastic
        Whether jobs may run at other widths than their own under the speed.
    alias_of
        The policy that the name stands for, with the values that it sets, if it is an alias.
    is_steady
        Whether they run for their service under the speed, wherever they are.
    interacts
        Whether rates depend on who else is on a link.
    clairvoyant
        Whether the policy decides by the true services with this predictor: always, never, or
        without estimates; empty if it is not known.
    predicted
        The column of the trace that policies take for the services; empty: predictions that the
        trace does not hold.
    faults
        Why names or parameters of the run are none, one sentence each.
    version
        Of the rules that are declared here.
    """

    preempts: bool | None = None
    places: bool = False
    is_pooled: bool = False
    scatters: bool = False
    consolidates: bool = False
    is_elastic: bool = False
    is_steady: bool = False
    interacts: bool = False
    clairvoyant: str = ""
    alias_of: str = ""
    predicted: str = ""
    faults: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class RestartRule:
    """What a resume costs beyond the job's own checkpoint and restart, and a job its service.

    Attributes
    ----------
    on_time
        Whether the gang pays by holding GPUs without progress; otherwise each preemption adds to
        the remaining service.
    narrow_us, wide_us, narrow_gpus
        Cost of gangs up to ``narrow_gpus``, and of wider ones.
    overrun_us
        What every job runs beyond its service.
    """

    on_time: bool
    narrow_us: int
    wide_us: int
    narrow_gpus: int
    overrun_us: int

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, policy: str, alias_of: str = "") -> RestartRule:
        """Read the rule from a policy's text, and from that of the policy for which it stands."""
        _, given = resolved(policy, alias_of)
        cost_s = float(given.get("cost_s", "0"))
        wide_cost_s = float(given.get("wide_cost_s", "-1"))
        return cls(
            on_time=given.get("restart", "time") == "time",
            narrow_us=round(cost_s * 1e6),
            wide_us=round((cost_s if wide_cost_s < 0 else wide_cost_s) * 1e6),
            narrow_gpus=int(given.get("narrow_gpus", "8")),
            overrun_us=round(float(given.get("overrun_s", "0")) * 1e6),
        )

    def cost_us(self, trace: Trace, job: Int64, gpus: Int64) -> Int64:
        """Return the cost of a restart of each ``job`` on so many ``gpus``, in microseconds."""
        cost = np.where(gpus > self.narrow_gpus, self.wide_us, self.narrow_us)
        for own in (trace.checkpoint_us, trace.restart_us):
            if own is not None:
                cost = cost + own[job]
        return cost.astype(np.int64)


def widths(trace: Trace) -> tuple[Int64, Int64]:
    """Return the least and the greatest width of each job under an elastic speed."""
    ones = np.ones(len(trace), dtype=np.int64)
    least = ones if trace.min_gpus is None else trace.min_gpus.astype(np.int64)
    most = ones * 2**31 if trace.max_gpus is None else trace.max_gpus.astype(np.int64)
    return least, most


@lru_cache(maxsize=256)
def parameters(text: str) -> tuple[str, Mapping[str, str]]:
    """Split ``name:key=value,key=value``."""
    name, _, given = text.partition(":")
    pairs = (entry.partition("=") for entry in given.split(",") if entry)
    return name, {key.strip(): value.strip() for key, _, value in pairs}


@lru_cache(maxsize=64)
def resolved(policy: str, alias_of: str) -> tuple[str, Mapping[str, str]]:
    """Split the text of a policy, with what its preset stands for.

    Of an alias it is that of the policy for which it stands.
    """
    name, given = parameters(policy)
    if alias_of:
        name, defaults = parameters(alias_of)
        given = {**defaults, **given}
    preset = PRESETS.get(name, {}).get(given.get("preset", ""), {})
    given = {**preset, **given}
    return name, given
