"""What the reproductions of papers share."""
