"""Runs compared: what a frame of runs becomes, what is said of it, and how its tables read."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from gpusched.studies import (
    compare_runs,
    effect_size,
    holm,
    interval,
    nemenyi,
    paired_difference,
    ratio_of_means,
)
from gpusched.studies.paper_tables import decimals_for
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
    mean, change, ratio = (
        interval(mine), paired_difference(mine, base), ratio_of_means(mine, base)
    )  # fmt: skip
    for prefix, found in (("", mean), ("difference_", change), ("ratio_", ratio)):
        value = row[prefix.removesuffix("_") or "mean"]
        limits = row[f"{prefix}low"], row[f"{prefix}high"]
        assert (value, *limits) == pytest.approx((found.value, found.low, found.high), rel=1e-12)
    assert row["effect_size"] == effect_size(mine, base)
    assert row["share_better"] == (mine < base).mean()
    assert (row["num_seeds"], row["num_pairs"], row["num_missing"]) == (10, 10, 0)
    assert row["method"] == "bootstrap-t"
    assert row["warnings"] == []


def test_the_adjustment_is_for_all_comparisons_of_the_frame():
    compared = compare_runs(runs_of(), "mean_jct_s", by=["load"], baseline="fifo", method="t")
    tested = compared.frame.filter(pl.col("p").is_not_null())
    assert compared.num_comparisons == len(tested) == 4
    assert tested["p_adjusted"].to_list() == holm(tested["p"]).tolist()
    assert tested["is_significant"].to_list() == (tested["p_adjusted"] < 0.05).to_list()
    plain = compare_runs(runs_of(), "mean_jct_s", by=["load"], baseline="fifo", correction=None)
    assert plain.frame["p_adjusted"].equals(plain.frame["p"], null_equal=True)


def test_significance_and_the_intervals_agree():
    rows = []
    for seed, shift in enumerate(np.linspace(-0.6, 0.6, 25)):
        random = np.random.default_rng(seed)
        rows += [
            {"policy": name, "case": seed, "seed": at, "mean_jct_s": 5 + random.normal(by, 0.5)}
            for at in range(8)
            for name, by in (("a", 0.0), ("b", shift))
        ]
    for method in ("t", "bootstrap-t"):
        frame = compare_runs(
            pl.DataFrame(rows), "mean_jct_s", by=["case"], baseline="a", method=method,
            correction=None,
        ).frame.filter(pl.col("policy") == "b")  # fmt: skip
        differs = (frame["difference_low"] > 0) | (frame["difference_high"] < 0)
        differs &= (frame["ratio_low"] > 1) | (frame["ratio_high"] < 1)
        assert frame["is_significant"].to_list() == differs.to_list()
        assert 0 < differs.sum() < 25


def test_the_baseline_differs_from_itself_by_nothing():
    compared = compare_runs(runs_of(loads=(0.7,)), "mean_jct_s", baseline="fifo")
    row = compared.frame.row(0, named=True)
    assert [row[f"difference{end}"] for end in ("", "_low", "_high")] == [0.0] * 3
    assert [row[f"ratio{end}"] for end in ("", "_low", "_high")] == [1.0] * 3
    assert row["p"] is None
    assert row["effect_size"] is None


def test_any_axis_can_be_compared():
    runs = runs_of()
    compared = compare_runs(runs, "mean_jct_s", axis="load", by=["policy"], baseline=0.7)
    row = compared.frame.filter((pl.col("policy") == "sjf") & (pl.col("load") == 0.9)).row(
        0, named=True
    )
    expected = paired_difference(values(runs, "sjf", 0.9), values(runs, "sjf", 0.7))
    assert row["difference_low"] == pytest.approx(expected.low, rel=1e-12)
    assert "| change from 0.7 (%) |" in compared.table()


def test_without_a_baseline_there_are_means_and_ranks_alone():
    compared = compare_runs(runs_of(loads=(0.7,)), "mean_jct_s")
    assert compared.frame["difference"].null_count() == 3
    assert compared.frame["rank"].to_list() == sorted(compared.frame["rank"], reverse=True)
    assert compared.num_comparisons == 0
    assert "change from" not in compared.table()


def test_the_best_follows_from_the_direction_of_the_metric():
    runs = runs_of(loads=(0.7,), novel=1.0)
    by_metric = {
        metric: compare_runs(runs, metric, baseline="fifo")
        for metric in ("mean_jct_s", "utilisation")
    }
    for compared in by_metric.values():
        assert compared.frame["is_best"].to_list() == [False, False, True]
        assert compared.frame["share_better"].to_list()[2] == 1.0
    neutral = compare_runs(runs, "novel", baseline="fifo")
    assert neutral.better == "neutral"
    assert neutral.frame["is_best"].null_count() == neutral.frame["rank"].null_count() == 3
    named = compare_runs(runs, "novel", better="higher")
    assert named.frame["rank"].to_list() == [2.0, 2.0, 2.0]


def test_a_policy_alone_is_not_called_the_best():
    alone = compare_runs(runs_of().filter(pl.col("policy") == "sjf"), "mean_jct_s", by=["load"])
    assert alone.frame["is_best"].to_list() == [False, False]


def test_ranks_are_those_of_the_seeds_that_all_have():
    runs = runs_of(loads=(0.7,)).filter((pl.col("policy") != "sjf") | (pl.col("seed") > 3))
    compared = compare_runs(runs, "mean_jct_s")
    table = np.stack([values(runs.filter(pl.col("seed") > 3), name) for name in FACTORS], axis=1)
    test = compared.rank_tests[()]
    expected = nemenyi(table, list(FACTORS))
    ranks = dict(zip(expected.names, expected.mean_ranks, strict=True))
    assert dict(zip(test.names, test.mean_ranks, strict=True)) == ranks
    assert dict(compared.frame.select("policy", "rank").rows()) == ranks
    assert (test.num_blocks, test.p) == (7, pytest.approx(expected.p))


def test_a_setting_with_one_policy_or_one_seed_has_no_ranks():
    runs = runs_of()
    lone = (pl.col("load") == 0.7) & (pl.col("policy") != "fifo")
    assert list(compare_runs(runs.filter(~lone), "mean_jct_s", by=["load"]).rank_tests) == [(0.9,)]
    brief = (pl.col("load") == 0.7) & (pl.col("seed") > 1)
    assert list(compare_runs(runs.filter(~brief), "mean_jct_s", by=["load"]).rank_tests) == [(0.9,)]


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
        "no value here, so not in the difference: seeds 4, 5",
    ]
    assert sjf["warnings"] == ["no value here, so not in the difference: seed 9"]
    left = runs.filter(~pl.col("seed").is_in([4, 5]))
    expected = paired_difference(values(left, "srtf"), values(left, "fifo"))
    assert srtf["difference_low"] == pytest.approx(expected.low, rel=1e-12)
    back = compare_runs(runs, "mean_jct_s", baseline="srtf").frame.row(0, named=True)
    assert "no value of srtf, so not in the difference: seeds 4, 5" in back["warnings"]


def test_a_policy_without_any_value_keeps_its_row():
    runs = runs_of(loads=(0.7,)).with_columns(
        pl.when(pl.col("policy") == "srtf").then(None).otherwise("mean_jct_s").alias("mean_jct_s")
    )
    compared = compare_runs(runs, "mean_jct_s", baseline="fifo")
    row = compared.frame.row(2, named=True)
    assert row["mean"] is None
    assert row["difference"] is None
    assert row["rank"] is None
    assert compared.frame["is_best"].to_list() == [False, True, False]
    assert "| srtf | - | - | - |" in compared.table()


def test_a_setting_without_the_baseline_is_said():
    runs = runs_of().filter((pl.col("policy") != "fifo") | (pl.col("load") < 0.8))
    compared = compare_runs(runs, "mean_jct_s", by=["load"], baseline="fifo")
    row = compared.frame.filter(pl.col("load") == 0.9).row(0, named=True)
    assert row["difference"] is None
    assert "no run of fifo in this setting: no difference" in row["warnings"]


def test_a_baseline_of_zero_has_no_ratio():
    runs = pl.DataFrame({
        "policy": ["fifo"] * 6 + ["srtf"] * 6, "seed": [*range(6)] * 2,
        "preemptions": [0] * 6 + [4, 6, 5, 8, 7, 9],
    })  # fmt: skip
    compared = compare_runs(runs, "preemptions", baseline="fifo")
    row = compared.frame.row(1, named=True)
    assert row["ratio"] is None
    assert row["difference"] == 6.5
    assert "the mean of the baseline is zero: there is no ratio to it" in row["warnings"]
    assert "change from fifo |" in compared.table()


def said(runs, metric="mean_jct_s", **options):
    return " ".join(compare_runs(runs, metric, by=["load"], **options).warnings)


def test_few_seeds_say_which_method_was_used():
    assert "3 seeds are too few for bootstrap-t: t was used" in said(runs_of(range(3)))
    with pytest.raises(ValueError, match="bca needs 30 values, and there are 10"):
        said(runs_of(), method="bca")
    assert "a single seed: no interval" in said(runs_of([1]))
    assert said(runs_of()) == ""


def test_loads_that_are_not_stable_are_named():
    assert "not stable at load 1.01 (30 runs)" in said(runs_of(loads=(0.7, 1.01)))
    text = said(runs_of(loads=(1.01, 1.04)))
    assert "not stable at load 1.01, 1.04 (60 runs)" in text
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
    assert "max_jct_s is a single job of each run" in said(runs, "max_jct_s")


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
        (
            lambda runs: compare_runs(runs, "mean_jct_s", by=["load"], baseline="fif"),
            "no run has policy 'fif'; did you mean 'fifo'",
        ),
        (lambda runs: compare_runs(runs, "mean_jct_s", by=["policy"]), "is the axis"),
        (lambda runs: compare_runs(runs.drop("seed"), "mean_jct_s"), "no column 'seed'"),
        (lambda runs: compare_runs(runs.clear(), "mean_jct_s"), "there are none"),
        (
            lambda runs: compare_runs(pl.concat([runs, runs]), "mean_jct_s", by=["load"]),
            "nothing tells them apart",
        ),
        (lambda runs: compare_runs(runs, "mean_jct_s", correction="no"), "'holm' or None"),
        (lambda runs: compare_runs(runs, "mean_jct_s", better="less"), "'lower', 'higher'"),
        (
            lambda runs: compare_runs(runs, "mean_jct_s", by=["load"]).table("html"),
            "must be one of markdown, latex",
        ),
        (
            lambda runs: compare_runs(runs, "mean_jct_s", by=["load"]).table(digits=0),
            "digits: 0 must lie in 1..6",
        ),
    ],
)
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


JCT = {"fifo": [7200.0, 7560.0, 7380.0, 7290.0], "srtf": [3600.0, 3960.0, 3600.0, 3780.0]}


def table_of(metric="mean_jct_s", columns=JCT, **more):
    rows = [
        {"policy": policy, "seed": seed, metric: value} | more
        for policy, values in columns.items()
        for seed, value in enumerate(values)
    ]
    return pl.DataFrame(rows)


def compared(metric="mean_jct_s", columns=JCT, baseline="fifo", **more):
    return compare_runs(
        table_of(metric, columns, **more), metric, baseline=baseline, method="t", by=list(more)
    )


def test_a_markdown_table_is_what_a_paper_would_print():
    # t of 3 degrees of freedom is 3.182; the standard errors of the means are 0.0213 and 0.0239 h.
    # The limits of the ratio are Fieller's.
    assert compared().table(caption="JCT on 8 servers").splitlines() == [
        "JCT on 8 servers",
        "",
        "| policy | mean JCT (h) | change from fifo (%) | p (Holm) |",
        "| :-- | --: | --: | --: |",
        "| fifo | 2.044 [1.976, 2.112] | - | - |",
        "| srtf | **1.038** [0.961, 1.114] | -49.2\\* [-51.9, -46.6] | <0.001 |",
        "",
        "Means over 4 seeds with 95 % intervals (t); the best is bold.",
        "",
        "Changes are paired by seed; p adjusted by Holm for 1 comparison; \\* p < 0.05.",
    ]


def test_a_latex_table_has_rules_and_a_caption():
    text = compared(load=0.9).table("latex", caption="50 % & more_x")
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{50 \\% \\& more\\_x}\n")
    assert "\\begin{tabular}{llrrr}\n\\toprule\nload & policy & mean JCT (h) &" in text
    assert "0.9 & srtf & \\textbf{1.038} {[}0.961, 1.114{]} & $-$49.2$^{*}$ {[}$-$51.9" in text
    assert text.endswith("}\n\\end{table}\n")
    bare = compared(load=0.9).table("latex")
    assert bare.startswith("\\begin{tabular}")
    assert all(line.startswith("%") for line in bare.partition("\\end{tabular}\n")[2].splitlines())


def test_settings_are_set_apart_and_policies_are_not():
    assert "addlinespace" not in compared().table("latex")
    runs = pl.concat([table_of(load=0.7), table_of(load=0.9)])
    both = compare_runs(runs, "mean_jct_s", baseline="fifo", method="t", by=["load"])
    assert both.table("latex").count("\\addlinespace") == 1


def test_every_row_of_a_table_has_as_many_cells_as_its_heading():
    made = compared(load=0.9)
    lines = [line for line in made.table().splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in lines}) == 1
    body = re.findall(r"^(.*?) \\\\$", made.table("latex"), re.MULTILINE)
    assert [line.count(" & ") for line in body] == [4, 4, 4]


def test_names_cannot_break_a_table():
    odd = {"a|b_c*": [1.0, 2.0, 3.0], "x&y%z\\{~^#$}": [2.0, 3.0, 5.0]}
    made = compared(columns=odd, baseline="a|b_c*")
    assert "| a\\|b_c\\* |" in made.table()
    latex = made.table("latex")
    assert "x\\&y\\%z\\textbackslash{}\\{\\textasciitilde{}\\textasciicircum{}\\#\\$\\} &" in latex
    assert "a|b\\_c*" in latex


@each(
    ("half_width", "value", "digits", "decimals"),
    [
        (0.21, 3.0, 2, 2), (2.1, 3.0, 2, 1), (21.0, 300.0, 2, 0), (210.0, 3000.0, 2, 0),
        (0.0996, 3.0, 2, 2), (0.0994, 3.0, 2, 3), (0.21, 3.0, 1, 1), (0.0, 3.0, 2, 1),
        (0.0, 0.0, 2, 0), (1e-15, 3.0, 2, 1),
    ],
)  # fmt: skip
def test_the_digits_follow_from_the_width(half_width, value, digits, decimals):
    assert decimals_for(half_width, value, digits) == decimals


def test_units_follow_from_the_metric_and_digits_from_who_asks():
    share = {"fifo": [0.61, 0.63, 0.60], "srtf": [0.71, 0.74, 0.70]}
    text = compared("utilisation", share).table()
    assert "| utilisation (%) |" in text
    assert "| srtf | **71.7** [66.5, 76.8] |" in text
    assert "| own time (min) |" in compared("own_time_s", {"fifo": [90.0, 100.0, 95.0]}).table()
    assert "2.0438 [1.9758, 2.1117]" in compared().table(digits=3)
    assert "| own figure |" in compared("own_figure", {"fifo": [90.0, 100.0]}).table()


def test_a_single_seed_has_no_interval():
    text = compared(columns={"fifo": [7200.0], "srtf": [3600.0]}).table()
    assert "| fifo | 2 | - | - |" in text
    assert "| srtf | **1** | -50 | - |" in text
    assert "a single seed: no interval" in text


def test_a_ratio_without_limits_gives_way_to_the_difference():
    near_zero = {"fifo": [-60.0, 120.0, 30.0], "srtf": [3600.0, 3960.0, 3600.0]}
    text = compared(columns=near_zero).table()
    assert "change from fifo (h)" in text
    assert "inf" not in text


def test_what_is_no_difference_has_no_sign():
    equal = {"fifo": [1.0, 2.0, 3.0], "sjf": [1.0, 2.0, 3.0]}
    assert "| sjf | 2.0 [-0.5, 4.5] | 0 [0, 0] | 1.00 |" in compared("own", equal).table()
