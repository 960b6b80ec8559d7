"""Learning from debates: trajectories, pairs of replies, and models that are trained on them (docs/training.md).

The core finds this package through `cortexdsl.plan.training` and does not import it.
"""
