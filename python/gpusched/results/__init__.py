"""Results: what happened, what it cost, and how they are kept."""
