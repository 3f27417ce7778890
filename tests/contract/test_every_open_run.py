"""A run in parts, a fork and a saved run that goes on elsewhere are the run: every name."""

import random
from pathlib import Path
from typing import Any

import pytest

import gpusched as gs
from gpusched.base.run_warning import unwarned
from tests.campaigns.saved_runs import Case, cases, resumed, saved
from tests.contract.runs import CLUSTER, NETWORKED, NETWORKED_CLUSTER, POOLED, TYPED, URGENT
from tests.each import each
from tests.golden import workload as golden

POLICIES, PLACEMENTS = list(gs.policies()), list(gs.placements())
SPEEDS = [name for name, info in gs.speeds().items() if "steady" not in info.flags]
LAWS = ("repeats", "stepped", "in-parts", "forks", "forks-apart", "sound-states")


def check(policy: str, placement: str = "consolidated", **options: Any) -> None:
    """On the golden workload, as ``runs.run`` simulates it."""
    workload, speed = golden.fitting(policy)
    options = {"speed": speed, "on": (TYPED[workload], CLUSTER)} | options
    if "pooled" in gs.placements()[placement].flags:
        options |= {"on": (POOLED[workload], CLUSTER), "speed": "fixed"}
    gs.testing.check_policy(policy, placement=placement, laws=LAWS, **options)


@each("policy", POLICIES)
def test_every_policy(policy):
    check(policy)


@each("placement", PLACEMENTS)
@each("policy", ["fifo", "srtf", "easy"])
def test_every_placement(policy, placement):
    check(policy, placement)


@each("contention", gs.contentions())
@each("speed", SPEEDS)
def test_every_speed_and_contention(speed, contention):
    gs.testing.check_speed(
        speed, contention=contention, policy="srtf", placement="spread", laws=LAWS,
        on=(NETWORKED, NETWORKED_CLUSTER),
    )  # fmt: skip


@each("policy", ["dancer", "elasticflow", "chronus", "optimus", "matching"])
def test_elastic_policies_with_links(policy):
    check(policy, speed="table", on=(URGENT, NETWORKED_CLUSTER))


CASES = cases()


@pytest.fixture(scope="module")
def digests(tmp_path_factory):
    """Of each case, cut somewhere: what it comes to in another process, and what here."""
    folder: Path = tmp_path_factory.mktemp("runs")
    expected: dict[Path, tuple[Case, str]] = {}
    with unwarned():
        for number, case in enumerate(CASES):
            path = folder / f"{number}.run"
            expected[path] = case, saved(case, path, random.Random(f"{case}"))
    found = resumed(expected)
    return {case: (found[str(path)], digest) for path, (case, digest) in expected.items()}


@each("case", CASES)
def test_a_saved_run_goes_on_to_the_same_digest_in_another_process(case, digests):
    found, expected = digests[case]
    assert found == expected
