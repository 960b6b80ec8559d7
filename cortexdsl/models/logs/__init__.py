"""The call log: an append-only file of JSON lines, and what is read from it."""
