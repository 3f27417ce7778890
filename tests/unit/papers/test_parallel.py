"""Tasks of studies in processes, and what they make by seed."""

from __future__ import annotations

import os

import pytest

from gpusched.base.failures import Failures
from gpusched.papers.common.parallel import BySeed, run_all


@pytest.mark.parametrize("processors", [1, 2])
def test_tasks_come_back_with_what_they_made(
    processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert dict(run_all(abs, [-3, 0, 2])) == {-3: 3, 0: 0, 2: 2}


@pytest.mark.parametrize("processors", [1, 2])
def test_an_error_of_a_task_reaches_the_caller_when_the_others_are_done(
    processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    done: list[tuple[str, int]] = []
    with pytest.raises(ValueError, match=r"(one|three): invalid literal") as caught:
        done.extend(run_all(int, ["one", "2", "three", "4"]))
    assert dict(done) == {"2": 2, "4": 4}
    assert any(": invalid literal" in note for note in caught.value.__notes__)


class TwoPartsError(Exception):
    """Cannot be made from its message alone, as a pickle would try."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def two_parts(task: int) -> int:
    raise TwoPartsError(task, task + 1)


def test_an_error_that_cannot_travel_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    failures = Failures()
    assert list(run_all(two_parts, [1, 3], failures, lambda task: f"task {task}")) == []
    assert {name: str(error) for name, error in failures.errors.items()} == {
        "task 1": "TwoPartsError: 1 and 2",
        "task 3": "TwoPartsError: 3 and 4",
    }
    assert "in two_parts" in failures.errors["task 1"].__notes__[0]


def test_seeds_are_sorted_and_count_when_every_part_has_them() -> None:
    made: BySeed[str, int] = BySeed(["a", "b"])
    assert made.seeds() == []
    for part, seed in (("a", 2), ("a", 0), ("b", 0), ("a", 1), ("b", 2)):
        made.add(part, seed, 10 * seed + ord(part))
    assert made.seeds() == [0, 2]
    assert made.of("b") == [98, 118]
