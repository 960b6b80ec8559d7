"""Tests and intervals: arrays in, outcomes out."""
