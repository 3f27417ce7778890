"""Whether forecasts of starts come true, on weeks of a trace that they have not seen."""

from __future__ import annotations

from gpusched.deciding.start_calibration import main
from gpusched.deciding.start_forecast import StartCalibration

__all__ = ["held_out", "main"]


def held_out(asked: StartCalibration, weeks: float) -> tuple[StartCalibration, StartCalibration]:
    """Return the questions of the last weeks: as forecast, and corrected week by week."""
    return asked.held_out(weeks)
