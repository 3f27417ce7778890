"""What the docs show runs or compiles: each page in an empty folder, its blocks in their order."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.docs import readers_files
from tests.docs.blocks import (
    COMMANDS,
    NEITHER,
    NOT_RUN_COMMANDS,
    PYTHON,
    ROOT,
    SHELL,
    blocks,
    commands,
    outside_of_fences,
    pages,
)
from tests.docs.run_page import Wrong, run_page

pytestmark = pytest.mark.long

MOST_NOT_RUN = 0
"""Blocks that cannot run here. Write a smaller one before you raise it."""

WITH_CODE = [page for page in pages() if any(b.language in PYTHON | SHELL for b in blocks(page))]


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_code_of_a_page_runs(page, tmp_path):
    readers_files.write(tmp_path)
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.run_page", page], cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path, "MPLBACKEND": "agg", "COLUMNS": "100"},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_every_block_says_in_which_language_it_is():
    for block in (block for page in pages() for block in blocks(page)):
        assert block.language in PYTHON | SHELL | NEITHER, block.where
        if block.language in NEITHER:
            marks = [line for line in block.text.splitlines() if line.startswith(("$ ", ">>> "))]
            assert not marks, f"{block.where}: name the block console or python: {marks}"
        if block.language in SHELL and block.not_run is None:
            for command in commands(block):
                assert command.is_run or command.first_word not in COMMANDS, block.where


def test_commands_stand_in_fences():
    words = COMMANDS | NOT_RUN_COMMANDS
    outside = [
        f"{page}:{number}: {line}"
        for page in pages()
        for number, line in outside_of_fences(page)
        if line.startswith("    ") and line.split() and line.split()[0] in words
    ]
    assert not outside


def test_few_blocks_are_not_run_and_each_says_why():
    reasons = {b.where: b.not_run for page in pages() for b in blocks(page) if b.not_run}
    assert len(reasons) <= MOST_NOT_RUN, reasons
    assert all(len(reason.split()) >= 3 for reason in reasons.values()), reasons


PAGE = """\
# A page

<!-- file: few.txt -->
```text
17
```

```python
with open("few.txt") as few:
    number = int(few.read())
number  # {number}
print("printed")
```

<!-- output -->
```text
{printed}
```

```console
$ python -c 'print("a  table"); print("wall time 5"); print("rows")'
a table
wall time 9
{row}
```
"""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"number": "18"}, r"page\.md:11: shown is 18, it is 17"),
        ({"number": "17.0"}, "shown is 17.0, it is 17"),
        ({"number": "'17'"}, "shown is '17', it is 17"),
        ({"number": "words are no values"}, None),
        ({"printed": "written"}, "shown is\nwritten\n\nprinted was\nprinted"),
        ({"row": "columns"}, "does not print, after what is shown before it,\n  columns"),
    ],
)
def test_a_page_that_shows_what_does_not_happen_fails(tmp_path, monkeypatch, changes, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    text = PAGE.format(**{"number": "17", "printed": "printed", "row": "rows", **changes})
    if said is None:
        run_page("page.md", text)
    else:
        with pytest.raises(Wrong, match=said):
            run_page("page.md", text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("```sh\nrm -rf everything\n```\n", "whether 'rm' is run is not known"),
        ("```sh\npython -c 'raise SystemExit(3)'\n```\n", "page.md:2: .* ended with 3"),
        ("<!-- not run: -->\n```sh\ngpusched\n```\n", "must say what or why"),
        ("<!-- not run: no time -->\n\nText.\n", "stands before text"),
        ("<!-- smaller: 9 -> 1 -->\n```python\nx = 8\n```\n", "nothing says '9'"),
        ("<!-- smaller: 9 -->\n```python\nx = 9\n```\n", "expected 'smaller: A -> B'"),
        ("```python\n\nimport os\nos.nothing\n```\n", "has no attribute 'nothing'"),
    ],
)
def test_a_page_that_does_not_run_fails(tmp_path, monkeypatch, text, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    with pytest.raises((Wrong, ValueError, AttributeError), match=said):
        run_page("page.md", text)


def test_a_block_that_is_not_run_is_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    run_page("page.md", "<!-- not run: it ends the world -->\n```python\nraise OSError\n```\n")
    run_page("page.md", "```sh\npip install nothing-of-this-name && cmake .\n```\n")
    run_page("page.md", "<!-- smaller: 1 / 0 -> 1 / 1 -->\n```python\n1 / 0\n```\n")


NATIVE = [block for page in pages() for block in blocks(page) if block.language == "cpp"]
COMPILER = shutil.which("c++") or shutil.which("g++")
FOLDERS = [ROOT / "cpp" / "include", ROOT / "cpp"]


def test_the_docs_show_a_native_plug_in_for_each_seam():
    registered = "".join(block.text for block in NATIVE)
    for seam in ("Order", "Placement", "Scheduler", "Speed"):
        assert f"GPUSCHED_REGISTER({seam}," in registered, seam


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("block", NATIVE, ids=[block.where for block in NATIVE])
def test_a_native_plug_in_compiles(block, tmp_path):
    source = tmp_path / "plug_in.cpp"
    source.write_text(f'#line {block.line} "{block.page}"\n{block.text}', encoding="utf-8")
    includes = [f"-I{folder}" for folder in FOLDERS if folder.is_dir()]
    done = subprocess.run(
        [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, source],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
