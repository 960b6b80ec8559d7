"""The built-in debate protocols, written in the language, and their loader."""
