"""Logs of other evaluation tools, read as scores: recognised by their content, paired question by question."""
