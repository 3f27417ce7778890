"""Figures by GPU type: one for all, or one for each by its name."""

from __future__ import annotations

from typing import Any, TypeAlias

from gpusched.base.field_checks import check_name, not_negative

PerType: TypeAlias = float | dict[str, float]
"""One figure for every GPU type, or one per type by its name."""


def per_type(field: str, value: Any, high: float, low: float = 0.0) -> PerType:
    """Return figures, each 0 or in low..high, as floats.

    Raises
    ------
    TypeError, ValueError
        If one is no number or out of range, or there is none; the message names ``field``.
    """
    if not isinstance(value, dict):
        return not_negative(field, value, high, low)
    if not value:
        raise ValueError(f"{field}: must have a figure for at least one GPU type")
    for gpu_type in value:
        check_name(f"{field}: GPU type", gpu_type)
    return {
        gpu_type: not_negative(f"{field}[{gpu_type!r}]", number, high, low)
        for gpu_type, number in value.items()
    }
