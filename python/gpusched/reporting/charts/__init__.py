"""The charts of a result or a comparison."""
