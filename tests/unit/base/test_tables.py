"""Tables: one object, read by people in terminals, notebooks and papers, and by programs."""

import json
import math

import pytest

from gpusched.base.tables import BEST, Cell, Column, Table, table, text_column

COLUMNS = (
    text_column("policy"),
    Column("mean JCT", kind="time", key="mean_jct_s", short="mean|JCT"),
    Column("95%", kind="time", key="low,high"),
    Column("utilisation", kind="percent", key="utilisation", is_highest_first=True),
    Column("jobs", kind="count"),
)


@pytest.fixture
def made() -> Table:
    rows = [
        ["fifo", 49_680.0, (21_564.0, 29_772.0), 0.5, 1_234],
        [Cell("srtf", mark=" †"), Cell(24_588.0, BEST, "*"), None, 0.931, 7],
        ["a|b_c*", math.nan, (None, None), -0.0004, None],
    ]
    return table("50 % & more_x", COLUMNS, rows, ["a note_"])


def test_a_terminal_has_points_below_each_other_where_units_agree(made):
    assert str(made) == (
        "             mean\n"
        " policy       JCT             95%  utilisation   jobs\n"
        " ────────────────────────────────────────────────────\n"
        " fifo    13.8  h   5.99 .. 8.27 h          50%  1,234\n"
        " srtf †   6.83 h*               -        93.1%      7\n"
        " a|b_c*        -                -       >-0.1%      -"
    )
    mixed = table("", ("", Column("wait", kind="time")), [["a", 90.0], ["b", Cell(7.5, mark="*")]])
    assert str(mixed).splitlines()[2:] == [" a  1.50 min", " b    7.50 s*"]


def test_a_row_becomes_a_column(made):
    turned = made.transposed()
    assert turned.headings == ("policy", "fifo", "srtf †", "a|b_c*")
    assert turned.texts[0] == ("mean JCT", "13.8 h", "6.83 h*", "-")
    assert turned.rows[0][2].style == BEST
    assert "13.8 h  6.83 h*" in str(turned)


def test_rows_are_sorted_the_best_first_and_what_is_undefined_last(made):
    def first(key: str) -> list[str]:
        return [row[0].strip(" †") for row in made.sorted_by(key).texts]

    assert first("mean_jct_s") == ["srtf", "fifo", "a|b_c*"]
    assert first("utilisation") == ["srtf", "fifo", "a|b_c*"]
    assert first("low") == ["fifo", "srtf", "a|b_c*"]
    assert first("jobs") == ["srtf", "fifo", "a|b_c*"]
    assert first("policy") == ["a|b_c*", "fifo", "srtf"]
    blank = table("", ("policy", "ratio"), [["fifo", ""], ["sjf", 0.9], ["srtf", 0.8]])
    assert [row[0] for row in blank.sorted_by("ratio").texts] == ["srtf", "sjf", "fifo"]
    with pytest.raises(ValueError, match="mean JCT"):
        made.sorted_by("mean JCT")


def test_markdown_has_title_bold_and_notes(made):
    assert made.to_markdown() == (
        "**50 % & more_x**\n\n"
        "| policy | mean JCT | 95% | utilisation | jobs |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| fifo | 13.8 h | 5.99 .. 8.27 h | 50% | 1,234 |\n"
        "| srtf † | **6.83 h**\\* | - | 93.1% | 7 |\n"
        "| a\\|b_c\\* | - | - | >-0.1% | - |\n"
        "\na note_\n"
    )


def test_latex_is_escaped(made):
    text = made.to_latex()
    assert text.startswith("\\begin{table}\n\\centering\n\\caption{50 \\% \\& more\\_x}\n")
    assert "policy & mean JCT & 95\\% & utilisation & jobs \\\\\n\\midrule" in text
    assert "srtf $\\dagger$ & \\textbf{6.83 h}* & - & 93.1\\% & 7 \\\\" in text
    assert "a$|$b\\_c* & - & - & $>$$-$0.1\\% & - \\\\" in text
    assert "a note\\_\\par" in text
    bare = table("", COLUMNS[:1], [["2d-las"]], ["below"]).to_latex()
    assert bare.startswith("\\begin{tabular}{l}")
    assert "2d-las \\\\" in bare
    assert bare.endswith("\\end{tabular}\n% below\n")


def test_programs_get_base_units_and_both_limits(made):
    assert made.to_csv() == (
        "policy,mean_jct_s,low,high,utilisation,jobs\n"
        "fifo,49680.0,21564.0,29772.0,0.5,1234\n"
        "srtf,24588.0,,,0.931,7\n"
        "a|b_c*,,,,-0.0004,\n"
    )
    first, _, last = json.loads(made.to_json())
    assert first["high"] == 29_772.0
    assert last["mean_jct_s"] is None


def test_html_is_escaped(made):
    text = table("", ("<b>", "x"), [["a&b", Cell("1", BEST)]]).to_html()
    assert "<th>&lt;b&gt;</th>" in text
    assert "<td>a&amp;b</td><td><b>1</b></td>" in text


def test_details_stand_below_in_a_terminal_and_in_brackets_elsewhere():
    change = table("", ("case", Column("wait", kind="time")), [["a", Cell(90.0, detail="-12.3%")]])
    assert str(change).splitlines()[2:] == [" a     1.50 min", "         -12.3%"]
    assert "| a | 1.50 min (-12.3%) |" in change.to_markdown()
    assert change.to_csv() == "case,wait\na,90.0\n"


def test_rows_must_fit_the_columns(made):
    assert made.without({"mean_jct_s", "low,high"}).headings == ("policy", "utilisation", "jobs")
    with pytest.raises(ValueError, match="does not have 5 cells"):
        table("t", COLUMNS, [["fifo"]])
    assert str(table("", COLUMNS, [])).splitlines()[0].strip() == "mean"
