"""A run of any name that is saved goes on to the same digest in another process."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from gpusched.base.run_warning import unwarned
from tests.campaigns.saved_runs import Case, cases, resumed, saved

CUTS = 2
CASES = cases()


@pytest.fixture(scope="module")
def digests(tmp_path_factory: pytest.TempPathFactory) -> dict[Case, list[tuple[str, str]]]:
    """Of each case at some cuts: what it comes to here, and what in another process."""
    folder: Path = tmp_path_factory.mktemp("runs")
    expected: dict[Path, tuple[Case, str]] = {}
    with unwarned():
        for number, case in enumerate(CASES):
            for cut in range(CUTS):
                path = folder / f"{number}-{cut}.run"
                expected[path] = case, saved(case, path, random.Random(f"{case}/{cut}"))
    found = resumed(expected)
    pairs: dict[Case, list[tuple[str, str]]] = {case: [] for case in CASES}
    for path, (case, digest) in expected.items():
        pairs[case].append((found[str(path)], digest))
    return pairs


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(str(part) for part in case))
def test_every_name(case: Case, digests: dict[Case, list[tuple[str, str]]]) -> None:
    assert len(digests[case]) == CUTS
    for found, expected in digests[case]:
        assert found == expected
