"""Seeds faults, one line each, and says which of them no test notices.

    python -m tests.mutants FILE --work FOLDER [--num 200] [--seed S] [--only PREFIX]

FILE is where verdicts are kept, a line of JSON each: the same command goes on where it was, and
with `--again` it asks once more of those that survived. Faults are drawn evenly over the files of
the core and the bindings, and over the rooms of Python that judge results; headers that more than
`--units` sources include are left out. Needs what `.ci/dev.sh` needs; FOLDER gets a copy of the
checkout, in which it is built once. At the end a table: for each room the faults, those noticed,
those that survived and those that change nothing, and every survivor.
"""

import argparse
import json
import random
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tests.mutants.asking import ENDED
from tests.mutants.equivalent import reason_of
from tests.mutants.operators import Mutant, mutants_of
from tests.mutants.rooms import JUDGES, room_of
from tests.mutants.trial import Trial

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    """Try faults and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--num", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=15.0, help="for a test")
    parser.add_argument("--units", type=int, default=4, help="that a header may be part of")
    parser.add_argument("--only", default="", help="faults whose names begin so")
    parser.add_argument("--again", action="store_true", help="ask of survivors once more")
    parser.add_argument(
        "--check", action="store_true", help="that what noticed a fault passes without any"
    )
    parser.add_argument("--table", action="store_true", help="print what there is, try nothing")
    arguments = parser.parse_args()
    known = kept(arguments.file)
    faults = drawn(ROOT, arguments.num, arguments.seed)
    if not arguments.table:
        trial = Trial(ROOT, arguments.work / "copy", arguments.seconds)
        chosen = [
            one for one in faults
            if one.name.startswith(arguments.only)
            and trial.num_units(one.file) <= arguments.units
        ]  # fmt: skip
        for place, mutant in enumerate(chosen, 1):
            is_open = known.get(mutant.name, {}).get("kind") == "survived" and not reason_of(
                mutant.file, mutant.after
            )
            if mutant.name in known and not (arguments.again and is_open):
                continue
            verdict = trial.verdict(mutant)
            known[mutant.name] = asdict(mutant) | asdict(verdict)
            with arguments.file.open("a") as out:
                out.write(json.dumps(known[mutant.name]) + "\n")
            print(
                f"{place}/{len(chosen)} {verdict.kind:8} {verdict.seconds:5.1f} s {mutant.name} "
                f"{verdict.by}",
                flush=True,
            )
        if arguments.check:
            trial.unharmed(noticing(known.values()))
    print(table([known[one.name] for one in faults if one.name in known]))


def kept(file: Path) -> dict[str, dict[str, object]]:
    """Return what is known, by the names of the faults."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {f"{row['file']}:{row['line']}:{row['column']} {row['operator']}": row for row in rows}


def noticing(rows: Iterable[dict[str, object]]) -> list[str]:
    """Return the tests that noticed a fault."""
    names = {str(row["by"]).removesuffix(ENDED) for row in rows if row["kind"] == "killed"}
    return sorted(name for name in names if "::" in name)


def drawn(root: Path, num: int, seed: int) -> list[Mutant]:
    """Draw faults: file after file in an order of the seed, one of each until there are enough."""
    files = [*(root / "cpp").rglob("*.cpp"), *(root / "cpp").rglob("*.hpp")]
    names = [
        path.relative_to(root).as_posix()
        for path in files
        if path.relative_to(root).parts[1] != "tools"
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
    """Return what became of the faults of each room, and the survivors, in Markdown."""
    by_room: dict[str, list[str]] = {}
    survivors = []
    for row in rows:
        if row["kind"] == "unbuilt":
            continue
        kind = str(row["kind"])
        if kind == "survived":
            reason = reason_of(str(row["file"]), str(row["after"]))
            kind = "equivalent" if reason else kind
            survivors.append(
                f"- `{row['file']}`, line {row['line']}, {row['operator']}: "
                f"`{str(row['after']).strip()}`" + (f": {reason}" if reason else "")
            )
        by_room.setdefault(room_of(str(row["file"])), []).append(kind)
    by_room = dict(sorted(by_room.items()))
    by_room["all"] = [kind for kinds in by_room.values() for kind in kinds]
    lines = [
        "| room | faults | noticed | survived | change nothing | noticed of all | of the rest |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for room, kinds in by_room.items():
        num, same, left = len(kinds), kinds.count("equivalent"), kinds.count("survived")
        seen = num - same - left
        name = room if room == "all" else f"`{room}`"
        shares = f"{_percent(seen, num)} | {_percent(seen, num - same)}"
        lines.append(f"| {name} | {num} | {seen} | {left} | {same} | {shares} |")
    return "\n".join([*lines, "", "Survivors:", "", *sorted(survivors)])


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


if __name__ == "__main__":
    main()
