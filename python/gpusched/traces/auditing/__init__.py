"""Audits of traces: checks and their findings."""
