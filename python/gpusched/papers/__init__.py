"""Experiments of papers, run again: a folder per paper."""
