"""Policies, placements, speeds and contentions by name: the registry, and what a user writes."""
