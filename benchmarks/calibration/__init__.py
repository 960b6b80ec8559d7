"""Scenarios of `benchmarks/statistics_calibration.py`, one module a topic."""
