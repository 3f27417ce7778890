"""Results as plain values for JSON."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np


def plain(**values: Any) -> dict[str, Any]:
    """Return the values by name as :func:`finite` gives them."""
    return {name: finite(value) for name, value in values.items()}


def finite(value: Any) -> Any:
    """The same with None for NaN and infinity, which JSON does not have, and texts for keys.

    Objects of data classes become dictionaries.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return finite(dataclasses.asdict(value))
    if isinstance(value, dict):
        return {str(key): finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value
