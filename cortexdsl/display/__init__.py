"""The display of a run: how far it is, as rows, lines and plain values, while it runs and afterwards."""
