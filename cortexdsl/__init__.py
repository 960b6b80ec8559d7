"""cortexdsl: multi-agent debate experiments written as YAML, run by Snakemake, judged by significance tests."""

__version__ = "0.1.0"
