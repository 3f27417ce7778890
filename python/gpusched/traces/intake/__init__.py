"""Convert users' data to columns: times, column names and text formats."""
