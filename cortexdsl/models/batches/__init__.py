"""Batches of providers, which answer files of requests at half the price (`cortexdsl batch`)."""
