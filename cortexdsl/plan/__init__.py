"""From a spec to the plan of an experiment: cells, shards, digests, cost."""

from cortexdsl.plan.asked import asked_experiments
from cortexdsl.plan.compiler import Compiled, compile_spec
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.parts.layout import PARTS, TABLES, Layout
from cortexdsl.plan.sound import sound_experiments

__all__ = ["PARTS", "TABLES", "Compiled", "Layout", "Plan", "asked_experiments", "compile_spec", "sound_experiments"]
