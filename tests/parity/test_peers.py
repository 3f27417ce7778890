"""What two other simulators computed for one trace, job for job."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from tests.reference import Job, Outcome, replay
from tests.unit.real_data import DATA, needs_real_data

SECOND = 1_000_000
SERVERS = [(8, "gpu")] * 8
PEERS = DATA / "peers"

Engine = Callable[..., Outcome]

SAME_RULES = {
    "tiresias_fifo_count": ("fifo", "count", {}),
    "tiresias_srtf_count": ("srtf", "count", {}),
    "lucid_fifo_consolidate": ("fifo", "consolidated", {}),
    "lucid_sjf_consolidate": ("sjf", "consolidated", {"scan": "strict"}),
}
"""Result -> our policy, placement and parameters that follow the same rules."""

LIKE_RULES: dict[str, tuple[str, str, dict[str, Any], int]] = {
    "tiresias_las_count": ("2d-las", "count", {"limits": [3250, 7200, 18000]}, 0),
    "lucid_qssf_consolidate": ("swf", "consolidated", {"scan": "strict"}, 0),
    "lucid_tiresias_consolidate": ("2d-las", "consolidated", {"preset": "lucid"}, 1),
    "lucid_srtf_consolidate": (
        "srtf",
        "consolidated",
        {
            "epoch": "period",
            "period_s": 1.0,
            "quota": "hold",
            "restart": "work",
            "cost_s": 40.0,
            "wide_cost_s": 60.0,
        },
        1,
    ),
}
"""Result -> the nearest of ours, and the seconds by which the peer's jobs end late."""


def core(*arguments: Any, **options: Any) -> Outcome:
    """Run the core, imported on first use."""
    from tests.parity.core import run_core

    return run_core(*arguments, **options)


ENGINES = pytest.mark.parametrize("engine", [replay, core], ids=["reference", "core"])


def rows(name: str, *columns: str) -> list[tuple[int, ...]]:
    """Read integer columns of one of the files."""
    with (PEERS / f"{name}.csv").open(newline="") as file:
        return [tuple(int(row[column]) for column in columns) for row in csv.DictReader(file)]


def peer_jobs() -> list[Job]:
    """Read the trace."""
    columns = rows("trace", "submit_s", "duration_s", "gpus")
    return [Job(submit * SECOND, service * SECOND, gpus) for submit, service, gpus in columns]


def in_seconds(outcome: Outcome, late: int = 0) -> Iterable[tuple[float, float, int]]:
    """Return start, finish (plus ``late``) and preemptions of each job."""
    for start, finish, preemptions in zip(
        outcome.start_us, outcome.finish_us, outcome.preemptions, strict=True
    ):
        yield start / SECOND, finish / SECOND + late, preemptions


@needs_real_data
@ENGINES
@pytest.mark.parametrize("name", SAME_RULES)
def test_a_peer_with_the_same_rules_agrees_job_for_job(name: str, engine: Engine) -> None:
    policy, placement, params = SAME_RULES[name]
    outcome = engine(peer_jobs(), SERVERS, policy, placement, policy_params=params)
    assert list(in_seconds(outcome)) == rows(name, "start_s", "finish_s", "preemptions")


@needs_real_data
@pytest.mark.parametrize("name", LIKE_RULES)
def test_agreement_with_a_peer_of_other_rules_is_reported(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    policy, placement, params, late = LIKE_RULES[name]
    outcome = core(peer_jobs(), SERVERS, policy, placement, policy_params=params)
    theirs = rows(name, "start_s", "finish_s", "preemptions")
    pairs = list(zip(in_seconds(outcome, late), theirs, strict=True))
    agreeing = sum(ours == peer for ours, peer in pairs)
    record_property("agreeing_jobs", agreeing)
    print(f"{name}: {agreeing} of {len(pairs)} jobs agree with {policy}")
    assert set(outcome.status) == {0}


@ENGINES
def test_easy_honours_the_reservation_of_the_head(engine: Engine) -> None:
    jobs = [
        Job(0, 100 * SECOND, 1),
        Job(1 * SECOND, 50 * SECOND, 2),
        Job(2 * SECOND, 1000 * SECOND, 1),
    ]
    for placement in ("count", "consolidated", "first-fit"):
        outcome = engine(jobs, [(2, "gpu")], "easy", placement)
        assert outcome.start_us == [0, 100 * SECOND, 150 * SECOND]
        assert outcome.finish_us == [100 * SECOND, 150 * SECOND, 1150 * SECOND]
