"""Writes what the docs say of registered names, or with ``--check`` compares it with that.

Tables are marked in the pages: ``marked_tables.py`` has those of metrics, bounds, traces and
papers, ``plugin_tables.py`` those of plug-ins.

python docs/tables.py            # needs gpusched installed
python docs/tables.py --check
"""

from __future__ import annotations

import difflib
import sys
from pathlib import Path

import marked_tables
import plugin_tables


def pages() -> dict[Path, str]:
    """Return every page that is written here, in whole or in part, as it should be."""
    texts = marked_tables.pages()
    for path in plugin_tables.pages():
        text = texts.get(path) or path.read_text(encoding="utf-8")
        texts[path] = plugin_tables.marked(text)
    return texts


def main() -> None:
    for path, text in pages().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
            continue
        committed = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != committed:
            lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
            sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
            sys.exit(f"{path.name} is out of date: run `python docs/tables.py`")


if __name__ == "__main__":
    main()
