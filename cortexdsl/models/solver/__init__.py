"""The built-in solver: a rule-based stand-in for a model, which needs nothing."""
