"""One file for each format; a new one ends in its registration."""
