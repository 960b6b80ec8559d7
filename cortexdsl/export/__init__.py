"""Experiments in the formats of other programs: logs for Inspect, a dataset for the Hugging Face hub."""
