"""Finished runs of a paper's study are kept, and taken by the next one."""

from typing import Any

import pytest
from typer.testing import CliRunner

from gpusched.cli import app
from gpusched.studies.calls import Outcome
from gpusched.studies.kept_runs import KeptRuns, num_kept
from gpusched_papers import registry as papers

pytestmark = pytest.mark.long


@pytest.mark.parametrize("name", sorted(papers.known_papers()))
def test_every_paper_keeps_its_runs(name, tmp_path):
    """What a second call takes gives the same tables."""
    paper = papers.paper(name)
    try:
        first = paper.reproduce(seeds=2, quick=True, keep=tmp_path)
    except ValueError as error:
        pytest.skip(str(error))
    kept = num_kept(tmp_path)
    assert kept >= 2
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = paper.reproduce(seeds=2, quick=True, keep=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    assert repr(again.tables()) == repr(first.tables())


def test_an_interrupted_reproduction_shows_what_is_done_and_goes_on(tmp_path, monkeypatch):
    actual, runs = KeptRuns.keep, []

    def stopped(self: KeptRuns, run: Any, task: tuple[Any, ...], made: Outcome) -> None:
        if task[0] == 3:
            raise KeyboardInterrupt
        actual(self, run, task, made)

    def counted(self: KeptRuns, run: Any, task: tuple[Any, ...], made: Outcome) -> None:
        runs.append(task[0])
        actual(self, run, task, made)

    command = ["reproduce", "sjf-bco", "--quick", "--seeds", "4", "--processes", "1"]
    command += ["--out", str(tmp_path / "out")]
    monkeypatch.setattr(KeptRuns, "keep", stopped)
    cut = CliRunner().invoke(app, command)
    assert cut.exit_code == 130
    assert "SJF-BCO" in cut.stdout
    kept = num_kept(tmp_path / "out" / "unfinished")
    assert kept > 0
    assert f"saved {kept} finished runs in {tmp_path / 'out' / 'unfinished'}" in cut.stderr

    monkeypatch.setattr(KeptRuns, "keep", counted)
    whole = CliRunner().invoke(app, command)
    assert whole.exit_code == 0, whole.stderr
    assert f"resuming from {kept} finished runs" in whole.stderr
    assert set(runs) == {3}
    assert (tmp_path / "out" / "tables.md").exists()
    assert not (tmp_path / "out" / "unfinished").exists()
