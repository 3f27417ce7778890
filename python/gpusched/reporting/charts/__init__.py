"""The pictures of a result or a comparison."""
