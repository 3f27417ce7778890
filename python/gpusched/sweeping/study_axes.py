"""The axes of a study: a frozen, strict record, and what each field may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from gpusched.base.field_checks import check_name
from gpusched.base.suggest import nearest
from gpusched.results.run_window import RunWindow
from gpusched.sweeping.parameter_axis import ParameterAxis
from gpusched.sweeping.spec_parts import StudyCluster, StudyTrace, part_of, sequence_of

LONGEST_NAME: Final = 200
_CHOICES: Final = ("policies", "placements", "speeds", "contentions", "predictors")
AXES: Final = ("traces", "clusters", *_CHOICES, "seeds")
"""What can be zipped beside the names of the axes of parameters."""
_MOST_SEED: Final = 2**63 - 1


class StudyAxes(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What shall be run, see :class:`~gpusched.sweeping.study.Study`."""

    name: str
    traces: tuple[Any, ...]
    clusters: tuple[Any, ...]
    title: str = ""
    seeds: tuple[int, ...] = (0,)
    policies: tuple[Any, ...] = ("fifo",)
    placements: tuple[Any, ...] = ("consolidated",)
    speeds: tuple[Any, ...] = ("default",)
    contentions: tuple[Any, ...] = ("none",)
    predictors: tuple[Any, ...] = ("oracle",)
    metrics: tuple[str, ...] = ()
    baseline: str | None = None
    warm_up_s: float = 0.0
    tail_s: float | None = None
    max_intervals: int | None = None
    parameters: tuple[ParameterAxis, ...] = ()
    zip: tuple[tuple[str, ...], ...] = ()
    runs: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if len(self.name) > LONGEST_NAME:
            raise ValueError(f"name: {len(self.name)} characters are more than {LONGEST_NAME}")
        self._decode("traces", StudyTrace)
        self._decode("clusters", StudyCluster)
        for axis in (*_CHOICES, "seeds"):
            sequence_of(getattr(self, axis), axis)
        for position, seed in enumerate(self.seeds):
            if not 0 <= seed <= _MOST_SEED:
                raise ValueError(f"{seed} must lie in 0..{_MOST_SEED} - at `$.seeds[{position}]`")
        if len({*self.seeds}) < len(self.seeds):
            raise ValueError(f"seeds: one is listed twice in {list(self.seeds)}")
        RunWindow.of(self.warm_up_s, self.tail_s)
        if self.max_intervals is not None and self.max_intervals < 1:
            raise ValueError(f"max_intervals: {self.max_intervals} must be at least 1")
        self._check_metrics()

    def _decode(self, field: str, kind: type[msgspec.Struct]) -> None:
        """Make the entries of a field records; an object of Python becomes one that holds it."""
        entries = sequence_of(getattr(self, field), field)
        role = field.removesuffix("s")
        made = tuple(
            part_of(
                entry if isinstance(entry, Mapping | msgspec.Struct) and not _is_cluster(entry)
                else {role: entry},
                kind,
                f"{field}[{position}]",
            )
            for position, entry in enumerate(entries)
        )  # fmt: skip
        msgspec.structs.force_setattr(self, field, made)

    def _check_metrics(self) -> None:
        if not self.metrics:
            return
        from gpusched.results.metric_registry import metrics

        known = metrics()
        for position, key in enumerate(self.metrics):
            if key not in known:
                hint = nearest(key, list(known))
                raise ValueError(f"unknown metric {key!r}{hint} - at `$.metrics[{position}]`")


def _is_cluster(entry: Any) -> bool:
    from gpusched.clusters.cluster import Cluster

    return isinstance(entry, Cluster)
