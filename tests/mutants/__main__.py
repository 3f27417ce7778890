"""Seeds faults, one line each, and says which of them no test notices.

    python -m tests.mutants FILE --work FOLDER [--num 200] [--seed S] [--only PREFIX]

FILE is where verdicts are kept, a line of JSON each: the same command goes on where it was. Faults
are drawn evenly over the files of the core and over the rooms of Python that judge results. Needs
what `.ci/dev.sh` needs; FOLDER gets a copy of the checkout (with ccache a build takes seconds). At
the end a table: faults and those noticed for each room, and every survivor.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
from dataclasses import asdict
from pathlib import Path

from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.trial import Trial

ROOT = Path(__file__).resolve().parent.parent.parent
JUDGES = ("audit", "bounds", "results", "schedules", "statistics", "specs")
"""Rooms of Python in which a fault would make figures wrong."""


def main() -> None:
    """Try faults and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--num", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600.0, help="for a stage of tests")
    parser.add_argument("--only", default="", help="faults whose names begin so")
    parser.add_argument("--table", action="store_true", help="print what there is, try nothing")
    arguments = parser.parse_args()
    known = kept(arguments.file)
    if not arguments.table:
        chosen = [
            one for one in drawn(ROOT, arguments.num, arguments.seed)
            if one.name.startswith(arguments.only)
        ]  # fmt: skip
        copy = arguments.work / "copy"
        if copy.exists():
            shutil.rmtree(copy)
        trial = Trial(ROOT, copy, arguments.seconds)
        for place, mutant in enumerate(chosen, 1):
            if mutant.name in known:
                continue
            verdict = trial.verdict(mutant)
            known[mutant.name] = asdict(mutant) | asdict(verdict)
            with arguments.file.open("a") as out:
                out.write(json.dumps(known[mutant.name]) + "\n")
            print(f"{place}/{len(chosen)} {verdict.kind:8} {mutant.name} {verdict.by}", flush=True)
    print(table(list(known.values())))


def kept(file: Path) -> dict[str, dict[str, object]]:
    """Return what is known, by the names of the faults."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {f"{row['file']}:{row['line']}:{row['column']} {row['operator']}": row for row in rows}


def drawn(root: Path, num: int, seed: int) -> list[Mutant]:
    """Draw faults: file after file in an order of the seed, one of each until there are enough."""
    files = [*(root / "cpp").rglob("*.cpp"), *(root / "cpp").rglob("*.hpp")]
    names = [
        path.relative_to(root).as_posix()
        for path in files
        if path.relative_to(root).parts[1] not in ("bindings", "tools")
    ]
    names += [
        path.relative_to(root).as_posix()
        for room in JUDGES
        for path in (root / "python/gpusched" / room).rglob("*.py")
    ]
    draw = random.Random(seed)
    of_file = {}
    for name in sorted(names):
        found = list(mutants_of(root, name))
        draw.shuffle(found)
        if found:
            of_file[name] = found
    order = sorted(of_file)
    draw.shuffle(order)
    chosen: list[Mutant] = []
    while len(chosen) < num and any(of_file.values()):
        for name in order:
            if of_file[name] and len(chosen) < num:
                chosen.append(of_file[name].pop())
    return chosen


def table(rows: list[dict[str, object]]) -> str:
    """Return how many faults of each room were noticed, and the survivors, in Markdown."""
    by_room: dict[str, list[str]] = {}
    for row in rows:
        parts = str(row["file"]).split("/")
        room = "/".join(parts[1 : 3 if parts[0] == "python" or parts[1] == "plugins" else 2])
        by_room.setdefault(room, []).append(str(row["kind"]))
    lines = ["| room | faults | noticed | |", "|---|--:|--:|--:|"]
    total = noticed = 0
    for room, kinds in sorted(by_room.items()):
        built = [kind for kind in kinds if kind != "unbuilt"]
        seen = sum(kind in ("killed", "hung") for kind in built)
        total, noticed = total + len(built), noticed + seen
        if built:
            lines.append(f"| `{room}` | {len(built)} | {seen} | {seen / len(built):.0%} |")
    if total:
        lines.append(f"| all | {total} | {noticed} | {noticed / total:.0%} |")
    lines += ["", "Survivors:", ""]
    lines += [
        f"- `{row['file']}`, line {row['line']}, {row['operator']}: `{str(row['after']).strip()}`"
        for row in rows
        if row["kind"] == "survived"
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
