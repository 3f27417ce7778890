"""Runs compared: what a frame of runs becomes, what is said of it, and how its tables read."""

import re

import numpy as np
import polars as pl
import pytest

from gpusched.studies import compare_runs, difference, holm, ratio, signed_rank, typical
from tests.each import each

FACTORS = {"fifo": 1.0, "sjf": 0.8, "srtf": 0.6}


def runs_of(seeds=range(1, 11), loads=(0.7, 0.9), **columns):
    """Runs of three policies whose seeds share most of what differs; ``columns`` are added."""
    random = np.random.default_rng(5)
    rows = []
    for load in loads:
        for seed in seeds:
            common = random.lognormal(0.0, 0.3) * 7200.0 * load / (1.05 - load)
            rows += [
                {
                    "policy": policy, "load": load, "jobs": 1_000, "seed": seed,
                    "mean_jct_s": common * factor * random.lognormal(0.0, 0.05),
                    "utilisation": 0.5 + 0.01 * seed / factor,
                }
                for policy, factor in FACTORS.items()
            ]  # fmt: skip
    return pl.DataFrame(rows).with_columns(**{n: pl.lit(value) for n, value in columns.items()})


def values(runs, policy, load=0.7, metric="mean_jct_s"):
    return runs.filter((pl.col("policy") == policy) & (pl.col("load") == load))[metric].to_numpy()


def test_a_row_says_what_the_single_functions_say():
    runs = runs_of()
    frame = compare_runs(runs, "mean_jct_s", by=["load"], baseline="fifo").frame
    assert frame.select("load", "policy").rows() == [
        (load, policy) for load in (0.7, 0.9) for policy in FACTORS
    ]
    row = frame.row(1, named=True)
    mine, base = values(runs, "sjf"), values(runs, "fifo")
    for name, found in (("typical", typical(mine)), ("ratio", ratio(mine, base))):
        prefix = "" if name == "typical" else f"{name}_"
        limits = row[name], row[f"{prefix}low"], row[f"{prefix}high"]
        assert limits == (found.value, found.low, found.high)
    assert (row["p"], row["level"]) == (ratio(mine, base).p, typical(mine).level)
    assert (row["mean"], row["worst"]) == pytest.approx((mine.mean(), mine.max()))
    assert row["worst_share"] == pytest.approx(mine.max() / mine.sum())
    assert row["num_better"] == (mine < base).sum()
    assert (row["num_seeds"], row["num_pairs"], row["num_missing"]) == (10, 10, 0)
    assert (row["difference"], row["growth"], row["is_clairvoyant"]) == (None, None, False)
    assert row["warnings"] == []


def test_shares_are_compared_by_their_differences():
    runs = runs_of(loads=(0.7,))
    compared = compare_runs(runs, "utilisation", baseline="fifo")
    assert compared.scale == "difference"
    row = compared.frame.row(1, named=True)
    mine, base = (values(runs, name, metric="utilisation") for name in ("sjf", "fifo"))
    found, own = difference(mine, base), signed_rank(mine)
    assert (row["difference"], row["difference_low"]) == (found.value, found.low)
    assert (row["typical"], row["low"], row["p"]) == (own.value, own.low, found.p)
    assert row["worst"] == mine.min()
    assert (row["ratio"], row["worst_share"]) == (None, None)


def test_the_adjustment_is_for_all_comparisons_of_the_frame():
    compared = compare_runs(runs_of(), "mean_jct_s", by=["load"], baseline="fifo")
    tested = compared.frame.filter(pl.col("p").is_not_null())
    assert compared.num_comparisons == len(tested) == 4
    assert tested["p_adjusted"].to_list() == holm(tested["p"]).tolist()


def test_the_baseline_is_compared_with_nothing():
    row = compare_runs(runs_of(loads=(0.7,)), "mean_jct_s", baseline="fifo").frame.row(
        0, named=True
    )
    assert [row[f"ratio{end}"] for end in ("", "_low", "_high")] == [1.0] * 3
    assert (row["p"], row["num_better"]) == (None, None)


def test_any_axis_can_be_compared():
    runs = runs_of()
    compared = compare_runs(runs, "mean_jct_s", axis="load", by=["policy"], baseline=0.7)
    row = compared.frame.filter((pl.col("policy") == "sjf") & (pl.col("load") == 0.9)).row(
        0, named=True
    )
    expected = ratio(values(runs, "sjf", 0.9), values(runs, "sjf", 0.7))
    assert row["ratio_low"] == expected.low
    assert "| ratio to 0.7 |" in compared.table()


def test_without_a_baseline_there_are_typical_runs_alone():
    compared = compare_runs(runs_of(loads=(0.7,)), "mean_jct_s")
    assert compared.frame["ratio"].null_count() == 3
    assert compared.frame["is_beaten"].to_list() == [True, True, False]
    assert compared.num_comparisons == 0
    assert "ratio to" not in compared.table()


def test_what_is_not_beaten_follows_from_the_direction_of_the_metric():
    runs = runs_of(loads=(0.7,), novel=1.0)
    for metric in ("mean_jct_s", "utilisation"):
        compared = compare_runs(runs, metric, baseline="fifo")
        assert compared.frame["is_beaten"].to_list() == [True, True, False]
        assert compared.frame["num_better"].to_list()[2] == 10
    neutral = compare_runs(runs, "novel", baseline="fifo")
    assert neutral.better == "neutral"
    assert neutral.frame["is_beaten"].null_count() == neutral.frame["num_better"].null_count() == 3
    assert neutral.headline == []
    named = compare_runs(runs, "novel", better="higher")
    assert named.frame["is_beaten"].to_list() == [False] * 3
    assert "**" not in named.table()


def test_a_policy_alone_is_neither_beaten_nor_not():
    alone = compare_runs(runs_of().filter(pl.col("policy") == "sjf"), "mean_jct_s", by=["load"])
    assert alone.frame["is_beaten"].to_list() == [None, None]
    assert alone.headline == []


def test_what_sees_the_truth_is_no_candidate_beside_what_does_not():
    sees = runs_of(loads=(0.7,)).with_columns(clairvoyant=pl.col("policy") == "srtf")
    assert compare_runs(sees, "mean_jct_s").frame["is_beaten"].to_list() == [True, False, None]
    every = sees.with_columns(clairvoyant=True)
    assert compare_runs(every, "mean_jct_s").frame["is_beaten"].to_list() == [True, True, False]


def test_what_is_not_significant_in_the_table_beats_no_baseline():
    """Alone p is 0.04, of the four comparisons that the table shows it is 0.12 or more."""
    gains = [-0.9, -0.8, -0.6, -0.55, -0.5, 0.45, 0.4, -0.35, -0.3, -0.25, -0.2, -0.15]
    factors = {"fifo": [0.0] * 12, "las": gains}
    alone = [
        {"policy": policy, "seed": seed, "mean_jct_s": 100.0 * 2**gain, "clairvoyant": False}
        for policy, each in factors.items()
        for seed, gain in enumerate(each)
    ]
    noise = [
        {"policy": name, "seed": seed, "clairvoyant": True,
         "mean_jct_s": 100.0 + (seed + 1) * (-1) ** (seed + place)}
        for place, name in enumerate(("sjf", "srtf", "wspt"))
        for seed in range(12)
    ]  # fmt: skip
    compared = compare_runs(pl.DataFrame(alone), "mean_jct_s", baseline="fifo")
    assert 0.01 < compared.frame["p_adjusted"][1] < 0.05
    assert compared.frame["is_beaten"].to_list() == [True, False]
    compared = compare_runs(pl.DataFrame(alone + noise), "mean_jct_s", baseline="fifo")
    assert compared.frame["p_adjusted"][1] > 0.05
    assert compared.frame["is_beaten"].to_list()[:2] == [False, False]
    assert "Not distinguishable from the best: fifo, las" in " ".join(compared.headline)


def growing(runs, growth, policy="srtf"):
    return runs.with_columns(growth=pl.when(policy=policy).then(growth).otherwise(1.0))


def test_a_policy_under_which_jobs_pile_up_is_marked_and_no_candidate():
    compared = compare_runs(growing(runs_of(loads=(0.7,)), 1.3), "mean_jct_s", baseline="fifo")
    assert compared.frame["growth"].to_list() == [1.0, 1.0, 1.3]
    assert compared.frame["is_beaten"].to_list() == [True, False, None]
    said = "jobs pile up (growth 1.3): its metrics depend on the trace length"
    assert compared.frame["warnings"].to_list() == [[], [], [said]]
    assert "| growth |" in compared.table()
    assert "Growth: jobs pile up" in compared.table()
    # Of few seeds it takes more to say so.
    few = compare_runs(growing(runs_of(range(4), loads=(0.7,)), 1.3), "mean_jct_s")
    assert "growth" not in few.table()


def headline(runs, **options):
    return " ".join(compare_runs(runs, "mean_jct_s", **options).headline)


def test_the_headline_says_what_the_seeds_allow():
    one, both = runs_of(loads=(0.7,)), runs_of()
    assert headline(one, baseline="fifo") == (
        "Of these, on this workload, srtf is best: typically 0.59 times fifo (10 of 10 seeds)."
    )
    assert headline(both, by=["load"], baseline="fifo") == (
        "Of these, on this workload, srtf is best at all 2 loads: typically 0.59 times fifo "
        "(10 of 10 seeds each)."
    )
    few = runs_of(range(5), loads=(0.7,))
    assert headline(few, baseline="fifo") == (
        "5 seeds cannot distinguish policies; at least 7 are needed for 3 comparisons."
    )


def test_the_headline_calls_nothing_best_where_there_is_no_choice():
    one = runs_of(loads=(0.7,))
    sees = one.with_columns(clairvoyant=pl.col("policy") != "fifo")
    assert headline(sees, baseline="fifo") == (
        "Of these only fifo could be deployed; nothing to choose. Clairvoyant srtf is typically "
        "0.59 times fifo: the most that better estimates could bring."
    )
    piled = headline(growing(runs_of(), 1.7), by=["load"], baseline="fifo")
    assert piled.startswith(
        "At load 0.7, 0.9 jobs pile up under srtf (growth 1.7): its metrics depend on the trace "
        "length. Of these, on this workload, sjf is best at all 2 loads"
    )


def test_the_headline_names_settings_in_which_one_is_best_and_those_in_which_none_is():
    runs = runs_of()
    alike = pl.when(pl.col("load") == 0.9).then(7200.0 + pl.col("seed")).otherwise("mean_jct_s")
    mixed = runs.with_columns(mean_jct_s=alike)
    assert headline(mixed, by=["load"], baseline="fifo") == (
        "Of these, on this workload, srtf is best at load 0.7; elsewhere there is no clear best."
    )
    equal = mixed.filter(pl.col("load") == 0.9)
    assert headline(equal, baseline="fifo") == (
        "Not distinguishable from the best: fifo, sjf, srtf. They are within 5% of fifo."
    )
    noise = np.random.default_rng(1).lognormal(0.0, 0.5, len(equal))
    text = headline(equal.with_columns(mean_jct_s=pl.col("mean_jct_s") * noise), baseline="fifo")
    wild = headline(equal.with_columns(mean_jct_s=pl.col("mean_jct_s") * noise**9), baseline="fifo")
    assert re.search(r"of more than a factor of [\d,]+ are excluded", wild)
    assert re.fullmatch(
        r"Not distinguishable .*: fifo, sjf, srtf\. Differences from fifo of more than \d+% are "
        r"excluded\.", text,
    )  # fmt: skip


def test_failed_and_unpaired_seeds_are_left_out_and_said():
    runs = runs_of(loads=(0.7,)).with_columns(
        pl.when((pl.col("policy") == "srtf") & (pl.col("seed") == 4))
        .then(None)
        .when((pl.col("policy") == "srtf") & (pl.col("seed") == 5))
        .then(float("nan"))
        .otherwise("mean_jct_s")
        .alias("mean_jct_s")
    )
    runs = runs.filter((pl.col("policy") != "sjf") | (pl.col("seed") != 9))
    compared = compare_runs(runs, "mean_jct_s", baseline="fifo")
    sjf, srtf = compared.frame.row(1, named=True), compared.frame.row(2, named=True)
    assert (srtf["num_seeds"], srtf["num_missing"], srtf["num_pairs"]) == (8, 2, 8)
    assert srtf["warnings"] == [
        "2 runs failed or without a value: seeds 4, 5",
        "no value here, so not in the change: seeds 4, 5",
    ]
    assert sjf["warnings"] == ["no value here, so not in the change: seed 9"]
    left = runs.filter(~pl.col("seed").is_in([4, 5]))
    assert srtf["ratio_low"] == ratio(values(left, "srtf"), values(left, "fifo")).low
    back = compare_runs(runs, "mean_jct_s", baseline="srtf").frame.row(0, named=True)
    assert "no value of srtf, so not in the change: seeds 4, 5" in back["warnings"]


def test_a_policy_without_any_value_keeps_its_row():
    runs = runs_of(loads=(0.7,)).with_columns(
        pl.when(pl.col("policy") == "srtf").then(None).otherwise("mean_jct_s").alias("mean_jct_s")
    )
    compared = compare_runs(runs, "mean_jct_s", baseline="fifo")
    row = compared.frame.row(2, named=True)
    assert row["typical"] is None
    assert row["ratio"] is None
    assert compared.frame["is_beaten"].to_list() == [True, False, None]
    assert "| srtf | 0 | - | - | - | - | - | - |" in compared.table()


def test_a_setting_without_the_baseline_is_said():
    runs = runs_of().filter((pl.col("policy") != "fifo") | (pl.col("load") < 0.8))
    compared = compare_runs(runs, "mean_jct_s", by=["load"], baseline="fifo")
    row = compared.frame.filter(pl.col("load") == 0.9).row(0, named=True)
    assert row["ratio"] is None
    assert "no run of fifo in this setting: no change" in row["warnings"]


def test_a_baseline_of_zero_has_no_ratio():
    runs = pl.DataFrame({
        "policy": ["fifo"] * 6 + ["srtf"] * 6, "seed": [*range(6)] * 2,
        "preemptions": [0] * 6 + [4, 6, 5, 8, 7, 9],
    })  # fmt: skip
    compared = compare_runs(runs, "preemptions", baseline="fifo")
    row = compared.frame.row(1, named=True)
    assert row["ratio"] is None
    assert row["difference"] == 6.5
    assert "| change from fifo |" in compared.table()


def said(runs, metric="mean_jct_s", **options):
    return " ".join(compare_runs(runs, metric, by=["load"], **options).warnings)


def test_few_seeds_say_what_their_range_reaches():
    text = said(runs_of(range(3)), baseline="fifo")
    assert "3 seeds: the limits are their range, which covers only 75%" in text
    assert "3 seeds cannot distinguish policies; at least 8 are needed for 4 comparisons" in text
    assert "a single seed: no interval" in said(runs_of([1]))
    assert said(runs_of(), baseline="fifo") == ""


def test_loads_that_are_not_stable_are_named():
    assert "overloaded at load 1.01 (30 runs)" in said(runs_of(loads=(0.7, 1.01)))
    text = said(runs_of(loads=(1.01, 1.04)))
    assert "overloaded at load 1.01, 1.04 (60 runs)" in text
    full = runs_of(loads=(0.7,), allocation=0.999)
    for no_load in (full.drop("load"), full.with_columns(load=pl.lit(None, pl.Float64))):
        (line,) = compare_runs(no_load, "mean_jct_s").warnings
        assert line.startswith("30 runs held 99.5% of the GPU time or more")
    assert "jobs did not finish in 60 runs (at most 3" in said(runs_of(num_unfinished=3))


def test_a_missing_warm_up_is_said_where_a_load_was_asked_for():
    assert "no warm-up in 60 runs" in said(runs_of(), warm_up_s=0.0)
    assert "no warm-up in 60 runs" in said(runs_of(warm_up_s=0.0))
    assert said(runs_of(warm_up_s=3600.0)) == ""
    assert said(runs_of(), warm_up_s=3600.0) == ""
    assert said(runs_of(), "utilisation", warm_up_s=0.0) == ""
    without = runs_of(loads=(0.7,)).drop("load")
    assert compare_runs(without, "mean_jct_s", warm_up_s=0.0).warnings == ()


def test_a_weak_quantile_is_said():
    runs = runs_of(p99_jct_s=9.0, p50_jct_s=3.0, max_jct_s=9.0)
    few = runs.with_columns(jobs=200)
    assert "of 200 jobs of a run about 2 lie beyond it" in said(few, "p99_jct_s")
    assert said(runs, "p99_jct_s") == said(few, "p50_jct_s") == ""
    assert "max_jct_s is an extreme value: it grows" in said(runs, "max_jct_s")


def test_means_of_different_jobs_are_said():
    runs = runs_of(loads=(0.7,)).with_columns(
        num_finished=pl.when(pl.col("policy") == "sjf").then(990).otherwise(1_000)
    )
    (line,) = compare_runs(runs, "mean_jct_s").warnings
    assert "finished different numbers of jobs (10 seeds)" in line
    assert said(runs_of(num_finished=1_000)) == ""


@each(
    ("call", "message"),
    [
        (lambda runs: compare_runs(runs, "mean_jct"), "did you mean 'mean_jct_s'"),
        (lambda runs: compare_runs(runs, "mean_jct_s"), "differ in load: name it in by="),
        (lambda runs: compare_runs(runs, "policy", axis="load"), "'policy' is String"),
        (lambda runs: compare_runs(runs, "mean_jct_s", by=["load"], baseline="fif"),
         "no run has policy 'fif'; did you mean 'fifo'"),
        (lambda runs: compare_runs(runs, "mean_jct_s", by=["policy"]), "is the axis"),
        (lambda runs: compare_runs(runs.drop("seed"), "mean_jct_s"), "column 'seed' is missing"),
        (lambda runs: compare_runs(runs.clear(), "mean_jct_s"), "must not be empty"),
        (lambda runs: compare_runs(pl.concat([runs, runs]), "mean_jct_s", by=["load"]),
         "no column distinguishes them"),
        (lambda runs: compare_runs(runs, "mean_jct_s", better="less"), "'lower', 'higher'"),
        (lambda runs: compare_runs(runs, "mean_jct_s", by=["load"]).table("html"),
         "must be one of markdown, latex, csv, json"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(runs_of())


def test_the_order_of_the_rows_decides_no_figure():
    runs = runs_of()
    plain = compare_runs(runs, "mean_jct_s", by=["load"], baseline="fifo").frame
    other = compare_runs(
        runs.sample(fraction=1.0, shuffle=True, seed=3), "mean_jct_s", by=["load"], baseline="fifo"
    ).frame
    keys = ["load", "policy"]
    ours, others = plain.sort(keys), other.sort(keys)
    assert ours.schema == others.schema
    for column in ours:
        if column.dtype.is_float():
            np.testing.assert_allclose(column, others[column.name], rtol=1e-12)
        else:
            assert column.equals(others[column.name], null_equal=True)


JCT = {
    "fifo": [7200.0, 7560.0, 7380.0, 7290.0, 7270.0, 7650.0],
    "srtf": [3600.0, 3960.0, 3600.0, 3780.0, 3690.0, 3870.0],
}


def table_of(metric="mean_jct_s", columns=JCT, **more):
    rows = [
        {"policy": policy, "seed": seed, metric: value} | more
        for policy, values in columns.items()
        for seed, value in enumerate(values)
    ]
    return pl.DataFrame(rows)


def compared(metric="mean_jct_s", columns=JCT, baseline="fifo", **more):
    return compare_runs(table_of(metric, columns, **more), metric, baseline=baseline, by=list(more))


def test_a_markdown_table_is_what_a_paper_would_print():
    title, _, head, rule, fifo, srtf, _, *notes = (
        compared().table(caption="JCT on 8 servers").splitlines()
    )
    assert title == "**JCT on 8 servers**"
    assert head == (
        "| policy | seeds | typical mean JCT | 95% | mean | worst | ratio to fifo | 95% | better | "
        "p (Holm) |"
    )
    assert rule == f"| --- |{' ---: |' * 9}"
    assert fifo == "| fifo | 6 | 2.05 h | 2.00 .. 2.13 h | 2.05 h | 2.12 h |  |  |  |  |"
    assert srtf == (
        "| srtf | 6 | **1.04 h** | 1.00 .. 1.10 h | 1.04 h | 1.10 h | 0.507 | 0.488 .. 0.524 | "
        "6/6 | 0.031 \\* |"
    )
    assert notes == [
        "Typical: Hodges-Lehmann of the logarithms, with 95% intervals.",
        "",
        "Ratios compare runs on the same jobs; p: exact signed-rank, Holm for 1 comparison; "
        "*: p at most 0.05.",
        "",
        "Bold: not beaten significantly and by 2% or more.",
    ]


def test_a_latex_table_has_rules_and_a_caption():
    text = compared(load=0.9).table("latex", caption="50 % & more_x")
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{50 \\% \\& more\\_x}\n")
    assert "\\begin{tabular}{llrrrrrrrrr}\n\\toprule\nload & policy & seeds &" in text
    assert "0.9 & srtf & 6 & \\textbf{1.04 h} & 1.00 .. 1.10 h & 1.04 h & 1.10 h & 0.507 &" in text
    assert text.endswith("}\n\\end{table}\n")
    bare = compared(load=0.9).table("latex")
    assert bare.startswith("\\begin{tabular}")
    assert all(line.startswith("%") for line in bare.partition("\\end{tabular}\n")[2].splitlines())


def test_settings_are_set_apart_and_policies_are_not():
    assert "addlinespace" not in compared().table("latex")
    runs = pl.concat([table_of(load=0.7), table_of(load=0.9)])
    both = compare_runs(runs, "mean_jct_s", baseline="fifo", by=["load"])
    assert both.table("latex").count("\\addlinespace") == 1


def test_a_seed_that_holds_most_of_the_sum_is_marked():
    stuck = {**JCT, "fifo": [7200.0, 7560.0, 7380.0, 7290.0, 7270.0, 76500.0]}
    text = compared(columns=stuck).table()
    assert "| 21.2 h ! |" in text
    assert "One seed contributes more than a third of the sum" in text
    assert "!" not in compared().table()


def test_seeds_that_are_too_few_have_neither_a_p_nor_a_star():
    few = {name: values[:5] for name, values in JCT.items()}
    text = compared(columns=few).table()
    assert "| 5/5 | - |" in text
    assert "p at most 0.05" in text
    assert "5 seeds cannot distinguish policies; at least 6 are needed for 1 comparison." in text


def test_every_row_of_a_table_has_as_many_cells_as_its_heading():
    made = compared(load=0.9)
    lines = [line for line in made.table().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    body = re.findall(r"^(.*?) \\\\$", made.table("latex"), re.MULTILINE)
    assert [line.count(" & ") for line in body] == [10, 10, 10]


def test_names_cannot_break_a_table():
    odd = {"a|b_c*": [1.0, 2.0, 3.0], "x&y%z\\{~^#$}": [2.0, 3.0, 5.0]}
    made = compared(columns=odd, baseline="a|b_c*")
    assert "| a\\|b_c\\* |" in made.table()
    latex = made.table("latex")
    assert "x\\&y\\%z\\textbackslash{}\\{\\textasciitilde{}\\textasciicircum{}\\#\\$\\} &" in latex
    assert "a$|$b\\_c*" in latex


def test_units_follow_from_the_metric():
    share = {"fifo": [0.61, 0.63, 0.60], "srtf": [0.71, 0.74, 0.70]}
    text = compared("utilisation", share).table()
    assert "| typical utilisation |" in text
    assert "| change from fifo |" in text
    assert "| +10.2% | +10.0 .. +11.0% | 3/3 |" in text
    assert "| 1.58 min |" in compared("own_time_s", {"fifo": [90.0, 100.0]}).table()
    assert "| typical own figure |" in compared("own_figure", {"fifo": [90.0, 100.0]}).table()


def test_programs_get_values_in_base_units():
    head, fifo, srtf = compared().table("csv").splitlines()
    assert head == (
        "policy,num_seeds,typical,low,high,mean,worst,ratio,ratio_low,ratio_high,better,p_adjusted"
    )
    assert fifo.endswith(",,,,,")
    assert srtf.endswith(",6/6,0.03125")
    assert [round(float(value)) for value in srtf.split(",")[2:5]] == [3735, 3600, 3960]


def test_a_single_seed_has_no_interval():
    text = compared(columns={"fifo": [7200.0], "srtf": [3600.0]}).table()
    assert "| fifo | 1 | 2.00 h | - | 2 h | 2 h |  |  |  |  |" in text
    assert "| srtf | 1 | 1.00 h | - | 1 h | 1 h | 0.500 | - | 1/1 | - |" in text
    assert "a single seed: no interval" in text


def test_what_may_be_zero_is_compared_by_its_difference():
    near_zero = {"fifo": [0.0, 120.0, 30.0], "srtf": [3600.0, 3960.0, 3600.0]}
    text = compared("mean_wait_s", near_zero).table()
    assert "| +1.01 h | +59.5 min .. +1.07 h |" in text
    assert "inf" not in text


def test_what_is_no_difference_has_no_sign():
    equal = {"fifo": [0.0, 2.0, 3.0], "sjf": [0.0, 2.0, 3.0]}
    assert (
        "| sjf | 3 | 1.75 | 0.00 .. 3.00 | 1.67 | 3.00 | 0.00 | 0.00 .. 0.00 | - | - |"
        in compared("own", equal).table()
    )
