"""What parts of a study made, by seed."""

from __future__ import annotations

from gpusched_papers.study import BySeed


def test_seeds_are_sorted_and_count_when_every_part_has_them() -> None:
    made: BySeed[str, int] = BySeed(["a", "b"])
    assert made.seeds() == []
    for part, seed in (("a", 2), ("a", 0), ("b", 0), ("a", 1), ("b", 2)):
        made.add(part, seed, 10 * seed + ord(part))
    assert made.seeds() == [0, 2]
    assert made.of("b") == [98, 118]
    assert made.at(2) == {"a": 117, "b": 118}
