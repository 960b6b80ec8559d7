"""Calls that engines answer in files, round by round."""
