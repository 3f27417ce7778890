"""Results of runs: metrics, costs, explanations and files."""
