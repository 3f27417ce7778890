"""What two other simulators computed for one trace, job for job: the same rules, the same jobs."""

import csv
from collections.abc import Callable
from typing import Any

import pytest

from gpusched.reference import Job, Outcome, replay
from tests.unit.real_data import DATA, needs_real_data

SECOND = 1_000_000
SERVERS = [(8, "gpu")] * 8
PEERS = DATA / "peers"

Engine = Callable[..., Outcome]

LUCID = {"restart": "work", "cost_s": 40.0, "wide_cost_s": 60.0, "overrun_s": 1.0}
"""What a preemption, and the end of a job, cost in that program."""

SAME_RULES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "tiresias_fifo_count": ("fifo", "count", {}),
    "tiresias_srtf_count": ("srtf", "count", {}),
    "tiresias_las_count": ("2d-las", "count", {"preset": "tiresias-artefact"}),
    "lucid_fifo_consolidate": ("fifo", "consolidated", {}),
    "lucid_sjf_consolidate": ("sjf", "consolidated", {"scan": "strict"}),
    "lucid_qssf_consolidate": ("qssf", "consolidated", {}),
    "lucid_srtf_consolidate": (
        "srtf",
        "consolidated",
        {"epoch": "period", "period_s": 1.0, "quota": "hold"} | LUCID,
    ),
    "lucid_tiresias_consolidate": ("2d-las", "consolidated", {"preset": "lucid"}),
}
"""Result -> our policy, placement and parameters that follow the same rules."""

OF_REFERENCE = [
    name for name in SAME_RULES if name not in ("lucid_srtf_consolidate", "lucid_qssf_consolidate")
]
"""An alias is of the package alone, and a decision a second takes the readable engine too long."""


def core(*arguments: Any, **options: Any) -> Outcome:
    """Run the core, imported on first use."""
    from tests.parity.core import run_core

    return run_core(*arguments, **options)


def rows(name: str, *columns: str) -> list[tuple[int, ...]]:
    """Read integer columns of one of the files."""
    with (PEERS / f"{name}.csv").open(newline="") as file:
        return [tuple(int(row[column]) for column in columns) for row in csv.DictReader(file)]


def peer_jobs() -> list[Job]:
    """Read the trace."""
    columns = rows("trace", "submit_s", "duration_s", "gpus")
    return [Job(submit * SECOND, service * SECOND, gpus) for submit, service, gpus in columns]


def in_seconds(outcome: Outcome) -> list[tuple[float, float, int]]:
    """Return start, finish and preemptions of each job."""
    columns = zip(outcome.start_us, outcome.finish_us, outcome.preemptions, strict=True)
    return [(start / SECOND, finish / SECOND, count) for start, finish, count in columns]


def assert_agrees(name: str, engine: Engine) -> None:
    """Compare start, finish and preemptions of every job."""
    policy, placement, params = SAME_RULES[name]
    outcome = engine(peer_jobs(), SERVERS, policy, placement, policy_params=params)
    assert in_seconds(outcome) == rows(name, "start_s", "finish_s", "preemptions")


@needs_real_data
@pytest.mark.parametrize("name", SAME_RULES)
def test_the_core_agrees_with_a_peer_job_for_job(name):
    assert_agrees(name, core)


@needs_real_data
@pytest.mark.parametrize("name", OF_REFERENCE)
def test_the_reference_agrees_with_a_peer_job_for_job(name):
    assert_agrees(name, replay)


@pytest.mark.parametrize("engine", [replay, core], ids=["reference", "core"])
def test_easy_honours_the_reservation_of_the_head(engine):
    jobs = [
        Job(0, 100 * SECOND, 1),
        Job(1 * SECOND, 50 * SECOND, 2),
        Job(2 * SECOND, 1000 * SECOND, 1),
    ]
    for placement in ("count", "consolidated", "first-fit"):
        outcome = engine(jobs, [(2, "gpu")], "easy", placement)
        assert outcome.start_us == [0, 100 * SECOND, 150 * SECOND]
        assert outcome.finish_us == [100 * SECOND, 150 * SECOND, 1150 * SECOND]
