"""Prompt templates: found, rendered in a sandbox, and checked against the steps that use them."""
