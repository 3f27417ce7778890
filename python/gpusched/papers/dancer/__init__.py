"""Dancer (Zhang et al., IEEE TCC 2025)."""
