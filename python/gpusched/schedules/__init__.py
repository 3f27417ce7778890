"""What a run leaves behind, as columns and as functions of time."""
