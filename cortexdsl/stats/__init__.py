"""Statistics of score tables: units, tests and intervals, verdicts on claims, power, early stopping, what-if."""
