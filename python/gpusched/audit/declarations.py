"""Registered properties of a run's names: their flags, parameters and presets."""

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
"""Parameter values of the run's plug-ins."""


@dataclass(frozen=True)
class Flags:
    """The registered properties of the names of a run.

    ``preempts``: whether the policy may preempt; None if undeclared, and nothing is assumed.
    ``places``: whether the policy chooses GPUs itself, regardless of the placement.
    ``is_pooled``: whether the placement treats the cluster as a single pool of GPUs without
        servers.
    ``scatters``: whether the placement accepts any job on an empty cluster with enough GPUs.
    ``consolidates``: whether it then accepts what fits on the fewest servers for the job's GPUs.
    ``is_elastic``: whether jobs may run with other numbers of GPUs than requested under the speed.
    ``alias_of``: the policy that an alias stands for, with the values that it sets.
    ``is_steady``: whether jobs run for their service under the speed, on any GPUs.
    ``interacts``: whether rates depend on other jobs on a link.
    ``clairvoyant``: whether the policy uses the true run times with this predictor: always, never,
        or without estimates; empty if unknown.
    ``predicted``: the column of the trace with the run times that policies see; empty: predictions
        that the trace does not hold.
    ``faults``: errors in names or parameters of the run, one sentence each.
    ``version``: version of these rules.
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
    """The cost of a resume beyond the job's own checkpoint and restart, and extra work of jobs.

    ``on_time``: whether a job pays by holding GPUs without progress; otherwise each preemption adds
        to the remaining service.
    ``narrow_us``, ``wide_us``, ``narrow_gpus``: cost for jobs up to ``narrow_gpus``, and for larger
        ones.
    ``overrun_us``: extra work of every job beyond its service.
    """

    on_time: bool
    narrow_us: int
    wide_us: int
    narrow_gpus: int
    overrun_us: int

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, policy: str, alias_of: str = "") -> RestartRule:
        """Parse the rule from a policy's string, with aliases resolved."""
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
    """Return the smallest and largest number of GPUs of each job under an elastic speed."""
    ones = np.ones(len(trace), dtype=np.int64)
    least = ones if trace.min_gpus is None else trace.min_gpus.astype(np.int64)
    most = ones * 2**31 if trace.max_gpus is None else trace.max_gpus.astype(np.int64)
    return least, most


@lru_cache(maxsize=256)
def values_of(text: str) -> tuple[str, Given]:
    """Split ``name:key=value,key=value``, with parsed values."""
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
    """Split the string of a policy, including the values of its preset.

    For an alias it is the policy that the alias stands for.
    """
    name, given = values_of(policy)
    if alias_of:
        name, defaults = values_of(alias_of)
        given = {**defaults, **given}
    preset = PRESETS.get(given.get("preset", ""), {}) if name == "2d-las" else {}
    return name, {**preset, **given}
