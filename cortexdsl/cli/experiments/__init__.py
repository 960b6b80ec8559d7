"""Verbs of a whole experiment: run it, watch it, read it again, ask what if."""
