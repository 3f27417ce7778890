"""What all pages are made of: their files, and their colours by day and by night."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from gpusched.reporting.drawing import palette


def asset(name: str) -> str:
    """Return a file of the pages: a template, a style or a script."""
    return files("gpusched.reporting").joinpath("assets", name).read_text(encoding="utf-8")


def colours() -> str:
    """Return the colours of policies and scales as variables of the page, light and dark."""

    def variables(**lists: Sequence[str]) -> str:
        return ";".join(
            f"--{name}-{index}:{colour}"
            for name, those in lists.items()
            for index, colour in enumerate(those)
        )

    light = variables(
        policy=palette.COLOURS, share=palette.SHARE_COLOURS, ratio=palette.RATIO_COLOURS
    )
    dark = variables(
        policy=palette.DARK_COLOURS,
        share=palette.DARK_SHARE_COLOURS,
        ratio=palette.DARK_RATIO_COLOURS,
    )
    return (
        f":root{{{light}}}\n"
        f"@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        f":root[data-theme=dark]{{{dark}}}\n"
    )
