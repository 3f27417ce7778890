"""A file for each format of states, which ends in its registration."""
