"""Tables of what was found: metrics, comparisons and claims, axes, published figures, judges, counterfactuals."""
