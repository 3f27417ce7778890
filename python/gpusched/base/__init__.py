"""What every room may use: arrays, numbers as they come in, files, errors, random draws, stops."""
