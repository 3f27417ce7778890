"""The look of charts, and their export to files."""
