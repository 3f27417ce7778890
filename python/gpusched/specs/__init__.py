"""The inputs of a run: its specification, its fingerprint, and the core's columns."""
