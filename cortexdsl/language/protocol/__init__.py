"""Protocols: their text, their settings, and what makes one sound."""
