"""Prices of GPU hours, as the options write them."""

from __future__ import annotations

from gpusched.cli import given


def prices_of(option: str, text: str) -> float | dict[str, float]:
    """Read ``2.5``, or ``V100=2.5,A100=4``.

    Raises
    ------
    ValueError
        If it is neither; the message names ``option``.
    """
    if "=" not in text:
        return _number(option, text)
    return {
        kind: _number(option, price) for kind, price in given.pairs(option, text.split(",")).items()
    }


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option}: {text!r} must be a number, or TYPE=NUMBER,...") from None
