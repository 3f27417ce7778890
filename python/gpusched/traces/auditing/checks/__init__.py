"""A file per idea; each of its checks ends in its registration."""
