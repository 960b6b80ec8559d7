"""The plan of an experiment: what its spec means, as one frozen value that rules and verbs read."""

from cortexdsl.plan.experiment.digests import Digests
from cortexdsl.plan.experiment.files import Files, pool_sources

__all__ = ["Plan", "pool_sources"]


class Plan(Digests, Files):
    """A compiled spec: what it holds, what its results depend on, and which files its jobs read and write."""
