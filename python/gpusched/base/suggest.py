"""What a message says after an unknown name."""

from __future__ import annotations

from collections.abc import Sequence


def nearest(name: str, known: Sequence[str]) -> str:
    """Return ``"; did you mean 'x'?"``, or what is known where nothing is near."""
    import difflib

    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(known)}"
