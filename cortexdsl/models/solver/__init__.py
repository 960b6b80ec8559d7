"""The built-in solver: reads a prompt, decides on an answer, writes the reply."""
