"""When a job that waits starts, and on what: :class:`StartForecast`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64, freeze_columns
from gpusched.base.wording import duration
from gpusched.deciding.start_stretch import stretched

_SHOWN: Final = 5


@dataclass(frozen=True)
class Sooner:
    """What would change when a job starts.

    Attributes
    ----------
    what
        ``"4 GPUs"``, ``"placement first-fit"`` or ``"one more server"``.
    start_s
        The median of its starts then, seconds; infinite if it would start in less than half of
        the samples.
    sooner_s
        By how much its median start is earlier, seconds; negative if it is later. NaN where it
        starts too rarely to say.
    share_sooner
        In which share of the samples it starts earlier.
    """

    what: str
    start_s: float
    sooner_s: float
    share_sooner: float


@dataclass(frozen=True, eq=False)
class StartForecast:
    """When a job that waits would start, and on what: what :func:`when` returns.

    Attributes
    ----------
    job, id
        The row of the job in what was asked about, and its name.
    now_s
        The time of the state, seconds.
    start_s
        float64 seconds, one per sample, ascending: when it starts; infinite where it never does.
    quantiles
        Which of these :attr:`quantile_s` holds.
    num_servers
        int64, one per sample in which it starts: on how many servers.
    servers, share
        int64 and float64: servers, those first that it is on in most samples, and in which share of
        the samples in which it starts. Empty under a placement without servers.
    alternatives
        What would make it start sooner, or would not.
    is_sampled
        Whether run times were drawn; if not they are those of the state.
    factors
        What :attr:`quantile_s` is corrected by, one each: see
        :func:`~gpusched.deciding.start_stretch.stretch_factors`. None: by nothing.
    """

    job: int
    id: Any
    now_s: float
    start_s: Float64 = field(repr=False)
    quantiles: tuple[float, ...]
    num_servers: Int64 = field(repr=False)
    servers: Int64 = field(repr=False)
    share: Float64 = field(repr=False)
    alternatives: tuple[Sooner, ...]
    is_sampled: bool
    factors: Float64 | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    @property
    def quantile_s(self) -> Float64:
        """Its start at each of the quantiles (nearest rank), seconds; infinite for never."""
        drawn_s = nearest_rank(self.start_s, self.quantiles)
        if self.factors is None:
            return drawn_s
        found: Float64 = self.now_s + stretched(drawn_s - self.now_s, self.factors)
        return found

    @property
    def median_s(self) -> float:
        """The median of its starts as drawn, seconds."""
        return float(nearest_rank(self.start_s, (0.5,))[0])

    @property
    def share_never(self) -> float:
        """In which share of the samples it never starts."""
        return float(np.isinf(self.start_s).mean())

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values, without the single samples; None stands for never.

        Returns
        -------
        dict
            Starts at each quantile, the likeliest servers and the alternatives, in seconds.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16])
        >>> state = gs.deciding.ClusterState(
        ...     gs.Cluster.uniform(2, 8), jobs, now_s=1800, start_s=[0, float("nan")],
        ...     held_job=[0], held_server=[1], held_mask=[0xFF],
        ... )
        >>> gs.when(1, state).to_dict()["start_s"]["p50"]
        3600.0
        """
        return {
            "job": self.job,
            "id": self.id if isinstance(self.id, str) else int(self.id),
            "now_s": self.now_s,
            "num_samples": len(self.start_s),
            "is_sampled": self.is_sampled,
            "start_s": {
                f"p{100 * part:g}": _finite(value)
                for part, value in zip(self.quantiles, self.quantile_s, strict=True)
            },
            "share_never": self.share_never,
            "servers": [
                {"server": int(server), "share": float(share)}
                for server, share in zip(self.servers[:_SHOWN], self.share[:_SHOWN], strict=True)
            ],
            "alternatives": [
                {
                    "what": each.what,
                    "start_s": _finite(each.start_s),
                    "sooner_s": _finite(each.sooner_s),
                    "share_sooner": each.share_sooner,
                }
                for each in self.alternatives
            ],
        }

    def __str__(self) -> str:
        lines = [f"job {self.id} starts, counted from now,"]
        for part, value in zip(self.quantiles, self.quantile_s, strict=True):
            wait = "never" if np.isinf(value) else f"in {duration(float(value) - self.now_s)}"
            lines.append(f"  {100 * part:g} %: {wait}")
        if len(self.servers):
            places = ", ".join(
                f"{server} ({share:.0%})"
                for server, share in zip(self.servers[:_SHOWN], self.share[:_SHOWN], strict=True)
            )
            lines.append(f"most likely on server {places}")
        for each in self.alternatives:
            lines.append(f"with {each.what}: {_said(each)}")
        return "\n".join(lines)


def nearest_rank(ascending: AnyArray, parts: tuple[float, ...]) -> Float64:
    """Return the quantiles, each one of the values."""
    ranks = np.ceil(np.array(parts) * len(ascending)).astype(np.int64) - 1
    found: Float64 = ascending[np.maximum(ranks, 0)]
    return found


def _said(each: Sooner) -> str:
    if np.isnan(each.sooner_s):
        return "starts too rarely to say"
    if each.sooner_s == 0:
        return f"no sooner (in {each.share_sooner:.0%} of the samples it is)"
    side = "sooner" if each.sooner_s > 0 else "later"
    return (
        f"{duration(abs(each.sooner_s))} {side}, sooner in {each.share_sooner:.0%} of the samples"
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
