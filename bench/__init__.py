"""Benchmarks of gpusched against a bare loop; the method is in README.md."""
