"""Which simulated base case is nearest to what happened, and a grade for it."""
