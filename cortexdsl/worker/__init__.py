"""The worker of a run, which starts jobs fast; results are the same without it."""
