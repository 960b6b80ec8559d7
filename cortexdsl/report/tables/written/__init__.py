"""A table as a value, and how it is written: its numbers' links, CSV, Markdown, LaTeX."""
