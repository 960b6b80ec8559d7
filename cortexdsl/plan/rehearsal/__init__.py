"""Rehearse one debate with made-up replies, to estimate its cost and to show its graphs."""
