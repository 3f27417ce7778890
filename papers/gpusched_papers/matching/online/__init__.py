"""Matching markets (Liu et al., IEEE TPDS 2024): the policy online."""
