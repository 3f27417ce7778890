"""Matching markets (Liu et al., IEEE TPDS 2024): single decisions."""
