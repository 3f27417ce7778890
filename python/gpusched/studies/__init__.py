"""Several runs of one workload side by side."""
