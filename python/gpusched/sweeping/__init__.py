"""Studies: many runs, planned from one description, run anywhere and kept as they come."""
