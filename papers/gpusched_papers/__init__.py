"""Experiments of papers, or after them: a folder per paper, with what is known of it."""
