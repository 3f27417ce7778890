"""Export formats, one file each, which ends with its registration."""
