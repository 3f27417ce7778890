"""A case of a what-if: all that a run is made of, and the changes that can be made to it."""

from __future__ import annotations

import dataclasses
import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched._core import Placement
from gpusched.base.arrays import Int64
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SERVICE_US
from gpusched.clusters.cluster import Cluster
from gpusched.clusters.server_group import ServerGroup
from gpusched.engine.seams import own
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.plugins.policy_labels import AnyPolicy
from gpusched.traces.checked_columns import NOT_GIVEN

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes
    ----------
    trace, cluster, policy, placement, predictor, speed, contention, seed
        As for :func:`gpusched.simulate`.
    """

    trace: Trace
    cluster: Cluster
    policy: AnyPolicy
    placement: str | PlacementChoice | Placement
    predictor: str
    speed: str | SpeedChoice | None
    contention: str | ContentionChoice
    seed: int

    def run(self, stop: threading.Event | None = None) -> Result:
        """Simulate it."""
        return simulate(
            self.trace, self.cluster, policy=own(self.policy), placement=own(self.placement),
            predictor=self.predictor, speed=self.speed, contention=self.contention,
            seed=self.seed, stop=stop,
        )  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change to the base case: ``servers=+4``.

    Attributes
    ----------
    key, value
        What is changed, and to what.
    group
        Of ``servers`` and ``gpus_per_server``: the GPU type of the servers, empty for all.
    """

    key: str
    value: Any
    group: str = ""

    def __str__(self) -> str:
        return f"{self.key}{f'[{self.group}]' if self.group else ''}={self.value}"

    def check(self, trace: Trace) -> None:
        """Raise ValueError if the value is malformed, as far as that shows without a cluster."""
        try:
            if self.key in _CHOICES and isinstance(self.value, str):
                _CHOICES[self.key].parse(self.value)
            elif self.key in _NUMBERS:
                _moved(0, self.value)
            elif self.key == "load":
                _factor(self.value)
            elif self.key == "estimates":
                _estimates(trace, self.value)
        except ValueError as error:
            raise ValueError(f"change {self}: {error}") from None

    def applied(self, scenario: Scenario, base: Scenario) -> Scenario:
        """Return the scenario with the change.

        Parameters
        ----------
        base
            The base case: a load is that of its cluster.

        Raises
        ------
        ValueError
            If the value is malformed, or cannot be had; the message names the change.
        """
        try:
            return _HOW[self.key](scenario, base, self)
        except ValueError as error:
            raise ValueError(f"change {self}: {error}") from None


def parse_changes(changes: Mapping[str, Any] | Sequence[str]) -> tuple[Change, ...]:
    """Read changes: texts such as ``"policy=srtf"``, or a mapping from what is changed.

    Raises
    ------
    ValueError
        If there is none, one is listed twice, or what is to be changed is unknown.
    TypeError
        If they are neither.
    """
    if isinstance(changes, Mapping):
        pairs = [(key, value) for key, value in changes.items()]
    elif isinstance(changes, str) or not isinstance(changes, Sequence):
        raise TypeError(f"changes: expected a list of texts or a mapping, not {changes!r}")
    else:
        pairs = [_pair(text) for text in changes]
    read = tuple(_change(key, value) for key, value in pairs)
    if not read:
        raise ValueError("changes: at least one is needed")
    texts = [str(change) for change in read]
    for text in texts:
        if texts.count(text) > 1:
            raise ValueError(f"changes: {text} is listed twice")
    return read


def can_join(changes: Sequence[Change]) -> bool:
    """Whether all of the changes can be made at once: no two of one thing."""
    return len({(change.key, change.group) for change in changes}) == len(changes)


def _pair(text: Any) -> tuple[str, str]:
    if not isinstance(text, str):
        raise TypeError(f"changes: expected texts such as 'servers=+4', not {text!r}")
    key, equals, value = (part.strip() for part in text.partition("="))
    if not (key and equals and value):
        raise ValueError(f"change {text!r}: must be of the form KEY=VALUE, such as servers=+4")
    return key, value


def _change(key: Any, value: Any) -> Change:
    match = re.fullmatch(r"([\w-]+)(?:\[(.+)\])?", key) if isinstance(key, str) else None
    name = "" if match is None else match[1].replace("-", "_")
    if match is None or name not in _HOW:
        raise ValueError(f"change {key!r}: unknown{nearest(str(key), list(_HOW))}")
    if match[2] is not None and _HOW[name] is not _resized:
        raise ValueError(f"change {key!r}: only servers and gpus_per_server have types")
    return Change(name, value, match[2] or "")


_How = Callable[[Scenario, Scenario, Change], Scenario]


def _replaced(scenario: Scenario, base: Scenario, change: Change) -> Scenario:
    value: Any = change.value
    if change.key in _CHOICES and isinstance(value, str):
        value = _CHOICES[change.key].parse(value)
    return dataclasses.replace(scenario, **{change.key: value})


def _resized(scenario: Scenario, base: Scenario, change: Change) -> Scenario:
    """Give the servers of a type another number, or other numbers of GPUs."""
    cluster = scenario.cluster
    if cluster.domains:
        raise ValueError("the cluster has domains; describe the other one by itself")
    fits = [
        place
        for place, group in enumerate(cluster.servers)
        if not change.group or group.gpu_type == change.group
    ]
    types = ", ".join(dict.fromkeys(group.gpu_type for group in cluster.servers))
    if not fits:
        raise ValueError(f"no servers have this type; known: {types}")
    if len(fits) > 1:
        raise ValueError(f"the cluster has {len(fits)} groups of such servers (types: {types})")
    groups = list(cluster.servers)
    field = _NUMBERS[change.key]
    number = _moved(getattr(groups[fits[0]], field), change.value)
    groups[fits[0]] = _with(groups[fits[0]], field, number)
    return dataclasses.replace(
        scenario, cluster=msgspec.structs.replace(cluster, servers=tuple(groups))
    )


def _with(group: ServerGroup, field: str, number: int) -> ServerGroup:
    changes: dict[str, Any] = {field: number}
    return msgspec.structs.replace(group, **changes)


def _moved(present: int, value: Any) -> int:
    """Return ``12`` for 12, and ``present`` + 4 for ``+4``."""
    match = re.fullmatch(r"([+-]?)(\d{1,9})", str(value).strip())
    if match is None or isinstance(value, bool):
        raise ValueError("must be a number, or one to add or take away: 12, +4 or -4")
    number = int(match[2])
    return {"": number, "+": present + number, "-": present - number}[match[1]]


def _number(value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError("must be a positive number, or a factor such as *1.2")
    return number


def _loaded(scenario: Scenario, base: Scenario, change: Change) -> Scenario:
    """Rescale the gaps between arrivals to a load of the base cluster, or by a factor."""
    is_factor, number = _factor(change.value)
    if is_factor:
        trace = scenario.trace.scale_load(number)
    else:
        trace = scenario.trace.with_load(number, base.cluster.num_gpus)
    return dataclasses.replace(scenario, trace=trace)


def _factor(value: Any) -> tuple[bool, float]:
    """Read ``*1.2``, or ``0.9``: whether it is a factor, and the number."""
    is_factor = isinstance(value, str) and value.startswith("*")
    return is_factor, _number(value[1:] if is_factor else value)


def _estimated(scenario: Scenario, base: Scenario, change: Change) -> Scenario:
    """Make estimates exact, or longer or shorter by a factor."""
    trace = scenario.trace
    estimate_us = _estimates(trace, change.value)
    return dataclasses.replace(scenario, trace=dataclasses.replace(trace, estimate_us=estimate_us))


def _estimates(trace: Trace, value: Any) -> Int64:
    if value == "exact":
        return trace.service_us
    if isinstance(value, str) and value.startswith("*"):
        known = trace.estimate_us
        if known is None:
            raise ValueError("the trace has no estimates")
        scaled = np.clip(np.rint(known * _number(value[1:])), 1, MAX_SERVICE_US)
        return np.where(known == NOT_GIVEN, NOT_GIVEN, scaled.astype(np.int64))
    raise ValueError("must be exact, or a factor such as *2")


_CHOICES: Final[dict[str, Any]] = {
    "policy": Policy,
    "placement": PlacementChoice,
    "speed": SpeedChoice,
    "contention": ContentionChoice,
}
_NUMBERS: Final = {"servers": "count", "gpus_per_server": "gpus"}
"""Changes that give the servers of a group another number, and its field."""


_HOW: Final[dict[str, _How]] = {
    "policy": _replaced,
    "placement": _replaced,
    "predictor": _replaced,
    "speed": _replaced,
    "contention": _replaced,
    "servers": _resized,
    "gpus_per_server": _resized,
    "load": _loaded,
    "estimates": _estimated,
}
