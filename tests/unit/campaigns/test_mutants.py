"""Faults are seeded where code is, each changes one line, and a table counts what was noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.__main__ import drawn, table
from tests.mutants.operators import mutants_of

CPP = """\
// a < b && c
#include <vector>
bool less(int a, int b) {
  if (a < b && b > 0) return true;  // a < b
  log("x < y");
  return a + 1 == b;
}
"""
PYTHON = '''\
"""A module: a < b."""


def least(a, b):
    """Return a or b.

    Where a < b.
    """
    if a < b and not b == "x < y":
        return min(a, b) + 1
    raise ValueError("a < b")
'''


@pytest.mark.parametrize(
    ("name", "text", "lines"), [("a.cpp", CPP, {4, 6}), ("a.py", PYTHON, {9, 10})]
)
def test_only_code_is_changed_and_one_line_of_it(
    tmp_path: Path, name: str, text: str, lines: set[int]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = list(mutants_of(tmp_path, name))
    assert {one.line for one in found} == lines
    assert len({one.name for one in found}) == len(found)
    for one in found:
        path.write_text(text)
        one.apply(tmp_path)
        changed = zip(path.read_text().splitlines(), text.splitlines(), strict=True)
        assert [at for at, (new, old) in enumerate(changed, 1) if new != old] == [one.line]
        assert '"x < y"' in one.after or '"x < y"' not in one.before


def test_a_fault_of_another_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(CPP)
    one = next(iter(mutants_of(tmp_path, "a.cpp")))
    path.write_text("\n" + CPP)
    with pytest.raises(ValueError, match="the line is another one now"):
        one.apply(tmp_path)


def test_faults_are_drawn_evenly_over_the_files_and_again_alike(tmp_path: Path) -> None:
    files = ["cpp/engine/a.cpp", "cpp/engine/b.hpp", "python/gpusched/audit/a.py"]
    for name in [*files, "cpp/bindings/a.cpp", "python/gpusched/cli/a.py"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PYTHON if name.endswith(".py") else CPP)
    some = drawn(tmp_path, 5, 3)
    assert some == drawn(tmp_path, 5, 3)
    assert len({tuple(drawn(tmp_path, 5, seed)) for seed in range(8)}) > 1
    assert sorted({one.file for one in some[:3]}) == files
    assert len({one.name for one in some}) == 5


def test_what_does_not_build_is_no_fault() -> None:
    row = {"file": "cpp/engine/a.cpp", "line": 3, "operator": "less", "after": "a < b"}
    rows = [row | {"kind": kind} for kind in ("killed", "hung", "survived", "unbuilt")]
    text = table(rows)
    assert "| `engine` | 3 | 2 | 67% |" in text
    assert text.endswith("- `cpp/engine/a.cpp`, line 3, less: `a < b`")
