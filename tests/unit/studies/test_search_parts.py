"""What a search is made of: its space, its windows, and what speaks against its best policy."""

import tomllib
from typing import Any

import numpy as np
import polars as pl
import pytest

import gpusched as gs
from gpusched.studies.plan import expand
from gpusched.studies.space import Choices, PolicySpace, Range
from gpusched.studies.tune import Candidate, compared, is_certain, replicates, verdicts
from gpusched.studies.windows import windows_of
from tests.each import each
from tests.unit.studies.studies import study, tuned

TOML = """
[[space]]
policy = "2d-las"
scan = "strict"
limits = [[3250, 7200], 60]
promote = { low = 1, high = 100, log = true }
quota = ["free", "hold"]

[[space]]
policy = "a-srpt:fill=most-free"
label = "ours"
tune = ["tau", "wait", "idle"]

[[space]]
policy = "fifo"
"""


def test_a_file_and_its_dict_are_one_space(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML)
    read = PolicySpace.of(path)
    assert PolicySpace.of(str(path)) == read
    assert [one.label for one in read.policies] == ["2d-las:scan=strict", "ours", "fifo"]
    first, second, third = read.policies
    assert first.fixed == gs.Policy("2d-las", scan="strict")
    assert first.options == {
        "limits": Choices(((3250.0, 7200.0), (60.0,))),
        "promote": Range(1, 100, log=True),
        "quota": Choices(("free", "hold")),
    }
    assert second.fixed == gs.Policy("a-srpt", fill="most-free")
    assert second.options == {
        "tau": Range(1 / 16, 16, log=True),
        "wait": Choices(("work", "loss")),
        "idle": Choices((False, True)),
    }
    assert third.options == {}
    entries = [*tomllib.loads(TOML)["space"][:2], "fifo"]
    entries[1] |= {"policy": gs.Policy("a-srpt", fill="most-free")}
    assert PolicySpace.of(entries) == PolicySpace.of({"space": entries}) == read


def test_integers_stay_integers():
    one = PolicySpace.of({"policy": "matching", "focus": {"low": 1, "high": 8}, "tune": ["draws"]})
    assert one.policies[0].options == {
        "focus": Range(1, 8, is_integer=True),
        "draws": Range(4, 944, log=True, is_integer=True),
    }


def test_registered_limits_that_are_near_are_the_range():
    one = PolicySpace.of({"policy": "matching", "tune": ["beta", "focus"]})
    assert one.policies[0].options == {"beta": Range(0, 1), "focus": Range(0, 16, is_integer=True)}


@each(
    ("space", "message"),
    [
        ("nobody", "unknown policy 'nobody'.* at `\\$.space\\[0\\].policy`"),
        ("fifo", "nothing to choose: fifo"),
        ([], "at least one is needed - at `\\$.space`"),
        ({"spaces": []}, "unknown field `spaces`"),
        ({}, "missing required field `space`"),
        ([{"polcy": "fifo"}], "missing required field `policy` - at `\\$.space\\[0\\]`"),
        ([7], "expected a policy or a table, not 7 - at `\\$.space\\[0\\]`"),
        (["sjf", {"policy": "2d-las", "promot": [1, 2]}],
         "unknown parameter 'promot'.*promote.*\\$.space\\[1\\].promot`"),
        ({"policy": "2d-las", "promote": [1, -2]},
         "promote is -2.*at `\\$.space\\[0\\].promote\\[1\\]`"),
        ({"policy": "2d-las", "promote": {"low": -1, "high": 2}},
         "promote is -1.*at `\\$.space\\[0\\].promote.low`"),
        ({"policy": "2d-las", "promote": {"low": 1, "hihg": 2}}, "unknown field `hihg`.*promote`"),
        ({"policy": "2d-las", "promote": {"low": 2, "high": 1}}, "low: 2 must be below high, 1"),
        ({"policy": "2d-las", "promote": {"low": 0, "high": 1, "log": True}},
         "low: 0 must be positive with log"),
        ({"policy": "2d-las", "promote": {"low": 1, "high": 2, "log": True, "step": 0.5}},
         "step: cannot be combined with log"),
        ({"policy": "2d-las", "period_s": {"low": 0, "high": 1}}, "must be at least 0.001"),
        ({"policy": "matching", "focus": {"low": 0.5, "high": 3}}, "focus: expected an integer"),
        ({"policy": "2d-las", "scan": {"low": 0, "high": 1}}, "scan of 2d-las is unordered"),
        ({"policy": "2d-las", "promote": []}, "at least one value is needed"),
        ({"policy": "2d-las", "promote": [1, 1.0]}, "one value is listed twice"),
        ({"policy": "2d-las", "tune": ["promote"]}, "promote of 2d-las needs a range"),
        ({"policy": "2d-las", "tune": ["limits"]}, "limits of 2d-las needs a range"),
        ({"policy": "2d-las", "tune": "scan"}, "Expected an array, not 'scan'"),
        ({"policy": "2d-las", "scan": ["skip", "strict"], "tune": ["scan"]},
         "scan is given already - at `\\$.space\\[0\\].tune\\[0\\]`"),
        ({"policy": "2d-las:scan=skip", "scan": ["skip", "strict"]},
         "scan has a value in '2d-las:scan=skip' already"),
        (["fifo", "fifo"], "two are called 'fifo'.*\\$.space\\[1\\]`"),
        ({"policy": "fifo", "label": " "}, "must be a non-empty string"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_path(space, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PolicySpace.of(space)


def test_a_file_is_named(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(TOML.replace("quota", "qouta"))
    with pytest.raises(ValueError, match=r"space.toml: .*'qouta'.*\$.space\[0\].qouta"):
        PolicySpace.of(path)
    with pytest.raises(FileNotFoundError):
        PolicySpace.of(tmp_path / "nowhere.toml")


def test_edges_of_ranges_are_told():
    linear, log = Range(0, 10), Range(0.01, 100, log=True)
    assert [linear.edge(value) for value in (0.1, 5.0, 9.9)] == ["low", "", "high"]
    assert [log.edge(value) for value in (0.0101, 0.1, 99.0)] == ["low", "", "high"]


@each(
    ("changes", "message"),
    [
        ({"search_share": 0.0}, "search_share: 0.0 must be above 0 and below 1"),
        ({"search_share": 1.0}, "search_share: 1.0 must be above 0 and below 1"),
        ({"better": "least"}, "better: 'least' must be 'lower' or 'higher'"),
        ({"trials": 0}, "trials: 0 must lie in 1"),
        ({"held_out": 0}, "held_out: 0 must lie in 1"),
        ({"policies": ["fifo", "sjf"], "baseline": "las"}, "'las'"),
        ({"metric": "mean_jct"}, "metric: unknown metric 'mean_jct'; did you mean 'mean_jct_s'"),
        ({"metric": "num_jobs"}, "num_jobs is registered as neither better lower nor higher; set"),
    ],
)
def test_an_argument_out_of_range_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        tuned(**changes)


def test_a_baseline_is_one_of_the_policies_of_the_study():
    found = tuned(policies=["fifo", "sjf"], baseline="sjf", trials=2, held_out=[7])
    assert found.baseline == "sjf"


@each(
    ("given", "message"),
    [
        ({"low": 0, "high": float("inf")}, "high: inf must be finite"),
        ({"low": 1, "high": 2, "step": 3}, "step: 3 must be positive and at most 1"),
        ({"low": 1, "high": 2, "step": 0}, "step: 0 must be positive and at most 1"),
    ],
)
def test_a_range_that_holds_nothing_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Range(**given)


@each(
    ("entry", "message"),
    [
        (
            {"policy": "2d-las", "promote": {"low": 1, "high": 9, "is_integer": True}},
            r"unknown field `is_integer` - at `\$.space\[0\].promote`",
        ),
        ({"policy": "2d-las", "tune": [3]}, "Expected the name of an option, not 3"),
        ({"policy": "2d-las", "label": ""}, "'' must be a non-empty string"),
        ({"policy": "2d-las", "quota": {"low": 1, "high": 2}}, "quota of 2d-las is unordered"),
        ({"policy": "serverfilling-srpt", "tune": ["x"]}, "x"),
    ],
)
def test_an_entry_of_a_space_is_refused_with_its_path(entry, message):
    with pytest.raises(ValueError, match=message):
        PolicySpace.of([entry])


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
        ({"zip": [["traces", "seeds"]]}, [5], "all axes must be crossed to tune it - at `\\$.zip`"),
        ({"runs": [{"seed": 1}]}, [5], "all axes must be crossed to tune it - at `\\$.runs`"),
        ({"parameters": [{"option": "scan", "policy": "fifo", "values": ["skip"]}]}, [5],
         "in the search space, not here - at `\\$.parameters\\[0\\]`"),
        ({}, [2, 3], "held_out: seed 2 is of the search"),
        ({}, [3, 3], "held_out: seed 3 is listed twice"),
        ({}, [], "held_out: at least one is needed"),
        ({"traces": [{"trace": gs.generate("philly", 8, seed=3)}]}, [3, 4, 5, 6, 7],
         "of its 8 jobs 4 would be searched and 4 be left for 5 held-out windows: too few"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_is_said(changes, seeds, message):
    with pytest.raises(ValueError, match=message):
        windows_of(gs.Study.of(study(**changes)), SHARES, 0.5, seeds)


def test_seeds_that_decide_nothing_are_as_the_study_says():
    trace = gs.generate("philly", 60, seed=3)
    cut = windows_of(gs.Study.of(study(traces=[{"trace": trace}])), (1.0,), 0.5, [5])
    assert [part.title for part in cut.held_out.traces] == [trace.name]
    assert [run.seed for run in expand(cut.held_out).runs] == [5]


def runs_of(**values: Any) -> pl.DataFrame:
    rows = [
        {"policy": policy, "seed": seed, "trace": "t", "mean_jct_s": float(value)}
        for policy, own in values.items()
        for seed, value in enumerate(own)
    ]
    return pl.DataFrame(rows)


def judged(best: Any, base: Any, seen: float, better: str = "lower") -> list[str]:
    candidates = [Candidate("best", None, 3, seen * 100), Candidate("base", None, None, 100.0)]
    frame, found = compared(
        runs_of(best=best, base=base), "mean_jct_s", candidates, {},
        baseline="base", better=better, level=0.95,
    )  # fmt: skip
    return verdicts(found, frame, "best")


BASE = 100 + np.arange(10.0)


NOISE = np.resize([1, -1], 10)


@each(
    ("best", "seen", "better", "said"),
    [
        (0.8 * BASE + NOISE, 0.78, "lower", []),
        (1.2 * BASE + NOISE, 1.25, "higher", []),
        (
            1.1 * BASE, 0.8, "lower",
            ["best is not better than base on held-out jobs, it is 10.0% more: the gain in the "
             "search was chance; keep base"],
        ),
        (0.9 * BASE, 1.3, "higher", ["it is 10.0% less: the gain in the search was chance; keep"]),
        (BASE + np.resize([30.0, -32.0], 10), 0.99, "lower", ["it may be chance; keep base"]),
        (
            0.9 * BASE + NOISE, 0.5, "lower",
            ["best: the gain on held-out jobs, 10.0%, is much smaller than in the search, "],
        ),
    ],
)  # fmt: skip
def test_a_gain_that_holds_is_not_spoken_of_and_one_that_does_not_is(best, seen, better, said):
    lines = judged(best, BASE, seen, better)
    assert len(lines) == len(said)
    assert all(part in line for part, line in zip(said, lines, strict=True))


def test_the_baseline_may_be_the_best():
    candidates = [Candidate("base", None, None, 100.0)]
    frame, found = compared(
        runs_of(base=BASE), "mean_jct_s", candidates, {},
        baseline="base", better="lower", level=0.95,
    )  # fmt: skip
    assert verdicts(found, frame, "base") == ["the search found nothing better than base"]


@pytest.mark.parametrize(("num", "gain", "is_told"), [(10, 0.9, True), (5, 0.9, False),
                                                      (10, 0.999, False)])  # fmt: skip
def test_a_gain_is_certain_where_its_whole_interval_is_one(num, gain, is_told):
    candidates = [Candidate("best", None, 3, 90.0), Candidate("base", None, None, 100.0)]
    frame, found = compared(
        runs_of(best=(gain * BASE + NOISE)[:num], base=BASE[:num]), "mean_jct_s", candidates, {},
        baseline="base", better="lower", level=0.95,
    )  # fmt: skip
    assert is_certain(found, frame.row(0, named=True)) == is_told


def test_a_seed_counts_where_all_its_runs_have_a_value():
    runs = pl.DataFrame(
        {
            "policy": ["a"] * 4,
            "seed": [1, 1, 2, 2],
            "trace": ["t 1", "u", "t 2", "u"],
            "mean_jct_s": [1.0, 3.0, None, 5.0],
        }
    )
    made = replicates(runs, "mean_jct_s", {"t 1": "t", "t 2": "t"})
    assert made["mean_jct_s"].to_list() == [2.0, None]
    assert replicates(runs, "p99_jct_s", {})["p99_jct_s"].to_list() == [None, None]


def test_candidates_keep_their_order():
    candidates = [
        Candidate("b", None, 1, 2.0), Candidate("a", None, None, None),
        Candidate("c", None, None, 4.0),
    ]  # fmt: skip
    frame, _ = compared(
        runs_of(a=[1, 2, 3], b=[2, 3, 4], c=[4, 5, 7]), "mean_jct_s", candidates, {},
        baseline="c", better="lower", level=0.95,
    )  # fmt: skip
    assert frame["policy"].to_list() == ["b", "a", "c"]
    assert frame["search_ratio"].to_list() == [pytest.approx(0.5), None, 1.0]
