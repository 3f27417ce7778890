"""The schedule of a run, as columns and as functions of time."""
