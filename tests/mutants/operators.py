"""One-line faults that people make: each operator turns a line into wrong ones."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_CPP: Final = (
    ("less or equal", r"(?<=[\w)\]]) < (?=[\w(-])", " <= "),
    ("less", r" <= ", " < "),
    ("greater or equal", r"(?<=[\w)\]]) > (?=[\w(-])", " >= "),
    ("greater", r" >= ", " > "),
    ("unequal", r" == ", " != "),
    ("equal", r" != ", " == "),
    ("or", r" && ", " || "),
    ("and", r" \|\| ", " && "),
    ("no one more", r" \+ 1\b", " + 0"),
    ("no one less", r" - 1\b", " - 0"),
    ("minus", r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    ("plus", r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    ("divided", r"(?<=[\w)\]]) \* (?=[\w(])", " / "),
    ("largest", r"std::min\b", "std::max"),
    ("smallest", r"std::max\b", "std::min"),
    ("true", r"\bfalse\b", "true"),
    ("false", r"\btrue\b", "false"),
    ("not taken away", r" -= ", " += "),
    ("not added", r" \+= ", " -= "),
    ("the other way", r"\bif \(!", "if ("),
    ("goes on", r"\bbreak;", "continue;"),
)
_PYTHON: Final = (
    ("less or equal", r"(?<=[\w)\]]) < ", " <= "),
    ("less", r" <= ", " < "),
    ("greater or equal", r"(?<=[\w)\]]) > ", " >= "),
    ("greater", r" >= ", " > "),
    ("unequal", r" == ", " != "),
    ("equal", r" != ", " == "),
    ("or", r" and ", " or "),
    ("and", r" or ", " and "),
    ("no one more", r" \+ 1\b", " + 0"),
    ("no one less", r" - 1\b", " - 0"),
    ("minus", r"(?<=[\w)\]]) \+ (?=[\w(])", " - "),
    ("plus", r"(?<=[\w)\]]) - (?=[\w(])", " + "),
    ("largest", r"\b(np\.)?minimum\b|\bmin\(", None),
    ("true", r"\bFalse\b", "True"),
    ("false", r"(?<!strict=)\bTrue\b", "False"),
    ("the other way", r"\bif not ", "if "),
    ("not added", r" \+= ", " -= "),
)


@dataclass(frozen=True, order=True)
class Mutant:
    """One fault.

    Attributes
    ----------
    file
        Relative to the checkout.
    line
        From 1 on.
    column
        Where in the line.
    operator
        What was done.
    before, after
        The line.
    """

    file: str
    line: int
    column: int
    operator: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """What it is called in results: it says which line became what."""
        return f"{self.file}:{self.line}:{self.column} {self.operator}"

    def apply(self, root: Path) -> None:
        """Write the fault into a checkout."""
        path = root / self.file
        lines = path.read_text().split("\n")
        if lines[self.line - 1] != self.before:
            raise ValueError(f"{self.name}: the line is another one now")
        lines[self.line - 1] = self.after
        path.write_text("\n".join(lines))


def mutants_of(root: Path, file: str) -> Iterator[Mutant]:
    """Return every fault that the operators make in a file."""
    is_python = file.endswith(".py")
    text = (root / file).read_text()
    code = _code_lines(text, is_python)
    for number, line in enumerate(text.split("\n"), 1):
        if not code[number - 1]:
            continue
        end = _end_of_code(line, is_python)
        for operator, pattern, other in _PYTHON if is_python else _CPP:
            for found in re.finditer(pattern, line[:end]):
                if _in_text(line, found.start()):
                    continue
                put = found[0].replace("min", "max") if other is None else other
                after = line[: found.start()] + put + line[found.end() :]
                yield Mutant(file, number, found.start() + 1, operator, line, after)


def _code_lines(text: str, is_python: bool) -> list[bool]:
    """Say of each line whether a fault in it could change what the program does."""
    lines = text.split("\n")
    if not is_python:
        dull = re.compile(r"\s*(//|#|using |template|static_assert|assert)|.*\bfail_\w+\(")
        return [not dull.match(line) for line in lines]
    found, in_doc = [], False
    for line in lines:
        quotes = line.count('"""')
        dull = re.match(r"\s*(#|from |import |raise |@|assert )", line)
        found.append(not in_doc and quotes == 0 and not dull)
        if quotes == 1:
            in_doc = not in_doc
    return found


def _end_of_code(line: str, is_python: bool) -> int:
    place = line.find("  # " if is_python else "//")
    return len(line) if place < 0 else place


def _in_text(line: str, place: int) -> bool:
    """Whether a place lies between quotes."""
    return line[:place].count('"') % 2 == 1 or (
        "'" in line and line[:place].count("'") % 2 == 1 and "'" in line[place:]
    )
