"""Snakemake's logger plugin `cortexdsl`: the display of a run (`--logger cortexdsl`, in the default profile).

Snakemake finds plugins by the names of top-level packages; what it does is in `cortexdsl.display`.
"""

from cortexdsl.display.handler import LogHandler

__all__ = ["LogHandler"]
