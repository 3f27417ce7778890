"""Prints covered lines and branches by room: ``coverage.py LLVM_COV.json COVERAGE.json LEFT.txt``.

Both are in per cent, with how many there are; a room is a folder of cpp/ or of the package. What
was not reached is written to LEFT.txt, a line for each file.

A branch of the core is one side of one condition of the source: each operand of ``&&`` and ``||``
has two, and so has each case of a switch. Edges of exceptions and branches that a compiler adds are
none. The instances of a template are one, as are the copies of an inline function. A line of the
core counts if it has more than a comment or brackets.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

KINDS = ("lines", "branches")
SHOWN_WITHOUT_CODE = re.compile(r"\s*(//.*|[{}()\[\];,]*)")
# Decided when the core is compiled: what stands before the condition, and its text.
CONSTANT = re.compile(r".*\bif constexpr \([^;{]*\0.*|.*\bwhile \(\0true\).*")


@dataclass
class File:
    """What there is in a file, and what of it was not reached."""

    room: str
    total: dict[str, int]
    left: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})


def counted_lines(segments: Sequence[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """Give each line that has code and how often it ran, as llvm-cov shows them.

    A segment, (line, column, count, has a count, begins a region, is a gap), lasts to the next one.
    """
    by_line = defaultdict(list)
    for line, _, *rest in segments:
        by_line[line].append(rest)
    before: Sequence[Any] = (0, False, False, False)
    for line in range(min(by_line, default=0), max(by_line, default=-1) + 1):
        own = by_line.get(line, [])
        begun = [count for count, is_counted, begins, is_gap, *_ in own
                 if is_counted and begins and not is_gap]  # fmt: skip
        is_skipped = bool(own) and not own[0][1] and own[0][2]
        if not is_skipped and (before[1] or begun):
            yield line, max([before[0], *begun])
        before = own[-1] if own else before


def core_file(found: dict[str, Any], root: Path) -> File:
    """Read one file of llvm-cov's export."""
    path = Path(found["filename"])
    text = path.read_text(encoding="utf-8").splitlines()
    lines = {
        line: count
        for line, count in counted_lines(found["segments"])
        if not SHOWN_WITHOUT_CODE.fullmatch(text[line - 1])
    }
    sides: dict[tuple[int, int], list[int]] = {}
    for line, column, _, _, *counts in found.get("branches", []):
        at = text[line - 1]
        is_constant = CONSTANT.fullmatch(f"{at[: column - 1]}\0{at[column - 1 :]}")
        if any(counts[:2]) or not is_constant:
            own = sides.setdefault((line, column), [0, 0])
            own[:] = [count + more for count, more in zip(own, counts, strict=False)]
    file = File(
        path.parent.relative_to(root).as_posix(), {"lines": len(lines), "branches": 2 * len(sides)}
    )
    file.left["lines"] = [str(line) for line, count in lines.items() if not count]
    file.left["branches"] = [
        f"{line}:{column} {side}"
        for (line, column), counts in sorted(sides.items())
        for side, count in zip(("true", "false"), counts, strict=True)
        if not count
    ]
    return file


def core_files(path: Path) -> dict[str, File]:
    """Read llvm-cov's export, of the core alone."""
    root = Path.cwd()
    exported = json.loads(path.read_text(encoding="utf-8"))["data"][0]["files"]
    own = [found for found in exported if (root / "cpp") in Path(found["filename"]).parents]
    return {
        Path(found["filename"]).relative_to(root).as_posix(): core_file(found, root)
        for found in own
    }


def python_files(path: Path) -> dict[str, File]:
    """Read the report of coverage.py."""
    files = {}
    for name, found in json.loads(path.read_text(encoding="utf-8"))["files"].items():
        folders = PurePath(name).parts
        inside = folders[len(folders) - 1 - folders[::-1].index("gpusched") :]
        summary = found["summary"]
        file = File(
            PurePath(*inside[:-1]).as_posix(),
            {"lines": summary["num_statements"], "branches": summary["num_branches"]},
        )
        file.left["lines"] = [str(line) for line in found["missing_lines"]]
        file.left["branches"] = [f"{begin}->{end}" for begin, end in found["missing_branches"]]
        files[PurePath(*inside).as_posix()] = file
    return files


def row(name: str, files: Sequence[File]) -> str:
    """Write one line of the table."""
    cells = [f"{name:40}"]
    for kind in KINDS:
        total = sum(file.total[kind] for file in files)
        left = sum(len(file.left[kind]) for file in files)
        cells.append(f"{f'{1 - left / total:.1%}' if total else '-':>7} of {total:>6}")
    return "  ".join(cells)


def main() -> None:
    print(f"{'room':40}  {'lines':>17}  {'branches':>17}")
    texts = []
    for total, files in (
        ("C++", core_files(Path(sys.argv[1]))),
        ("Python", python_files(Path(sys.argv[2]))),
    ):
        rooms = defaultdict(list)
        for name, file in sorted(files.items()):
            rooms[file.room].append(file)
            for kind in KINDS:
                if file.left[kind]:
                    texts.append(f"{name}, {kind}: {', '.join(file.left[kind])}\n")
        for room, own in sorted(rooms.items()):
            print(row(room, own))
        print(row(total, list(files.values())))
    Path(sys.argv[3]).write_text("".join(texts), encoding="utf-8")


if __name__ == "__main__":
    main()
