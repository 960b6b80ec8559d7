"""The tables of a report: how tables are written, and what they hold of the findings, of the talk and of the work."""
