"""Traces: jobs as columns, what is derived from them, and the files they come from."""
