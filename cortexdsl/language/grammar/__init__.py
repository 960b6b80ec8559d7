"""The types of the language: every key, value, and form that a spec or a protocol may have."""
