"""What a run is given: its specification, its fingerprint, and the columns of the core."""
