"""Tables of comparisons: digits, units, marks, and signs that LaTeX would take for commands."""

from __future__ import annotations

import re

import polars as pl

from gpusched.studies import compare_runs
from gpusched.studies.paper_tables import decimals_for
from tests.each import each

JCT = {"fifo": [7200.0, 7560.0, 7380.0, 7290.0], "srtf": [3600.0, 3960.0, 3600.0, 3780.0]}


def runs_of(metric="mean_jct_s", columns=JCT, **more):
    rows = [
        {"policy": policy, "seed": seed, metric: value} | more
        for policy, values in columns.items()
        for seed, value in enumerate(values)
    ]
    return pl.DataFrame(rows)


def compared(metric="mean_jct_s", columns=JCT, baseline="fifo", **more):
    return compare_runs(
        runs_of(metric, columns, **more), metric, baseline=baseline, method="t", by=list(more)
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
    runs = pl.concat([runs_of(load=0.7), runs_of(load=0.9)])
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


def test_more_digits_can_be_asked_for():
    assert "2.0438 [1.9758, 2.1117]" in compared().table(digits=3)


def test_units_follow_from_the_metric():
    share = {"fifo": [0.61, 0.63, 0.60], "srtf": [0.71, 0.74, 0.70]}
    text = compared("utilisation", share).table()
    assert "| utilisation (%) |" in text
    assert "| srtf | **71.7** [66.5, 76.8] |" in text
    assert "| own time (min) |" in compared("own_time_s", {"fifo": [90.0, 100.0, 95.0]}).table()
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
