"""What the search sees, and what it never sees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.plan import expand
from gpusched.studies.windows import windows_of
from tests.each import each
from tests.unit.studies.searches import study

SHARES = (1 / 9, 1 / 3, 1.0)


def jobs_of_trace(entry: Any) -> list[int]:
    return [int(row) for row in entry.trace.row]


def test_of_a_trace_the_later_part_is_held_out():
    trace = gs.generate("philly", 200, seed=3)
    read = gs.Study.of(study(traces=[{"trace": trace, "loads": [0.7, 0.9]}]))
    cut = windows_of(read, SHARES, 0.45, [7, 8, 9])
    seen = [jobs_of_trace(rung.traces[0]) for rung in cut.rungs]
    held_out = [jobs_of_trace(part) for part in cut.held_out.traces]
    rows = [int(row) for row in trace.row]
    assert seen == [rows[:10], rows[:30], rows[:90]]
    assert [row for part in held_out for row in part] == rows[90:]
    assert [len(part) for part in held_out] == [37, 36, 37]
    assert all(rung.traces[0].loads == (0.7, 0.9) for rung in cut.rungs)
    assert all(part.trace.submit_us[0] == 0 for part in cut.held_out.traces)
    # Each window is run with a seed of its own, so that it makes a pair of its own.
    runs = [expand(cut.held_out).labels(run) for run in expand(cut.held_out).runs]
    assert sorted({(run["trace"], run["seed"]) for run in runs}) == [
        (f"{trace.name}, held out {number}", seed) for number, seed in ((1, 7), (2, 8), (3, 9))
    ]
    assert {cut.titles[run["trace"]] for run in runs} == {trace.name}


def test_of_generated_jobs_other_seeds_are_held_out():
    cut = windows_of(gs.Study.of(study()), SHARES, 0.5, [3, 4, 5, 6])
    assert [rung.traces[0].jobs for rung in cut.rungs] == [10, 30, 90]
    assert {rung.seeds for rung in cut.rungs} == {(1, 2)}
    assert cut.held_out.seeds == (3, 4, 5, 6)
    assert cut.held_out.traces[0].jobs == 90
    seen = {run.recipe.name for rung in cut.rungs for run in expand(rung).runs}
    assert not seen & {run.recipe.name for run in expand(cut.held_out).runs}
    assert cut.notes == (
        "philly: searched with seeds 1, 2 in windows of 10, 30 and 90 jobs; held out: seeds 3 to "
        "6, 90 jobs each",
    )


def test_windows_and_numbers_of_jobs_are_cut_one_by_one(tmp_path):
    rows = "".join(f"{second},60,1\n" for second in range(100))
    (tmp_path / "t.csv").write_text("submit_s,service_s,gpus\n" + rows)
    entry = {
        "file": str(tmp_path / "t.csv"),
        "windows": [{"from": 0, "to": 40, "label": "a"}, {"from": 50, "label": "b"}],
    }
    cut = windows_of(gs.Study.of(study(traces=[entry])), (1.0,), 0.5, [5, 6])
    assert [part.title for part in cut.rungs[0].traces] == ["t.csv a", "t.csv b"]
    first = [jobs_of_trace(part) for part in cut.rungs[0].traces]
    assert [len(rows) for rows in first] == [20, 25]
    held_out = [jobs_of_trace(part) for part in cut.held_out.traces]
    assert [len(rows) for rows in held_out] == [10, 10, 12, 13] or sum(map(len, held_out)) == 45
    every = np.concatenate([*map(np.array, first), *map(np.array, held_out)])
    assert len(np.unique(every)) == len(every) == 90


@each(
    ("changes", "seeds", "message"),
    [
        ({"zip": [["traces", "seeds"]]}, [5], "all its axes crossed - at `\\$.zip`"),
        ({"runs": [{"seed": 1}]}, [5], "all its axes crossed - at `\\$.runs`"),
        (
            {"parameters": [{"option": "scan", "policy": "fifo", "values": ["skip"]}]},
            [5],
            "in the space that is searched - at `\\$.parameters\\[0\\]`",
        ),
        ({}, [2, 3], "held_out: seed 2 is of the search"),
        ({}, [3, 3], "held_out: seed 3 is listed twice"),
        ({}, [], "held_out: at least one is needed"),
        (
            {"traces": [{"trace": gs.generate("philly", 8, seed=3)}]},
            [3, 4, 5, 6, 7],
            "of its 8 jobs 4 would be searched and 4 be left for 5 held-out windows: too few",
        ),
    ],
)
def test_what_cannot_be_cut_is_said(changes, seeds, message):
    with pytest.raises(ValueError, match=message):
        windows_of(gs.Study.of(study(**changes)), SHARES, 0.5, seeds)


def test_seeds_that_decide_nothing_are_as_the_study_says():
    trace = gs.generate("philly", 60, seed=3)
    cut = windows_of(gs.Study.of(study(traces=[{"trace": trace}])), (1.0,), 0.5, [5])
    assert [part.title for part in cut.held_out.traces] == [trace.name]
    assert [run.seed for run in expand(cut.held_out).runs] == [5]
