"""Watching a run: what the jobs' tallies say, as rows a person can follow, while it runs and afterwards."""
