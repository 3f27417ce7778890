"""Runs the study that README shows; writes its table there and its picture into ``docs``.

python docs/study_example.py            # needs gpusched[plot] installed
python docs/study_example.py --check    # the table alone
"""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import gpusched as gs

DOCS: Final = Path(__file__).resolve().parent
README: Final = DOCS.parent / "README.md"
PICTURE: Final = DOCS / "studies" / "figures" / "loads.svg"
_STUDY: Final = re.compile(r"<!-- file: study\.toml -->\n```toml\n(.*?)```\n", re.DOTALL)
_SHOWN: Final = re.compile(
    r"(```console\n\$ (gpusched sweep study\.toml[^\n]*)\n).*?(```\n)", re.DOTALL
)


def with_table(text: str, folder: Path) -> str:
    """Return a page with what its command prints, after running it in ``folder``."""
    study, shown = _STUDY.search(text), _SHOWN.search(text)
    if study is None or shown is None:
        raise ValueError("the page shows no study, or no command that runs it")
    (folder / "study.toml").write_text(study[1], encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", *shown[2].split()],
        cwd=folder,
        env=os.environ | {"COLUMNS": "100"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return text[: shown.start()] + shown[1] + done.stdout + shown[3] + text[shown.end() :]


def draw(folder: Path) -> None:
    """Draw the study that was run in ``folder``."""
    import matplotlib as mpl

    mpl.rcParams |= {"svg.hashsalt": "gpusched", "svg.fonttype": "none"}
    result = gs.sweep(folder / "study.toml", folder=folder / "study.sweep")
    figure = gs.plot.lines(result, "mean_jct_s", x="load", library="matplotlib")
    figure.savefig(PICTURE, metadata={"Date": None}, bbox_inches="tight")


def main() -> None:
    committed = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        text = with_table(committed, Path(name))
        if "--check" not in sys.argv[1:]:
            README.write_text(text, encoding="utf-8")
            draw(Path(name))
        elif text != committed:
            lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
            sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
            sys.exit("README.md is out of date: run `python docs/study_example.py`")


if __name__ == "__main__":
    main()
