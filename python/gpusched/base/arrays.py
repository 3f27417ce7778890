"""Array types used in annotations, and the one way in which a column becomes read-only."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
UInt32 = npt.NDArray[np.uint32]
Float64 = npt.NDArray[np.float64]
Bool = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

_Scalar = TypeVar("_Scalar", bound=np.generic)


def read_only(values: npt.NDArray[_Scalar]) -> npt.NDArray[_Scalar]:
    """Return ``values`` as a C-contiguous array that cannot be written to, nor made so again.

    Nothing is copied that is contiguous: whoever still holds the array itself can write to it.
    """
    array = np.ascontiguousarray(values)
    if array.dtype.kind in "mMO":  # neither dates nor objects lend their memory
        view = array.view()
        view.flags.writeable = False
        return view
    # The flag of an array can be set where its owner can be written to. A view of memory that is
    # lent for reading is its own owner.
    lent: npt.NDArray[_Scalar] = np.asarray(array.data.toreadonly())
    return lent


def freeze_columns(columns: Any, *, is_own: bool = False) -> None:
    """Make every array that is a field of a frozen data class read-only.

    Parameters
    ----------
    is_own
        Whether the arrays were made for it. If not, one that can be written to may be in other
        hands, and is copied.
    """
    for column in dataclasses.fields(columns):
        value = getattr(columns, column.name)
        if isinstance(value, np.ndarray):
            own = value if is_own or not value.flags.writeable else value.copy()
            object.__setattr__(columns, column.name, read_only(own))
