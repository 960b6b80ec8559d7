"""The tables of a report, each declared as columns over typed rows, and their files."""
