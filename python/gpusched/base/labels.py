"""A categorical column: one code per job, and the names of the codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray, Int32, Int64, read_only
from gpusched.base.field_checks import is_missing
from gpusched.base.libraries import polars

STATUSES: Final = ("ok", "failed", "killed", "unknown")
"""Final status of a job in its source."""


@dataclass(frozen=True, eq=False)
class Labels:
    """User, queue, group or status of each job.

    Attributes
    ----------
    codes
        int32, one per job: index into ``names``. Read-only.
    names
        Distinct names in order of first appearance; ``""`` is "not given".
    """

    codes: Int32
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        codes = self.codes if isinstance(self.codes, np.ndarray) else np.asarray(self.codes)
        if np.ma.is_masked(codes):
            raise ValueError("label codes must not be masked")
        if codes.ndim != 1 or codes.dtype.kind not in "iu":
            raise TypeError(f"label codes must be one row of integers, not {codes.dtype}")
        if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < len(self.names):
            raise ValueError(f"label codes must lie in 0..{len(self.names) - 1}")
        # Writable codes may be shared.
        own = np.array(codes, dtype=np.int32, copy=True if codes.flags.writeable else None)
        object.__setattr__(self, "codes", read_only(own))

    @classmethod
    def of(cls, values: Iterable[Any]) -> Labels:
        """Number the distinct ``values``; missing ones and ``""`` are the label ``""``."""
        if type(values).__module__.startswith("polars."):
            return _of_series(values)
        code_of: dict[Any, int] = {}
        codes = [code_of.setdefault(value, len(code_of)) for value in values]
        # Distinct values may share a name (1 and "1", None and ""): merge them by name.
        names: dict[str, int] = {}
        merged = [names.setdefault(_name(value), len(names)) for value in code_of]
        numbered = np.asarray(codes, dtype=np.int32)
        return cls(read_only(np.asarray(merged, dtype=np.int32)[numbered]), tuple(names))

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, job: int) -> str:
        return self.names[int(self.codes[job])]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.names[:4])) + (", ..." if len(self.names) > 4 else "")
        return f"Labels({len(self):,} jobs, {len(self.names):,} names: {shown})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle loses NumPy's read-only flag

    def take(self, jobs: AnyArray | slice) -> Labels:
        """Return the labels of ``jobs`` (indices or a mask) with the same names."""
        return Labels(read_only(self.codes[jobs]), self.names)

    def among(self, names: tuple[str, ...], other: str) -> Labels:
        """Return the labels, with ``other`` for all that are not in ``names``."""
        if set(self.names) <= set(names):
            return self
        ours = Labels.of(name if name in names else other for name in self.names)
        return Labels(read_only(ours.codes[self.codes]), ours.names)

    def values(self) -> AnyArray:
        """Return one name per job as an object array of ``str``."""
        named: AnyArray = np.asarray(self.names, dtype=object)[self.codes]
        return named

    def counts(self) -> Int64:
        """Return the number of jobs of each name."""
        return np.bincount(self.codes, minlength=len(self.names)).astype(np.int64)


def _of_series(values: Any) -> Labels:
    """Number the texts of a Polars column without a Python object for each."""
    if values.dtype != polars.String:
        return Labels.of(values.to_list())
    given = values.fill_null("")
    names = given.unique(maintain_order=True)
    codes = polars.int_range(len(names), dtype=polars.Int32, eager=True)
    numbered = given.replace_strict(names, codes, return_dtype=polars.Int32)
    return Labels(read_only(numbered.to_numpy(writable=True)), tuple(names.to_list()))


def _name(value: Any) -> str:
    return "" if is_missing(value) else str(value)
