"""A file per format of traces; each ends in its registration."""
