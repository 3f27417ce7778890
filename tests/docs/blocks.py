"""The code blocks of a Markdown page, and what its hidden comments say of them.

A comment of one line before a fence says how the block that follows is to be taken:

``<!-- not run: REASON -->``
    It cannot run here.
``<!-- smaller: A -> B -->``
    Where the page says A, B runs: the same code with less work.
``<!-- file: NAME -->``
    The block is the text of a file that later blocks read.
``<!-- output -->``
    The block is all that the block of Python before it prints.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PYTHON = {"python"}
SHELL = {"sh", "bash", "shell", "console"}
NEITHER = {"", "cpp", "toml", "text", "{toctree}", "{eval-rst}"}
"""What is shown and is no code that can run by itself."""

COMMANDS = {"gpusched", "python"}
NOT_RUN_COMMANDS = {"pip", "cmake", "git", "pytest"}
"""They install, build or test the very thing that is running."""
NOT_RUN_FOLDERS = ("build/",)

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})\s*(?P<info>\S*)\s*(?P<argument>.*)$")
_COMMENT = re.compile(r"^<!-- (?P<key>not run|smaller|file|output):?(?P<text>.*)-->$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its text, and where that begins in the file ``source``, from line 1."""

    page: str
    line: int
    language: str
    text: str
    source: Path
    not_run: str | None = None
    smaller: tuple[tuple[str, str], ...] = ()
    file: str | None = None
    is_output: bool = False

    @property
    def where(self) -> str:
        return f"{self.source.relative_to(ROOT)}:{self.line}"

    def runnable(self) -> str:
        """Return the text with less work in it, on the same lines."""
        text = self.text
        for long, short in self.smaller:
            if long not in text:
                raise ValueError(f"{self.where}: nothing says {long!r}, which is to be smaller")
            text = text.replace(long, short)
        return text


def pages() -> list[str]:
    """Return every page a reader is shown, relative to the repository."""
    docs = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md"))
    return ["README.md", *(page for page in docs if "/_build/" not in page)]


def blocks(page: str, text: str | None = None) -> list[Block]:
    """Return the fenced blocks of a page in order; ``text`` stands in for the file."""
    source = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    return list(_blocks(page, source.split("\n")))


def _blocks(page: str, lines: list[str]) -> Iterator[Block]:
    said: dict[str, str] = {}
    smaller: list[tuple[str, str]] = []
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if comment := _COMMENT.match(line):
            key, value = comment["key"], comment["text"].strip()
            if not value and key != "output":
                raise ValueError(f"{page}:{number}: {key!r} must say what or why")
            if key == "smaller":
                long, arrow, short = value.partition(" -> ")
                if not arrow:
                    raise ValueError(f"{page}:{number}: expected 'smaller: A -> B', not {value!r}")
                smaller.append((long, short))
            else:
                said[key] = value
        elif fence := _FENCE.match(line):
            end = number
            while lines[end].strip() != fence["fence"]:
                end += 1
            language, code = fence["info"], "\n".join(lines[number:end]) + "\n"
            path, first = ROOT / page, number + 1
            if language == "{literalinclude}":
                path, first = (path.parent / fence["argument"].strip()).resolve(), 1
                language, code = "python", path.read_text(encoding="utf-8")
            yield Block(
                page, first, language, code, path, said.get("not run"), tuple(smaller),
                said.get("file"), "output" in said,
            )  # fmt: skip
            said, smaller, number = {}, [], end + 1
        elif line.strip() and (said or smaller):
            raise ValueError(f"{page}:{number}: a comment for a code block stands before text")


def outside_of_fences(page: str, text: str | None = None) -> Iterator[tuple[int, str]]:
    """Yield (number, line) of the lines that stand in no fenced block."""
    source = (ROOT / page).read_text(encoding="utf-8") if text is None else text
    fence = None
    for number, line in enumerate(source.split("\n"), start=1):
        match = _FENCE.match(line)
        if fence is None and match:
            fence = match["fence"]
        elif fence is None:
            yield number, line
        elif line.strip() == fence:
            fence = None


@dataclass(frozen=True)
class Command:
    """One command of a shell block, and the output that the page shows for it, if any."""

    line: int
    text: str
    shown: tuple[str, ...] = ()

    @property
    def first_word(self) -> str:
        return self.text.split()[0]

    @property
    def is_run(self) -> bool:
        """Whether it is run; raises ValueError if that is not known."""
        word = self.first_word
        if word in COMMANDS:
            return True
        if word in NOT_RUN_COMMANDS or word.startswith(NOT_RUN_FOLDERS):
            return False
        raise ValueError(f"line {self.line}: whether {word!r} is run is not known")


def commands(block: Block) -> list[Command]:
    """Return the commands of a shell block; those of ``a && b`` one by one.

    In a ``console`` block commands follow ``$ ``, and what lies between is their output.
    """
    found: list[Command] = []
    lines = block.runnable().replace("\\\n", "  ").rstrip("\n").split("\n")
    for number, line in enumerate(lines, start=block.line):
        if block.language != "console":
            text = line
        elif line.startswith("$ "):
            text = line[2:]
        else:
            last = found.pop()
            found.append(Command(last.line, last.text, (*last.shown, line)))
            continue
        parts = (part.strip() for part in re.split(r"&&|\s#.*$|^#.*$", text))
        found += [Command(number, part) for part in parts if part]
    return found
