"""The workflow jobs of a training, as verbs of the command line: trajectories, pairs, train."""
