"""The figures of a report, and their files."""
