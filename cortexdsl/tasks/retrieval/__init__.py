"""Retrieval for knowledge pools: corpora and indexes, web searches, and the pools that are made of them."""
