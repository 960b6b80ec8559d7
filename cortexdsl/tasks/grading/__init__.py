"""Grading answers against golds as each benchmark's authors do."""
