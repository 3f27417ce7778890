"""Generators of cases for the readable engine, and programs beside it."""
