"""Parts of figures as the plain values that the script of Plotly reads."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from gpusched.base.arrays import AnyArray


def plain(part: Any) -> Any:
    """Return a part of a figure without what is None, with arrays as packed bytes.

    Numbers outside of arrays that are not finite, which JSON has not, become None.

    Parameters
    ----------
    part
        A dict, list or array of any depth, or a value of JSON. Arrays hold floats, or integers of
        at most four bytes: the script knows no wider ones.
    """
    if isinstance(part, dict):
        return {name: plain(value) for name, value in part.items() if value is not None}
    if isinstance(part, list):
        return [plain(value) for value in part]
    if isinstance(part, np.ndarray):
        return _packed(part)
    if isinstance(part, float) and not math.isfinite(part):
        return None
    return part


def _packed(values: AnyArray) -> dict[str, str] | list[Any]:
    if not values.size:
        return []
    kind, size = values.dtype.kind, values.dtype.itemsize
    made = {"dtype": f"{kind}{size}", "bdata": base64.b64encode(values.tobytes()).decode()}
    return made if values.ndim == 1 else made | {"shape": ", ".join(map(str, values.shape))}
