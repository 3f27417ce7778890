"""Holds the language of pages and code: ``python docs/prose.py``; ``--counts``: numbers alone.

Pages: no word of the list, 18 words a sentence on average, at most 3% of sentences over 30 words.
Code: no word of the list in strings of the package, which are its help, messages and docstrings.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *ROOT.glob("C*.md"),
    ROOT / "SECURITY.md",
    *ROOT.glob("contributing/*.md"),
    *ROOT.glob("docs/**/*.md"),
]
WORDS = re.compile(
    r"\b(whoever|whom|nobody|somebody|everybody|stands?(?! for|-in)|tells?|told|anew|amid|beside"
    r"|thereof|midst|at hand|by itself|for ever|as it is|be it|seams?|campaigns?|goes round"
    r"|gives way|gangs?(?! scheduling)"
    r"|(?<!researchers )(?<!people )(?<!users )(?<!those )(?<!person )(?<!one )who)\b",
    re.IGNORECASE,
)
CODE = re.compile(
    r"^(```|~~~).*?^\1|`[^`\n]*`|^\|[^\n]*|^#[^\n]*|<!--.*?-->|\$\$.*?\$\$|\]\([^)\n]*\)",
    re.MULTILINE | re.DOTALL,
)
NAMES = re.compile(r"^ *\w+(, \w+)*$|^ *>>> .*$|``[^`]*``", re.MULTILINE)
END = re.compile(r"(?<=[.!?:])[\"')*_]*\s+(?=[\"'(*_\[]*[A-Z0-9x])|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s")


def found(where: str, text: str) -> list[str]:
    """Return the words of the list in a text, each with its line."""
    return [f"{where}:{text[: m.start()].count(chr(10)) + 1}: {m[0]}" for m in WORDS.finditer(text)]


def main() -> None:
    faults, lengths, total = [], [], 0
    for page in sorted(page for page in PAGES if not {"data", "_build"} & {*page.parts}):
        text = CODE.sub(lambda m: "\n" * m[0].count("\n") + " x ", page.read_text("utf-8"))
        own = [n for one in END.split(text) if one and (n := len(one.split())) > 2]
        faults += found(page.relative_to(ROOT).as_posix(), text)
        total, lengths = total + sum(own), lengths + own
    for path in sorted(ROOT.glob("python/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                text = NAMES.sub("", node.value)
                faults += found(f"{path.relative_to(ROOT)}+{node.lineno}", text)
    mean, long = sum(lengths) / len(lengths), sum(n > 30 for n in lengths) / len(lengths)
    print(
        f"{total:,} words of prose, {mean:.1f} a sentence, {long:.1%} of sentences over 30 words;"
    )
    print(f"words of the list: {len(faults):,}")
    if (faults or mean > 18 or long > 0.03) and "--counts" not in sys.argv:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
