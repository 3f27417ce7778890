"""A run of any name that is saved goes on to the same digest in another process."""

import random
from pathlib import Path

import pytest

from gpusched.base.run_warning import unwarned
from tests.campaigns.saved_runs import Case, cases, resumed, saved
from tests.each import each

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
def test_every_name(case, digests):
    found, expected = digests[case]
    assert found == expected
