"""What the policies are ranked on: eight windows of real traces, four generated workloads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpusched.base.real_data import find_data

GPUS: Final = 8
RESTART_S: Final = 60.0
"""What each resume costs each job, whatever the policy."""
NUM_GENERATED: Final = 1_000
GENERATED_LOAD: Final = 0.9
_WEEK_S: Final = 7 * 86_400


@dataclass(frozen=True)
class Workload:
    """Jobs, and the cluster that they run on.

    Attributes
    ----------
    name
        In tables.
    jobs
        The fields of the study's trace.
    servers
        Of 8 GPUs each. Of a window of a real trace: the fewest at which jobs wait an hour or less
        on average under `fifo-skip`, as the publishers' clusters are not known.
    is_drawn
        Whether a seed decides the jobs.
    predictor
        What a policy that asks for services gets where it is to be deployed: of jobs that name
        their users the mean of the user and group, else a forest.
    """

    name: str
    jobs: dict[str, Any]
    servers: int
    is_drawn: bool
    predictor: str


def _itp(number: str, servers: int) -> tuple[str, str, dict[str, Any], int]:
    return f"ITP {number}", f"itp/cluster{number}.csv", {}, servers


def _philly(week: int, servers: int) -> tuple[str, str, dict[str, Any], int]:
    window = {"from": float(week * _WEEK_S), "to": float((week + 1) * _WEEK_S)}
    return f"Philly week {week + 1}", "philly/philly.csv", {"windows": [window]}, servers


_WINDOWS: Final = (
    _itp("01", 16), _itp("02", 22), _itp("03", 53), _itp("06", 29),
    _philly(3, 58), _philly(4, 42), _philly(6, 35), _philly(7, 48),
)  # fmt: skip
_GENERATED: Final = {"philly": 16, "helios": 16, "itp": 16, "pai": 16}
FOREST: Final = "forest:refit_jobs=1000,trees=20"


def generated() -> list[Workload]:
    """Return the generated workloads, whose jobs follow from the seed."""
    return [
        Workload(
            f"{profile} (drawn)",
            {"generate": profile, "jobs": NUM_GENERATED, "loads": [GENERATED_LOAD]},
            servers,
            is_drawn=True,
            predictor="group-mean",
        )
        for profile, servers in _GENERATED.items()
    ]


def windows() -> tuple[list[Workload], list[str]]:
    """Return the windows of real traces that are there, and the names of those that are not."""
    there, missing = [], []
    for name, file, fields, servers in _WINDOWS:
        path: Path | None = find_data(file)
        if path is None:
            missing.append(name)
        else:
            jobs = {"file": str(path), **fields}
            there.append(Workload(name, jobs, servers, is_drawn=False, predictor=FOREST))
    return there, missing
