"""A file per idea of a metric; each ends in its registrations."""
