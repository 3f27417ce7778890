"""What is wrong or odd in a trace: checks, a file for each idea, and what they find."""
