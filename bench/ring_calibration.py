"""Fits the ring model to measured step times, and tells how well it does."""

from gpusched.models.calibration import RingFit, calibrate_ring, fit_line

__all__ = ["RingFit", "calibrate_ring", "fit_line"]
