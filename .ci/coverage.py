"""Prints covered lines and branches by room: ``coverage.py GCOVR.json COVERAGE.json``.

Both are in per cent, with how many there are; a room is a folder of cpp/ or of the package.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path, PurePath

KINDS = ("lines", "branches")


def cpp_rooms(path: Path) -> dict[str, Counter[str]]:
    """Sum gcovr's summary by folder."""
    rooms: dict[str, Counter[str]] = {}
    for file in json.loads(path.read_text(encoding="utf-8"))["files"]:
        room = rooms.setdefault(PurePath(file["filename"]).parent.as_posix(), Counter())
        room.update(
            {
                "lines": file["line_total"],
                "lines covered": file["line_covered"],
                "branches": file["branch_total"],
                "branches covered": file["branch_covered"],
            }
        )
    return rooms


def python_rooms(path: Path) -> dict[str, Counter[str]]:
    """Sum the report of coverage.py by folder."""
    rooms: dict[str, Counter[str]] = {}
    for name, file in json.loads(path.read_text(encoding="utf-8"))["files"].items():
        folders = PurePath(name).parts
        room = PurePath(*folders[folders.index("gpusched") : -1]).as_posix()
        found = file["summary"]
        rooms.setdefault(room, Counter()).update(
            {
                "lines": found["num_statements"],
                "lines covered": found["covered_lines"],
                "branches": found["num_branches"],
                "branches covered": found["covered_branches"],
            }
        )
    return rooms


def row(name: str, counts: Counter[str]) -> str:
    """Write one line of the table."""
    cells = [f"{name:32}"]
    for kind in KINDS:
        share = f"{counts[kind + ' covered'] / counts[kind]:.1%}" if counts[kind] else "-"
        cells.append(f"{share:>7} of {counts[kind]:>6}")
    return "  ".join(cells)


def main() -> None:
    print(f"{'room':32}  {'lines':>17}  {'branches':>17}")
    for rooms, total in (
        (cpp_rooms(Path(sys.argv[1])), "C++"),
        (python_rooms(Path(sys.argv[2])), "Python"),
    ):
        for name, counts in sorted(rooms.items()):
            print(row(name, counts))
        print(row(total, sum(rooms.values(), Counter())))


if __name__ == "__main__":
    main()
