"""Tasks of studies in processes, and what they make by seed."""

from __future__ import annotations

import os

import pytest

from gpusched.papers.parallel import BySeed, run_all


@pytest.mark.parametrize("processors", [1, 2])
def test_tasks_come_back_with_what_they_made(
    processors: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    assert dict(run_all(abs, [-3, 0, 2])) == {-3: 3, 0: 0, 2: 2}


def test_an_error_of_a_task_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with pytest.raises(ValueError, match="invalid literal"):
        list(run_all(int, ["1", "one"]))


def test_seeds_are_sorted_and_count_when_every_part_has_them() -> None:
    made: BySeed[str, int] = BySeed(["a", "b"])
    assert made.seeds() == []
    for part, seed in (("a", 2), ("a", 0), ("b", 0), ("a", 1), ("b", 2)):
        made.add(part, seed, 10 * seed + ord(part))
    assert made.seeds() == [0, 2]
    assert made.of("b") == [98, 118]
