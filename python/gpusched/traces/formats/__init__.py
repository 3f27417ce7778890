"""A file per format; one of traces ends in its registration."""
