"""Writes reference/mistakes.md: what is said of the mistakes in tests/mistakes.py.

python docs/mistakes.py            # needs gpusched installed
python docs/mistakes.py --check
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import mistakes

PAGE = Path(__file__).resolve().parent / "reference" / "mistakes.md"
HEAD = """\
<!-- Written by `python docs/mistakes.py` from tests/mistakes.py: do not edit. -->

# Mistakes, and what is said

At the command line a mistake is one line on stderr and exit code 2, in Python a `ValueError`, a
`TypeError` or an error of the system with one line of text. What to do about the more involved ones
is in [troubleshooting](../howto/troubleshooting.md).
"""
CUT = 150
"""Characters of an answer that the page shows."""


def page() -> str:
    """Return the page."""
    with tempfile.TemporaryDirectory() as folder, mistakes.folder(Path(folder)):
        return HEAD + "".join(f"{part}\n" for part in (*_commands(), *_expressions()))


def _commands() -> Iterator[str]:
    yield "\n## At the command line"
    for part, rows in mistakes.CLI.items():
        yield f"\n### {part}\n\n| `gpusched ...` | says |\n|---|---|"
        for arguments in rows:
            _, said, _ = mistakes.said_by_command(arguments)
            yield row(arguments, said.strip().removeprefix("gpusched: "))


def _expressions() -> Iterator[str]:
    yield "\n## In Python"
    names = mistakes.given()
    for part, rows in mistakes.PYTHON.items():
        yield f"\n### {part}\n\n| expression | says |\n|---|---|"
        for expression in rows:
            error = mistakes.said_by_python(expression, names)
            yield row(expression, f"{type(error).__name__}: {error}")


def row(mistake: str, said: str) -> str:
    """Return a row of a table; a long answer is cut."""
    text = said if len(said) <= CUT else said[:CUT].rsplit(" ", 1)[0] + " ..."
    return f"| {_code(mistake)} | {_code(text)} |"


def _code(text: str) -> str:
    """Quote ``text``, which may hold backticks and bars."""
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def without_parser(text: str) -> list[str]:
    """Return the lines of a page, of those with answers of the parser the mistake alone."""
    kept = []
    for line in text.splitlines():
        mistake, bar, said = line.rpartition(" | ")
        is_parsers = said.strip("` |").startswith(mistakes.PARSER)
        kept.append(mistake if bar and is_parsers else line)
    return kept


def main() -> None:
    """Write the page, or with ``--check`` compare it."""
    made = page()
    if sys.argv[1:] == ["--check"]:
        if without_parser(PAGE.read_text(encoding="utf-8")) != without_parser(made):
            sys.exit("mistakes.md is out of date: run `python docs/mistakes.py`")
        return
    PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
