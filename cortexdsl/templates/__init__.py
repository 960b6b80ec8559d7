"""Prompt templates: found, and rendered in a sandbox with limits."""
