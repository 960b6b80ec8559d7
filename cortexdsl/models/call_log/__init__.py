"""The call log: append-only files of JSON lines, their indexes, and locks between processes."""
