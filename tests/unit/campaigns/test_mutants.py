"""Faults are seeded where code is, each changes one line, and a table counts what was noticed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.__main__ import ROOT, drawn, table
from tests.mutants.asking import ENDED
from tests.mutants.building import _including
from tests.mutants.equivalent import reasons
from tests.mutants.operators import mutants_of
from tests.mutants.rooms import JUDGES, missing, room_of, stages_of

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
def test_only_code_is_changed_and_one_line_of_it(tmp_path, name, text, lines):
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


def test_a_fault_of_another_text_is_refused(tmp_path):
    path = tmp_path / "a.cpp"
    path.write_text(CPP)
    one = next(iter(mutants_of(tmp_path, "a.cpp")))
    path.write_text("\n" + CPP)
    with pytest.raises(ValueError, match="the line is another one now"):
        one.apply(tmp_path)


def test_faults_are_drawn_evenly_over_the_files_and_again_alike(tmp_path):
    files = ["cpp/bindings/a.cpp", "cpp/engine/b.hpp", "python/gpusched/audit/a.py"]
    for name in [*files, "cpp/tools/a.cpp", "python/gpusched/cli/a.py"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PYTHON if name.endswith(".py") else CPP)
    some = drawn(tmp_path, 5, 3)
    assert some == drawn(tmp_path, 5, 3)
    assert len({tuple(drawn(tmp_path, 5, seed)) for seed in range(8)}) > 1
    assert sorted({one.file for one in some[:3]}) == files
    assert len({one.name for one in some}) == 5


def test_what_does_not_build_is_no_fault_and_what_changes_nothing_is_counted_apart():
    (file, after), reason = next(iter(reasons().items()))
    row = {"file": file, "line": 3, "operator": "less", "after": after}
    same = [row | {"kind": kind} for kind in ("killed", "survived", "unbuilt")]
    other = row | {"file": "cpp/engine/a.cpp", "after": "  a < b"}
    text = table([*same, *(other | {"kind": kind} for kind in ("killed", "hung", "survived"))])
    assert "| `engine` | 3 | 2 | 1 | 0 | 66.7% | 66.7% |" in text
    assert f"| `{room_of(file)}` | 2 | 1 | 0 | 1 | 50.0% | 100.0% |" in text
    assert "| all | 5 | 3 | 1 | 1 | 60.0% | 75.0% |" in text
    assert "- `cpp/engine/a.cpp`, line 3, less: `a < b`" in text.splitlines()
    assert f"- `{file}`, line 3, less: `{after}`: {reason}" in text.splitlines()


@pytest.mark.skipif(not (ROOT / "python").is_dir(), reason="needs the sources of the package")
def test_a_known_reason_is_of_a_line_that_some_fault_leaves():
    lines = {
        (file, one.after.strip())
        for file in {file for file, _ in reasons()}
        for one in mutants_of(ROOT, file)
    }
    assert reasons().keys() <= lines


def test_every_test_that_is_asked_is_there_and_of_every_room_some_are():
    assert missing(ROOT) == []
    for room in [*(ROOT / "cpp").iterdir(), *(ROOT / "cpp/plugins").iterdir()]:
        if room.is_dir() and room.name not in ("plugins", "tools"):
            assert len(stages_of((room / "a.cpp").relative_to(ROOT).as_posix())) > 2, room
    for judge in JUDGES:
        assert stages_of(f"python/gpusched/{judge}/a.py")


def test_a_header_is_part_of_all_that_includes_it():
    deps = """\
CMakeFiles/core.dir/cpp/a.cpp.o: #deps 3, deps mtime 1 (VALID)
    ../../cpp/a.cpp
    ../../cpp/a.hpp
    /usr/include/stdio.h

CMakeFiles/_core.dir/cpp/bindings/b.cpp.o: #deps 2, deps mtime 1 (VALID)
    /checkout/cpp/bindings/b.cpp
    /checkout/cpp/a.hpp
"""
    assert _including(deps, Path("/checkout")) == {
        "cpp/a.cpp": {"cpp/a.cpp"},
        "cpp/a.hpp": {"cpp/a.cpp", "cpp/bindings/b.cpp"},
        "cpp/bindings/b.cpp": {"cpp/bindings/b.cpp"},
    }


TESTS = """\
import os, time

def test_passes(): pass
def test_fails(): assert False
def test_hangs(): time.sleep(60)
def test_ends(): os._exit(0)
"""


@pytest.mark.long
def test_what_fails_hangs_or_ends_its_process_is_told(tmp_path):
    file = tmp_path / "test_some.py"
    file.write_text(TESTS)
    expected = {
        ("passes",): ("survived", ""),
        ("passes", "fails", "hangs"): ("killed", "fails"),
        ("passes", "hangs"): ("hung", "hangs"),
        ("passes", "ends"): ("killed", "ends" + ENDED),
    }
    questions = [
        json.dumps({"stages": [[f"{file}::test_{name}"] for name in names], "limit_s": 3.0})
        for names in expected
    ]
    asker = subprocess.run(
        [sys.executable, "-m", "tests.mutants.asking"],
        input="\n".join(questions), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = [json.loads(line) for line in asker.stdout.splitlines()]
    for answer, (kind, by) in zip(answers, expected.values(), strict=True):
        assert answer["kind"] == kind
        assert answer["by"].endswith(by)
