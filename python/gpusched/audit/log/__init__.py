"""The log that an audit reads: by rows, by intervals, by instants and by servers."""
