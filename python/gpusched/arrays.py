"""Array types used in annotations, and the one way in which a column becomes read-only."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return ``values`` as a C-contiguous array that cannot be written to.

    The flag is set on a view, so an array that a caller still holds stays writeable for them.
    """
    view = np.ascontiguousarray(values).view()
    view.flags.writeable = False
    return view


def freeze_columns(columns: Any) -> None:
    """Make every array that is a field of a frozen data class read-only."""
    for column in dataclasses.fields(columns):
        value = getattr(columns, column.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(columns, column.name, read_only(value))
