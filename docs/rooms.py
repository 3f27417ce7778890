"""Draw the rooms of the core and of the package, and count what lies in them and between them.

    python docs/rooms.py [--tree CHECKOUT] [--draw FILE.png]

A room is a folder; an arrow from one room to another means that some file of the one includes or
imports some file of the other, inside a function or for a type checker alone as well. Rooms stand
on floors such that few arrows point upward; those are red. Without ``--draw`` only the
table is printed, as Markdown.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Arrows = Mapping[str, set[str]]


@dataclass
class House:
    """The rooms of one language.

    Attributes
    ----------
    files, lines
        Of each room.
    arrows
        From each room to those it needs.
    circular
        Files that need each other in a circle.
    """

    title: str
    files: Counter[str] = field(default_factory=Counter)
    lines: Counter[str] = field(default_factory=Counter)
    arrows: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    circular: set[str] = field(default_factory=set)

    @property
    def order(self) -> list[str]:
        """The rooms from the ground up, with few arrows upward."""
        return ordered(set(self.files), self.arrows)

    @property
    def upward(self) -> list[tuple[str, str]]:
        """The arrows to a room that stands higher."""
        height = {room: floor for floor, room in enumerate(self.order)}
        return [(a, b) for a, ends in self.arrows.items() for b in ends if height[b] > height[a]]

    @property
    def num_arrows(self) -> int:
        """How many pairs of rooms there are of which one needs the other."""
        return sum(map(len, self.arrows.values()))


def house_of(title: str, needs: Mapping[Path, set[Path]], rooms: Mapping[Path, str]) -> House:
    """Gather files into rooms."""
    house = House(title)
    for path, room in rooms.items():
        house.files[room] += 1
        house.lines[room] += sum(1 for _ in path.open(encoding="utf-8"))
        house.arrows[room] |= {rooms[other] for other in needs[path]} - {room}
    for circle in circles({str(a): {str(b) for b in ends} for a, ends in needs.items()}):
        house.circular |= circle
    return house


def circles(arrows: Arrows) -> Iterator[set[str]]:
    """Yield the sets of more than one node in which each can reach each other."""
    reach = {node: reached(arrows, node) for node in arrows}
    left = set(arrows)
    while left:
        node = left.pop()
        circle = {other for other in reach[node] if node in reach.get(other, ())}
        left -= circle
        if len(circle) > 1:
            yield circle


def reached(arrows: Arrows, node: str) -> set[str]:
    """Return all that can be come to from a node, itself only where it lies in a circle."""
    seen: set[str] = set()
    waiting = [node]
    while waiting:
        new = arrows.get(waiting.pop(), set()) - seen
        seen |= new
        waiting += new
    return seen


def ordered(rooms: Iterable[str], arrows: Arrows) -> list[str]:
    """Order rooms from the ground up: whoever needs fewest of those that are left comes next."""
    left, order = set(rooms), list[str]()
    while left:
        room = min(
            left,
            key=lambda one: (
                len(arrows.get(one, set()) & left - {one}),
                -sum(one in arrows.get(other, ()) for other in left),
                one,
            ),
        )
        order.append(room)
        left.remove(room)
    return order


def core(tree: Path) -> House:
    """Read the core: files that include each other."""
    root = tree / "cpp"
    files = [path for path in root.rglob("*") if path.suffix in (".hpp", ".cpp")]
    needs = {}
    for path in files:
        names = re.findall(r'#include "([^"]+)"', path.read_text(encoding="utf-8"))
        found = ((root / name, root / "include" / name, path.parent / name) for name in names)
        needs[path] = {
            other for choice in found for other in choice if other in files and other != path
        }
    rooms = {path: path.parent.relative_to(root).as_posix() for path in files}
    return house_of(
        "the core, C++", needs, {p: room.split("/gpusched")[0] for p, room in rooms.items()}
    )


def package(tree: Path) -> House:
    """Read the package: modules that import each other."""
    root = tree / "python" / "gpusched"
    modules = {}
    for path in root.rglob("*.py"):
        parts = path.relative_to(root.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    del modules["gpusched"]  # shows names of all rooms, and is needed by none
    needs = {path: imported(path, modules) - {path} for path in modules.values()}
    rooms = {}
    for path in modules.values():
        parts = path.relative_to(root).parts[:-1]
        rooms[path] = "/".join(parts) or "(top)"
    rooms = {path: room.split("/")[0] for path, room in rooms.items()}
    return house_of("the package, Python", needs, rooms)


def imported(path: Path, modules: Mapping[str, Path]) -> set[Path]:
    """Return the modules of the package that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in modules else str(node.module) for name in inner]
        found |= {modules[name] for name in names if name in modules}
    return found


def table(houses: Iterable[House]) -> str:
    """Return a Markdown table of the sums and one of the rooms of each language."""
    lines = [
        "| | rooms | files | lines | arrows between rooms | of them upward | files in circles |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    houses = list(houses)
    lines += [
        f"| {house.title} | {len(house.files)} | {house.files.total()} | "
        f"{house.lines.total():,} | {house.num_arrows} | {len(house.upward)} | "
        f"{len(house.circular)} |"
        for house in houses
    ]
    for house in houses:
        lines += ["", f"| room of {house.title} | files | lines |", "|---|--:|--:|"]
        lines += [
            f"| `{room}` | {house.files[room]} | {house.lines[room]:,} |" for room in house.order
        ]
    return "\n".join(lines)


def direct(house: House) -> Arrows:
    """Return the arrows that no way over other rooms stands for, and all that point upward."""
    upward = set(house.upward)
    down = {
        room: {end for end in ends if (room, end) not in upward}
        for room, ends in house.arrows.items()
    }
    kept = {
        room: {
            end for end in ends if not any(end in reached(down, other) for other in ends - {end})
        }
        for room, ends in down.items()
    }
    for start, end in upward:
        kept[start].add(end)
    return kept


def draw(houses: list[House], path: Path) -> None:
    """Draw the rooms as boxes from the ground up, and arrows to what each needs directly."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

    height = max(len(house.files) for house in houses)
    figure, axes = plt.subplots(1, len(houses), figsize=(8 * len(houses), 0.55 * height + 1))
    for axis, house in zip(axes, houses, strict=True):
        place = {room: floor for floor, room in enumerate(house.order)}
        upward = set(house.upward)
        axis.set(xlim=(-4.2, 4.2), ylim=(-0.8, height - 0.2))
        axis.axis("off")
        shown = f"{len(house.files)} rooms, {house.num_arrows} arrows, {len(upward)} upward"
        axis.set_title(f"{house.title}: {shown}", fontsize=11)
        for room, floor in place.items():
            axis.text(
                0,
                floor,
                f"{room}   {house.files[room]} files, {house.lines[room]:,} lines",
                ha="center",
                va="center",
                fontsize=9,
            )
            axis.add_patch(
                FancyBboxPatch(
                    (-1.85, floor - 0.22),
                    3.7,
                    0.44,
                    boxstyle="round,pad=0.05",
                    facecolor="#eef3f8",
                    edgecolor="#44546a",
                    zorder=0,
                )
            )
        for start, ends in direct(house).items():
            for end in ends:
                is_upward = (start, end) in upward
                span = place[end] - place[start]
                side = 1.95 if is_upward else -1.95
                axis.add_patch(
                    FancyArrowPatch(
                        (side, place[start]),
                        (side, place[end]),
                        connectionstyle=f"arc3,rad={0.5 if abs(span) < 4 else 0.3}",
                        arrowstyle="-|>",
                        mutation_scale=8,
                        linewidth=1.6 if is_upward else 0.8,
                        color="#c00000" if is_upward else "#8096b0",
                    )
                )
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    """Print the table, and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tree", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--draw", type=Path, help="a PNG or SVG file")
    arguments = parser.parse_args()
    houses = [core(arguments.tree), package(arguments.tree)]
    print(table(houses))
    if arguments.draw is not None:
        draw(houses, arguments.draw)


if __name__ == "__main__":
    main()
