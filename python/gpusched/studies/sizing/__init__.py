"""How many servers a workload needs."""
