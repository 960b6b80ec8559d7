"""Reaching an endpoint: keys, faults and their kinds, patience."""
