"""Bounds on what any schedule can reach: the certificates of results."""
