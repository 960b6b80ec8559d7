"""Transports: the ways to send one call to a model."""
