"""Synthetic workloads, calibrated to published clusters."""
