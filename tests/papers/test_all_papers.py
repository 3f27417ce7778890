"""All papers on one page: what is done is kept, and what fails is told."""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from gpusched.base.failures import Failures
from gpusched.base.tables import Table
from gpusched.cli import app
from gpusched.studies.calls import Outcome
from gpusched.studies.kept_runs import KeptRuns
from gpusched_papers import all_papers
from gpusched_papers.all_papers import Part, forget_all, page, reproduce_all
from gpusched_papers.claims import Claim, Comparison, beside, compare
from gpusched_papers.registry import Paper, known_papers
from gpusched_papers.study import Interrupted, Progress, run_stage

CLAIM = Claim("jct", "mean JCT", "Table 1", "text", 12.0, unit="s", better="lower")
ran: list[str] = []


class Study:
    """Stands for a reproduction."""

    def tables(self) -> list[Table]:
        return []

    def to_dict(self) -> dict[str, object]:
        return {}

    def write(self, folder: Path) -> list[Path]:
        return []


class JudgedStudy(Study):
    def comparisons(self) -> list[Comparison]:
        lacking = Claim("tail", "tail", "abstract", "second-hand", lacks="No figure is given.")
        return [compare(CLAIM, [10.0, 11.0, 14.0]), beside(lacking)]


def stages(*, seeds: int, quick: bool, exact: bool) -> dict[str, int]:
    return {"runs": seeds}


def reproduce(**_: object) -> Study:
    ran.append("judged")
    return JudgedStudy()


@pytest.fixture(autouse=True)
def papers(monkeypatch):
    """Two papers: one that can be run, and one whose module is not there."""
    ran.clear()
    about = {"title": "T", "authors": "A", "venue": "V 2026", "summary": "S."}
    known = {
        "fine": Paper("fine", **about, reproduces=("table 1",), module=__name__),
        "lost": Paper("lost", **about, reproduces=("table 2",), module="gpusched.nowhere"),
    }
    monkeypatch.setattr(all_papers, "known_papers", lambda: known)
    return known


def test_a_paper_that_fails_stops_no_other(papers):
    fine, lost = reproduce_all(seeds=2)
    assert [row.verdict for row in fine.rows] == ["reproduced", "not comparable"]
    assert fine.command == "gpusched reproduce fine --seeds 2"
    assert lost.rows == []
    assert "gpusched.nowhere" in lost.left_out


def test_what_is_done_is_kept_and_what_failed_is_tried_again(papers, tmp_path):
    first = reproduce_all(seeds=2, keep=tmp_path)
    assert ran == ["judged"]
    assert reproduce_all(seeds=2, keep=tmp_path)[0] == first[0]
    assert ran == ["judged"]
    assert reproduce_all(seeds=3, keep=tmp_path)[0].rows == first[0].rows  # another question
    assert ran == ["judged", "judged"]
    forget_all(tmp_path)
    reproduce_all(seeds=2, keep=tmp_path)
    assert len(ran) == 3


def square(number: int) -> int:
    return number**2


def test_seconds_are_those_of_all_parts_whichever_call_ran_them(papers, monkeypatch, tmp_path):
    def staged(*, seeds: int, progress: Progress, **_: object) -> Study:
        tasks = [(seed,) for seed in range(seeds)]
        squares = run_stage("s", square, tasks, progress, Failures(), name=str)
        assert sorted(made for _, made in squares) == [seed**2 for seed in range(seeds)]
        return JudgedStudy()

    actual = KeptRuns.keep

    def kept_with_seconds(self: KeptRuns, run: Any, task: Any, outcome: Outcome) -> None:
        actual(self, run, task, dataclasses.replace(outcome, processor_s=1.5))

    monkeypatch.setattr(KeptRuns, "keep", kept_with_seconds)
    monkeypatch.setattr(sys.modules[__name__], "reproduce", staged)
    papers["fine"].reproduce(seeds=2, keep=tmp_path / "fine", executor="threads:1")
    fine, _ = reproduce_all(seeds=3, keep=tmp_path, executor="threads:1")
    assert fine.stages["s"].parts == 3
    assert 3.0 <= fine.processor_s < 4.0
    assert f"| fine | s | 3 | {fine.processor_s:.0f} |" in page([fine], "c")


def test_ctrl_c_leaves_what_was_done(papers, monkeypatch, tmp_path):
    def stop(name: str, *rest: object, **more: object) -> Part:
        if name == "lost":
            raise Interrupted(None)
        return Part(name, "T", "A", "c", {}, [])

    stop.__annotations__["return"] = Part
    stop.__module__ = __name__
    monkeypatch.setattr(all_papers, "run", stop)
    with pytest.raises(Interrupted):
        reproduce_all(seeds=2, keep=tmp_path)
    assert any((tmp_path / "done").iterdir())


def test_the_page_tells_verdicts_commands_seconds_and_what_is_lacking():
    fine, lost = reproduce_all(seeds=2)
    text = page([fine, lost], "gpusched reproduce all --seeds 2")
    assert "`gpusched reproduce all --seeds 2`" in text
    assert "| fine | 1 | 0 | 0 | 1 | `gpusched reproduce fine --seeds 2` | 0 |" in text
    assert "| mean JCT, Table 1 | 12 s | text | 12 ± 5 s |" in text
    assert "lost is left out: " in text
    assert "(1) No figure is given." in text
    for word in ("text", "abstract", "artefact", "second-hand", "derived"):
        assert f"- *{word}*: " in text


def test_the_command_writes_the_page(tmp_path, monkeypatch):
    out = tmp_path / "out"
    ended = CliRunner().invoke(app, ["reproduce", "all", "--seeds", "2", "--out", str(out)])
    assert ended.exit_code == 1  # one is left out
    assert "gpusched reproduce fine" in ended.stdout
    assert "| fine | 1 | 0 | 0 | 1 |" in (out / "reproductions.md").read_text("utf-8")
    plain = CliRunner().invoke(app, ["reproduce", "all", "--quick", "--json"])
    fine, lost = json.loads(plain.stdout)["parts"]
    assert fine["rows"][0]["verdict"] == "reproduced"
    assert fine["command"] == "gpusched reproduce fine --quick --seeds 4"
    assert lost["left_out"]


def test_the_command_lists_what_all_would_run():
    shown = CliRunner().invoke(app, ["reproduce", "all", "--quick", "--dry-run", "--json"])
    assert shown.exit_code == 0, shown.stderr
    assert set(json.loads(shown.stdout)["papers"]) == set(known_papers())
