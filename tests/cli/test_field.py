"""``gpusched field`` on two small workloads: tables, a page, and runs that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusched import field
from gpusched.field import Workload


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [
        Workload(
            profile,
            {"generate": profile, "jobs": 12, "loads": [3.0]},
            2,
            is_drawn=True,
            predictor="group-mean",
        )
        for profile in ("helios", "philly")
    ]
    monkeypatch.setattr(field, "generated", lambda: few)
    monkeypatch.setattr(field, "windows", lambda: ([], ["ITP 01"]))


def test_policies_are_ranked_and_the_page_says_what_is_missing(gpusched, tmp_path: Path) -> None:
    result = gpusched("field", "--only", "fifo", "--only", "sjf", "--seeds", 2)
    assert result.exit_code == 0, result.stderr
    assert "fifo" in result.stdout
    assert "clairvoyant" in result.stdout
    assert "left out, as the data are not there: ITP 01" in result.stderr
    assert f"wrote {Path('field') / 'field.md'}" in result.stderr
    page = (tmp_path / "field" / "field.md").read_text()
    assert "`gpusched field --only fifo --only sjf --seeds 2`" in page


def test_an_interrupted_field_says_what_is_kept(gpusched, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gpusched.cli.field.state_of_the_field", interrupted)
    result = gpusched("field", "--only", "fifo")
    assert result.exit_code == 130
    assert "kept what was finished in field: the same command goes on from there" in result.stderr
