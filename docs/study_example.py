"""Runs the study that README shows; writes its table there and its picture into ``docs``.

python docs/study_example.py            # needs gpusched-core[plot] installed
python docs/study_example.py --check    # whether both are as they stand
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
from xml.etree import ElementTree

import gpusched as gs

DOCS: Final = Path(__file__).resolve().parent
README: Final = DOCS.parent / "README.md"
PICTURE: Final = DOCS / "studies" / "figures" / "loads.svg"
_SVG: Final = "{http://www.w3.org/2000/svg}"
_TOLERANCE: Final = 0.005
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


def drawn(folder: Path) -> str:
    """Draw the study that was run in ``folder``; return the SVG."""
    result = gs.sweep(folder / "study.toml", folder=folder / "study.sweep")
    gs.plot.save(gs.plot.lines(result, "mean_jct_s", x="load"), folder / "loads.svg", "text")
    return (folder / "loads.svg").read_text(encoding="utf-8")


def shown_by(svg: str) -> tuple[list[str], list[list[float]]]:
    """Return the texts of a picture, and its curves and bands as parts of the sides of the axes.

    Margins and markup differ between versions of vl-convert; these do not.
    """
    groups = ElementTree.fromstring(svg)
    texts = [text.text or "" for text in groups.iter(f"{_SVG}text")]
    frame = next(path for path in groups.iter(f"{_SVG}path") if path.get("class") == "background")
    _, _, width, height, *_ = _numbers(frame)
    curves = []
    for group in groups.iter(f"{_SVG}g"):
        if group.get("class", "").startswith(("mark-line", "mark-area")):
            for numbers in map(_numbers, group.iter(f"{_SVG}path")):
                x, y = numbers[::2], numbers[1::2]
                curves.append([*(each / width for each in x), *(each / height for each in y)])
    return texts, curves


def _numbers(path: ElementTree.Element) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+(?:e-?\d+)?", path.get("d", ""))]


def is_same_picture(one: str, other: str) -> bool:
    """Whether two pictures show the same, to half a hundredth of the axes."""
    (texts, curves), (other_texts, other_curves) = shown_by(one), shown_by(other)
    return (
        texts == other_texts
        and [*map(len, curves)] == [*map(len, other_curves)]
        and all(
            abs(a - b) <= _TOLERANCE
            for curve, other_curve in zip(curves, other_curves, strict=True)
            for a, b in zip(curve, other_curve, strict=True)
        )
    )


def main() -> None:
    committed = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        text = with_table(committed, Path(name))
        picture = drawn(Path(name))
    if "--check" not in sys.argv[1:]:
        README.write_text(text, encoding="utf-8")
        PICTURE.write_text(picture, encoding="utf-8")
        return
    lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
    sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
    is_same = is_same_picture(picture, PICTURE.read_text(encoding="utf-8"))
    stale = ["README.md"] * (text != committed) + [PICTURE.name] * (not is_same)
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run `python docs/study_example.py`")


if __name__ == "__main__":
    main()
