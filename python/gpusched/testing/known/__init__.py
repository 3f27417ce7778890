"""The properties, one topic per file."""
