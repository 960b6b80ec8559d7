"""Scenarios of `error_rates.py`, one module a topic."""
