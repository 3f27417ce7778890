"""The laws, a question a file."""
