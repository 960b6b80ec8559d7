"""Counterfactual debates beside those they branch from: effects, and what each agent is worth."""
