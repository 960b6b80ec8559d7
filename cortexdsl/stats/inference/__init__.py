"""Tests and intervals: units of a table in, outcomes out."""
