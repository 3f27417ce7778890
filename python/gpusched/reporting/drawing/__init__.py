"""How charts look, and how they become files."""
