"""A file per bound; each ends in its registration."""
