"""Expressions and what their names are worth: the weights of edges, choices, conditions and votes."""
