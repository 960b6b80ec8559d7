"""Tables of debate metrics beside metrics.csv: by agent, answer, round, axis of a grid; calibration and tokens."""
