"""Compile a spec into the plan of an experiment: cells, shards, digests, cost."""

from cortexdsl.plan.compiler import Compiler, compile_spec, sound_experiments
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.layout import PARTS, TABLES, Layout, selected_experiments

__all__ = ["PARTS", "TABLES", "Compiler", "Layout", "Plan", "compile_spec", "selected_experiments", "sound_experiments"]
