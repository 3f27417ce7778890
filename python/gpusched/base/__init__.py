"""Utilities for all modules: arrays, input checks, files, errors, random numbers, cancellation."""
