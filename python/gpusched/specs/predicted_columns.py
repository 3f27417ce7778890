"""Predictions that stand in the trace before a run begins, and which column they are."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import Trace


class PredictedBy(NamedTuple):
    """A column of the trace that holds what a run knows of services.

    Attributes
    ----------
    column
        ``service_us`` (the truth), ``estimate_us`` or ``predicted_us``.
    predictor
        What the user calls it, for messages.
    """

    column: str
    predictor: str = ""

    @property
    def is_truth(self) -> bool:
        """Whether it is the services themselves."""
        return self.column == "service_us"

    @property
    def is_estimate(self) -> bool:
        """Whether it is the estimates of the users."""
        return self.column == "estimate_us"

    def values(self, trace: Trace) -> AnyArray:
        """Return the column, in which every job must have a value.

        Raises
        ------
        ValueError
            If the trace has no such column, or a job has no value; the message names the job.
        """
        values: AnyArray | None = getattr(trace, self.column)
        shown = self.column.removesuffix("us") + "s"
        if values is None:
            raise ValueError(f"predictor {self.predictor!r}: the trace has no {shown}")
        missing = np.flatnonzero(values == NOT_GIVEN)
        if missing.size:
            others = f", nor have {missing.size - 1} others" if missing.size > 1 else ""
            raise ValueError(
                f"predictor {self.predictor!r}: job {missing[0]} (row {trace.row[missing[0]]}) "
                f"has no {shown}{others}"
            )
        return values


TRUTH: Final = PredictedBy("service_us")
"""What runs know where nothing else is said."""
