"""How far off answers are, by the grade of their base case."""

from __future__ import annotations

import pytest

from bench.grade_study import Answer, answers, main, table


@pytest.mark.long
def test_better_grades_have_better_answers(capsys):
    found = list(answers(0))
    # 2 logs of 14 pairs and 2 unknown orders, 14 base cases and 2 sizes of the right one, twice.
    assert len(found) == 2 * (14 * 16 + 2 * 14) * 2
    exact = [answer for answer in found if answer.letter == "A"]
    assert len(exact) >= 28
    assert max(answer.effect_factor for answer in exact) < 1.05
    rows = table(found)[1:]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    worst_levels = [float(row[-1]) for row in rows]
    assert worst_levels == sorted(worst_levels)
    main(["--sites", "1"])
    assert capsys.readouterr().out.splitlines()[1].split() == rows[0]


def test_the_table_has_nearest_ranks():
    found = [Answer("C", 1 + k / 10, 2.0) for k in range(10)]
    assert table(found)[1:] == [["C", "10", "1.40", "1.80", "2.00", "2.00"]]
