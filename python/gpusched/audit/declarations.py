"""What an audit must know about a run's names: their flags, parameters and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gpusched.base.arrays import Int64
from gpusched.reference.lists import DEFAULTS, PRESETS, ticks

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

Given = Mapping[str, Any]
"""The values of the parameters of a run's plug-in."""


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
        given = DEFAULTS | dict(resolved(policy, alias_of)[1])
        cost_s, wide_cost_s = given["cost_s"], given["wide_cost_s"]
        has_wide = wide_cost_s is not None and wide_cost_s >= 0
        return cls(
            on_time=given["restart"] == "time",
            narrow_us=ticks(cost_s),
            wide_us=ticks(wide_cost_s if has_wide else cost_s),
            narrow_gpus=given["narrow_gpus"],
            overrun_us=ticks(given["overrun_s"]),
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
def values_of(text: str) -> tuple[str, Given]:
    """Split ``name:key=value,key=value``, the values as what they are."""
    name, _, given = text.partition(":")
    pairs = (entry.partition("=") for entry in given.split(",") if entry)
    values = {key.strip(): _value(value.strip()) for key, _, value in pairs}
    if "limits" in values and not isinstance(values["limits"], list):
        values["limits"] = [values["limits"]]
    return name, values


def _value(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if "/" in text:
        return [_value(part) for part in text.split("/")]
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


@lru_cache(maxsize=64)
def resolved(policy: str, alias_of: str) -> tuple[str, Given]:
    """Split the text of a policy, with what its preset stands for.

    Of an alias it is that of the policy for which it stands.
    """
    name, given = values_of(policy)
    if alias_of:
        name, defaults = values_of(alias_of)
        given = {**defaults, **given}
    preset = PRESETS.get(given.get("preset", ""), {}) if name == "2d-las" else {}
    return name, {**preset, **given}
