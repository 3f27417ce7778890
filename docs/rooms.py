"""Draw the modules of the package and of the core from their imports and includes.

    python docs/rooms.py [--tree CHECKOUT] [--draw FILE.svg]

A module ("room" in the code) is a folder, or a folder in it that is above others (``INNER``). A
line down from one module to another means that a file of the one imports or includes a file of the
other, inside a function or for a type checker alone as well. It is drawn unless it follows from
others. A module is above all that it needs. Without ``--draw`` the script only prints the table of
the modules, as Markdown.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

INNER = ("traces", "generating")


@dataclass
class House:
    """The rooms of one language: the room of each file, and the files that each needs."""

    title: str
    rooms: Mapping[Path, str]
    needs: Mapping[Path, set[Path]]

    @cached_property
    def files(self) -> Counter[str]:
        """The number of files of each room."""
        return Counter(self.rooms.values())

    @cached_property
    def lines(self) -> Counter[str]:
        """The number of lines of each room."""
        lines: Counter[str] = Counter()
        for path, room in self.rooms.items():
            lines[room] += path.read_bytes().count(b"\n")
        return lines

    @cached_property
    def arrows(self) -> dict[str, set[str]]:
        """The rooms that each room needs."""
        arrows: dict[str, set[str]] = {room: set() for room in self.files}
        for path, others in self.needs.items():
            room = self.rooms[path]
            arrows[room] |= {self.rooms[other] for other in others} - {room}
        return arrows

    @cached_property
    def floors(self) -> list[list[str]]:
        """The rooms by floors, from the ground up: each above all that it needs."""
        left = {room: set(ends) for room, ends in self.arrows.items()}
        floors = []
        while left:
            floor = sorted(room for room, ends in left.items() if not ends & left.keys())
            if not floor:
                raise SystemExit(f"{self.title}: a circle among {sorted(left)}")
            floors.append(floor)
            left = {room: ends for room, ends in left.items() if room not in floor}
        return floors

    def direct(self) -> Iterable[tuple[str, str]]:
        """Yield the arrows that no way over other rooms stands for."""
        for room, ends in self.arrows.items():
            for end in ends:
                if not any(end in self.reached(other) for other in ends - {end}):
                    yield room, end

    def reached(self, room: str) -> set[str]:
        """Return the room and all rooms that it needs, over others too."""
        seen: set[str] = set()
        waiting = {room}
        while waiting:
            seen |= waiting
            waiting = set().union(*(self.arrows[one] for one in waiting)) - seen
        return seen


def core(tree: Path) -> House:
    """Read the core: files that include each other."""
    root = tree / "cpp"
    files = {path for path in root.rglob("*") if path.suffix in (".hpp", ".cpp")}
    needs = {
        path: {root / name for name in re.findall(r'#include "([^"]+)"', path.read_text())} & files
        for path in files
    }
    return House("the core, C++", {path: path.relative_to(root).parts[0] for path in files}, needs)


def package(tree: Path) -> House:
    """Read the package: modules that import each other."""
    root = tree / "python" / "gpusched"
    modules = {}
    for path in root.rglob("*.py"):
        if len(path.relative_to(root).parts) > 1:  # the package itself only shows names of rooms
            parts = path.relative_to(root.parent).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    needs: dict[Path, set[Path]] = defaultdict(set)
    for path in modules.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in modules else str(node.module) for name in inner]
                needs[path] |= {modules[name] for name in names if name in modules}
    rooms = {path: path.relative_to(root).parts[0] for path in modules.values()}
    rooms |= {path: ".".join(INNER) for path in rooms if path.relative_to(root).parts[:2] == INNER}
    return House("the package, Python", rooms, needs)


def table(house: House) -> str:
    """Return a Markdown table of the rooms, from the ground up."""
    lines = [f"| module of {house.title} | files | lines |", "|---|--:|--:|"]
    rooms = [room for floor in house.floors for room in floor]
    lines += [f"| `{room}` | {house.files[room]} | {house.lines[room]:,} |" for room in rooms]
    total = f"| {len(rooms)} modules | {house.files.total()} | {house.lines.total():,} |"
    return "\n".join([*lines, total])


def draw(houses: list[House], path: Path) -> None:
    """Draw the rooms as boxes, floor by floor, and lines to what each needs."""
    import altair as alt

    drawn = []
    for house in houses:
        widest = max(map(len, house.floors))
        place = {
            room: ((i + 0.5) * widest / len(floor), level)
            for level, floor in enumerate(house.floors)
            for i, room in enumerate(floor)
        }
        rooms = [
            {"x": x, "y": y, "room": room, "lines": f"{house.lines[room]:,}",
             "left": x - 0.07 * widest, "right": x + 0.07 * widest, "low": y - 0.2, "high": y + 0.2}
            for room, (x, y) in place.items()
        ]  # fmt: skip
        lines = [
            {"x": place[start][0], "y": place[start][1], "x2": place[end][0], "y2": place[end][1]}
            for start, end in house.direct()
        ]
        x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[0, widest]))
        y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(house.floors) - 0.5]))
        boxes = alt.Chart({"values": rooms}).encode(x=x, y=y)
        drawn.append(
            alt.layer(
                alt.Chart({"values": lines}).mark_rule(color="#8096b0", strokeWidth=0.8)
                .encode(x=x, y=y, x2="x2:Q", y2="y2:Q"),
                boxes.mark_rect(color="#eef3f8", stroke="#44546a").encode(
                    x=alt.X("left:Q", axis=None), x2="right:Q",
                    y=alt.Y("low:Q", axis=None), y2="high:Q",
                ),
                boxes.mark_text(dy=-6).encode(text="room:N"),
                boxes.mark_text(dy=7, color="#44546a").encode(text="lines:N"),
                width=1000, height=78 * len(house.floors),
                title=f"{house.title}: {len(house.files)} modules, {house.lines.total():,} lines",
            )
        )  # fmt: skip
    alt.vconcat(*drawn).configure_view(stroke=None).save(str(path))


def main() -> None:
    """Print the tables, and draw the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--draw", type=Path, help="an SVG or PNG file")
    arguments = parser.parse_args()
    houses = [package(arguments.tree), core(arguments.tree)]
    print("\n\n".join(map(table, houses)))
    if arguments.draw is not None:
        draw(houses, arguments.draw)


if __name__ == "__main__":
    main()
