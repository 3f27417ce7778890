"""Tests that hold many cases tell which fail, try all, and skip where all do."""

import inspect

import pytest

from tests.each import each


def test_the_cases_that_fail_are_named_and_all_are_tried():
    tried = []

    @each(("number", "limit"), named={"two": (2, 3), "four": (4, 3), "five": (5, 3), "one": (1, 3)})
    def below(number: int, limit: int, least: int) -> None:
        tried.append(number)
        if number == 5:
            pytest.fail("five is refused")
        assert least <= number < limit

    assert list(inspect.signature(below).parameters) == ["least"]
    with pytest.raises(pytest.fail.Exception, match="2 of 4 cases fail: four, five\n"):
        below(least=1)
    assert tried == [2, 4, 5, 1]


def test_a_test_is_skipped_where_all_its_cases_are():
    @each("number", [1, 2])
    def some(number: int, enough: int) -> None:
        if number < enough:
            pytest.skip(f"{number} is too small")

    some(enough=2)
    with pytest.raises(pytest.skip.Exception, match="1 is too small"):
        some(enough=3)
