"""Fragmentation gradient descent (Weng et al., ATC 2023)."""
