"""Runs: what a user names is made ready, and the core is called."""
