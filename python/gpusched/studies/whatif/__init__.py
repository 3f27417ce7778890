"""What changes to a base case would do."""
