"""Endpoints of models: addresses and keys, adaptive limits, retries."""
