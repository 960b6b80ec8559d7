"""Verbs that show and hand on what an experiment found."""
