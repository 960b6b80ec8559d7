"""Retrieval for knowledge pools."""
