"""What a run found about the seeds of its models before the first call: `seeds.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.checksums import write_lines
from cortexdsl.typed_json import Codec

SEEDS_FILE = "seeds.json"
_SEEDS_VERSION = 1


@dataclass(frozen=True, slots=True)
class SeedProbe:
    """What a run found about the seeds of a model before its first call.

    Attributes
    ----------
    entry, model : str
        As the spec calls it.
    seed : str
        As in `cortexdsl check --online`.
    at_once : int
        Calls in flight together in the probe.
    engine : str
        The program of its server, with its version; empty if the spec declares no server, or it does not say.
    """

    entry: str
    model: str
    seed: str
    at_once: int
    engine: str = ""


_CODEC = Codec()


def write_seed_probes(folder: Path, probes: Sequence[SeedProbe]) -> None:
    """Write what a run found about seeds into the folder of its results; it replaces what was known of these models."""
    folder.mkdir(parents=True, exist_ok=True)
    by_entry = {one.entry: one for one in (*read_seed_probes(folder), *probes)}
    record = {"schema_version": _SEEDS_VERSION, "models": [_CODEC.write(one) for one in by_entry.values()]}
    write_lines(folder / SEEDS_FILE, json.dumps(record, indent=1).splitlines())


def read_seed_probes(folder: Path) -> tuple[SeedProbe, ...]:
    """Return what runs found about seeds; nothing if none looked, or the file cannot be read."""
    try:
        models = json.loads((folder / SEEDS_FILE).read_bytes())["models"]
        return tuple(_CODEC.read(SeedProbe, one) for one in models)
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return ()
