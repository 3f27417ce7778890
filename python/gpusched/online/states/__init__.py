"""Cluster states in files: formats for gpusched's own JSON, Slurm and Kueue."""
