"""What serves trained models that a server answers for: vLLM, with the adapters beside their base."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import join

from cortexdsl.errors import InputError

RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM knows as `--max-lora-rank` (0.32, `vllm.config.lora`)."""


def serve_commands(adapters: Sequence[tuple[str, Path, Path]], rank: int) -> Sequence[str]:
    """Return one command line for each base that adapters belong to.

    Parameters
    ----------
    adapters : sequence of (name, base, adapter)
        The model's name as calls have it, without its provider; two folders.
    rank : int
        Of the adapters.

    Raises
    ------
    InputError
        No server takes adapters of so high a rank.
    """
    room = next((each for each in RANKS if each >= rank), None)
    if room is None:
        raise InputError(f"vLLM serves adapters of rank {RANKS[-1]} at most, not {rank}\n    serve the merged folder")
    by_base: dict[Path, list[str]] = {base: [] for _, base, _ in adapters}
    for name, base, adapter in adapters:
        by_base[base].append(f"{name}={adapter}")
    return [
        join(["vllm", "serve", str(base), "--enable-lora", "--max-lora-rank", str(room), "--lora-modules", *named])
        for base, named in by_base.items()
    ]
