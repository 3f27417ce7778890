"""State formats, one file each, which ends by registering itself."""
