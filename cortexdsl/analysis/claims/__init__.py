"""Claims: from a line of text to a verdict."""
