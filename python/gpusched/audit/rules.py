"""What an audit must know about policies and placements, read from the text of a run's spec."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.arrays import AnyArray, Int64

if TYPE_CHECKING:
    from gpusched.cluster import Cluster
    from gpusched.workload import Trace

_NON_PREEMPTIVE: Final = frozenset((
    "fifo", "fifo-skip", "sjf", "sgf", "swf", "wspt", "random", "easy", "conservative",
    "sjf-bco", "ff", "ls", "rand", "ada-srsf",
))  # fmt: skip
_PRESETS: Final[dict[tuple[str, str], dict[str, str]]] = {
    ("2d-las", "tiresias"): {},
    ("2d-las", "lucid"): {"restart": "work", "cost_s": "40", "wide_cost_s": "60"},
}
# On an empty cluster these place whatever the allowed GPUs can hold.
_TAKES_ANY_GPUS: Final = frozenset(
    ("count", "random", "first-fit", "best-fit", "worst-fit", "spread", "lwf", "heavy-edge")
)
# These choose GPUs themselves, whatever the placement, and take any that the gang fits on.
_PLACE_THEMSELVES: Final = frozenset(("sjf-bco", "ff", "ls", "rand"))


def is_non_preemptive(policy: str) -> bool:
    """Whether the policy never takes GPUs back; False also for names that are not known."""
    return policy.partition(":")[0] in _NON_PREEMPTIVE


@dataclass(frozen=True)
class RestartRule:
    """What a resume costs beyond the job's own checkpoint and restart.

    Attributes
    ----------
    on_time
        Whether the gang pays by holding GPUs without progress; otherwise each preemption adds to
        the remaining service.
    narrow_us, wide_us, narrow_gpus
        Cost of gangs up to ``narrow_gpus``, and of wider ones.
    """

    on_time: bool
    narrow_us: int
    wide_us: int
    narrow_gpus: int

    @classmethod
    def of(cls, policy: str) -> RestartRule:
        """Read the rule from a policy's text."""
        name, given = parameters(policy)
        given = _PRESETS.get((name, given.get("preset", "")), {}) | given
        cost_s = float(given.get("cost_s", "0"))
        wide_cost_s = float(given.get("wide_cost_s", "-1"))
        return cls(
            on_time=given.get("restart", "time") == "time",
            narrow_us=round(cost_s * 1e6),
            wide_us=round((cost_s if wide_cost_s < 0 else wide_cost_s) * 1e6),
            narrow_gpus=int(given.get("narrow_gpus", "8")),
        )

    def cost_us(self, trace: Trace) -> Int64:
        """Return the cost of each job's resume, in microseconds."""
        cost = np.where(trace.gpus > self.narrow_gpus, self.wide_us, self.narrow_us)
        for own in (trace.checkpoint_us, trace.restart_us):
            if own is not None:
                cost = cost + own
        return cost.astype(np.int64)


def placement_of(policy: str, placement: str) -> str:
    """Return the text of the placement by which jobs are refused under a policy."""
    return "first-fit" if policy.partition(":")[0] in _PLACE_THEMSELVES else placement


def rejects_for_good(trace: Trace, cluster: Cluster, placement: str, claimed: AnyArray) -> Int64:
    """Return for each job why it can never run (an index in ``REJECT_REASONS``), 0 if it can.

    Of a placement that is not known, the refusals on an empty cluster are taken from ``claimed``.
    """
    type_set = np.zeros(len(trace), np.int64) if trace.type_set is None else trace.type_set
    type_sets = ((),) if trace.type_set is None else trace.type_sets
    sizes = [_allowed_sizes(cluster, types) for types in type_sets]
    kinds, kind_of_job = np.unique(
        type_set.astype(np.int64) << 32 | trace.gpus, return_inverse=True
    )
    reasons = [
        _reject_reason(placement, sizes[kind >> 32], kind & 0xFFFFFFFF) for kind in kinds.tolist()
    ]
    truth = np.array([-1 if known is None else known for known in reasons], dtype=np.int64)
    reason = truth[kind_of_job]
    return np.where(reason >= 0, reason, np.where(claimed == 3, 3, 0))


def _allowed_sizes(cluster: Cluster, types: tuple[str, ...]) -> list[int]:
    """GPUs of each server that has one of the ``types``; no types: of every server."""
    return [
        group.gpus
        for group in cluster.servers
        if not types or group.gpu_type in types
        for _ in range(group.count)
    ]


def _reject_reason(placement: str, sizes: list[int], gpus: int) -> int | None:
    if not sizes:
        return 1
    if gpus > sum(sizes):
        return 2
    fits = _fits_when_empty(placement, sizes, gpus)
    return None if fits is None else 0 if fits else 3


def _fits_when_empty(placement: str, sizes: list[int], gpus: int) -> bool | None:
    """Whether the placement takes a gang that the GPUs can hold; None if it is not known."""
    name, given = parameters(placement)
    if name in _TAKES_ANY_GPUS:
        return True
    if name not in ("consolidated", "consolidated-relaxed"):
        return None
    size = max(sizes)
    whole, rest = divmod(gpus, size)
    num_largest = sizes.count(size)
    others_fit = num_largest > whole or any(rest <= other < size for other in sizes)
    if num_largest >= whole and (rest == 0 or others_fit):
        return True
    if name == "consolidated":
        return False
    limit = math.floor(float(given.get("kappa", "2")) * math.ceil(gpus / size))
    held = np.cumsum(sorted(sizes, reverse=True))
    return int(np.searchsorted(held, gpus)) + 1 <= limit


def parameters(text: str) -> tuple[str, dict[str, str]]:
    """Split ``name:key=value,key=value``."""
    name, _, given = text.partition(":")
    pairs = (entry.partition("=") for entry in given.split(",") if entry)
    return name, {key.strip(): value.strip() for key, _, value in pairs}
