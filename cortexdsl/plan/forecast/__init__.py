"""Estimate the cost of a plan, and warn of what is suspicious in it, before anything is spent."""
