"""Every paper says what it is, lists what it would run, and begins with what it listed."""

import json

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app
from gpusched_papers.registry import Paper, known_papers, register_paper
from gpusched_papers.study import Interrupted
from tests.each import each

PAPERS = known_papers()
every_paper = pytest.mark.parametrize("name", sorted(PAPERS))


@pytest.fixture(params=["with the data", "without data"], autouse=True)
def _data(request, monkeypatch):
    if request.param == "without data":
        monkeypatch.setenv("GPUSCHED_DATA", "/nowhere")


def test_the_papers_are_there():
    assert set(PAPERS) >= {"a-srpt", "dancer", "fgd", "matching", "sjf-bco"}


@every_paper
def test_a_paper_says_what_it_is(name):
    paper = PAPERS[name]
    assert paper.title
    assert paper.authors in paper.source
    assert paper.venue in paper.source
    assert paper.summary.endswith(".")
    assert all(paper.reproduces)
    assert paper.options[:2] == ("seeds", "quick")


@every_paper
def test_a_paper_lists_its_stages(name):
    paper = PAPERS[name]
    for quick in (True, False):
        stages = paper.stages(seeds=2, quick=quick)
        assert stages
        assert all(parts > 0 for parts in stages.values())
    if paper.has_exact:
        more = paper.stages(seeds=2, quick=True, exact=True)
        assert set(more) > set(paper.stages(seeds=2, quick=True))
    else:
        with pytest.raises(ValueError, match=f"exact: {name} has no part with an exact optimum"):
            paper.stages(seeds=2, exact=True)
    with pytest.raises(ValueError, match="seeds: 1 must be at least 2"):
        paper.stages(seeds=1)


@every_paper
def test_a_run_begins_with_a_stage_that_was_listed(name):
    paper = PAPERS[name]
    announced: list[tuple[str, int, int]] = []

    def progress(told: gs.Progress) -> None:
        announced.append((told.part, told.done, told.total))
        raise KeyboardInterrupt

    with pytest.raises((Interrupted, ValueError)) as stopped:
        paper.reproduce(seeds=2, quick=True, progress=progress)
    if not isinstance(stopped.value, Interrupted):
        assert "GPUSCHED_DATA" in str(stopped.value)
        return
    assert stopped.value.reproduction is None
    ((stage, done, total),) = announced
    assert done == 0
    assert paper.stages(seeds=2, quick=True)[stage] == total


@every_paper
def test_the_command_lists_a_paper_and_what_it_would_run(name):
    listed = json.loads(CliRunner().invoke(app, ["reproduce", "--json"]).stdout)
    assert name in [paper["name"] for paper in listed["papers"]]
    ran = CliRunner().invoke(app, ["reproduce", name, "--quick", "--dry-run", "--json"])
    assert ran.exit_code == 0, ran.stderr
    assert json.loads(ran.stdout)["stages"] == PAPERS[name].stages(
        seeds=min(4, PAPERS[name].seeds), quick=True
    )
    shown = CliRunner().invoke(app, ["reproduce", name, "--quick", "--dry-run"]).stdout
    assert all(what in " ".join(shown.split()) for what in PAPERS[name].reproduces)


@each(
    ("field", "value", "message"),
    [
        ("title", "", "title must not be empty"),
        ("summary", " ", "summary must not be empty"),
        ("reproduces", (), "reproduces must name"),
        ("seeds", 1, "seeds: 1 must be at least 2"),
        ("name", "fgd", "the name 'fgd' is taken"),
        ("name", "all", "the word stands for all papers"),
    ],
)
def test_a_wrong_registration_is_refused(field, value, message):
    fields: dict[str, object] = {
        "name": "another", "title": "A", "authors": "B", "venue": "C 2026", "summary": "D.",
        "reproduces": ("figure 1",), "module": "nowhere",
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        register_paper(Paper(**{**fields, field: value}))  # type: ignore[arg-type]
