"""A memo: what is computed once, how long it is kept."""

from __future__ import annotations

import gc
import weakref
from functools import partial

from gpusched.base.memo import Memo, kept


class Owner:
    pass


def _same(held: Owner) -> Owner:
    return held


def test_a_value_is_computed_once_for_an_owner_and_a_key():
    memo: Memo[Owner, int] = Memo(2)
    asked: list[str] = []

    def value(owner: Owner, key: str) -> int:
        def compute() -> int:
            asked.append(key)
            return len(asked)

        return memo.of(owner, key, compute)

    one, other = Owner(), Owner()
    assert [value(one, "a"), value(one, "a"), value(other, "a"), value(one, "b")] == [1, 1, 2, 3]
    assert asked == ["a", "a", "b"]


def test_of_more_values_than_it_keeps_the_oldest_is_forgotten():
    memo: Memo[Owner, str] = Memo(2)
    owner, made = Owner(), []

    def value(key: str) -> str:
        def compute() -> str:
            made.append(key)
            return key

        return memo.of(owner, key, compute)

    for key in ("a", "b", "c", "c", "b", "a"):
        assert value(key) == key
    assert made == ["a", "b", "c", "a"]


def test_nothing_is_kept_of_an_owner_that_is_gone():
    memo: Memo[Owner, Owner] = Memo(2)
    owner, held = Owner(), Owner()
    seen = weakref.ref(held)
    memo.of(owner, "a", partial(_same, held))
    del held
    assert seen() is not None
    del owner
    gc.collect()
    assert seen() is None


def test_an_error_is_not_remembered():
    memo: Memo[Owner, int] = Memo(2)
    owner = Owner()
    for _ in range(2):
        try:
            memo.of(owner, "a", lambda: 1 // 0)
        except ZeroDivisionError:
            continue
        raise AssertionError("the error was lost")
    assert memo.of(owner, "a", lambda: 7) == 7


class Column:
    def __init__(self) -> None:
        self.asked = 0

    @kept
    def total(self) -> int:
        """The sum."""
        self.asked += 1
        return 7


def test_a_kept_property_is_computed_once_for_each_object():
    one, other = Column(), Column()
    assert (one.total, one.total, other.total) == (7, 7, 7)
    assert (one.asked, other.asked) == (1, 1)


def test_a_class_tells_what_it_keeps():
    assert Column.total.__doc__ == "The sum."
