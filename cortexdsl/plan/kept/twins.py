"""Other experiments of one results folder that declared the same claims about the same methods and datasets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from cortexdsl.plan.kept.declaration import Declaration
from cortexdsl.plan.kept.ledger import Ledger, read_ledger
from cortexdsl.plan.parts.layout import Layout

STAGES = frozenset(
    {"calls", "debates", "figures", "judgements", "logs", "looks", "parts", "pools", "servers", "spent", "tables",
     "train", "whatif"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Twin:
    """An experiment that shares claims with another one.

    Attributes
    ----------
    name : str
        Its folder below the folder of all results.
    ledger : Ledger
    claims : tuple of str
        The shared claims, in its own words.
    """

    name: str
    ledger: Ledger
    claims: tuple[str, ...]


def find_twins(folder: Path, ledger: Ledger) -> tuple[Twin, ...]:
    """Return the other experiments below `results/` that declared some claims of this one, whatever their names.

    A claim is the same if its text is, with each cell's name replaced by the digest of its method (without the seed),
    and if the datasets have the same names. Sizes and seeds may differ. A copy of the experiment is not listed: its
    ledger begins as this one does, to the end of the shorter one.
    """
    root = next((parent for parent in folder.resolve().parents if parent.name == "results"), None)
    if ledger.now is None or root is None:
        return ()
    own = _meanings(ledger.now)
    seals = [entry.seal for entry in ledger.entries]
    twins = []
    for other in _experiments(root):
        if other == folder.resolve():
            continue
        found = read_ledger(Layout(other.as_posix()))
        if found.now is None or [entry.seal for entry in found.entries][: len(seals)] == seals[: len(found.entries)]:
            continue
        shared = {
            claim: None
            for entry in found.declarations
            for meaning, claim in _meanings(entry.declaration).items()
            if meaning in own
        }
        if shared:
            twins.append(Twin(other.relative_to(root).as_posix(), found, tuple(shared)))
    return tuple(twins)


def _meanings(declaration: Declaration) -> Mapping[tuple[str, tuple[str, ...]], str]:
    """Each claim by what it means: its text about digests of cells, and the datasets."""
    cells: Mapping[str, str] = declaration["cells"]
    datasets = tuple(sorted(str(one["name"]) for one in declaration["datasets"].values()))
    names = "|".join(re.escape(name) for name in sorted(cells, key=len, reverse=True))
    named = re.compile(rf"(?<![\w.-])(?:{names})(?![\w\[.-])")
    return {(named.sub(lambda found: cells[found[0]], claim), datasets): claim for claim in declaration["claims"]}


def _experiments(folder: Path) -> Iterator[Path]:
    """Every folder below that has a ledger; the stages of an experiment are not searched."""
    try:
        below = sorted(path for path in folder.iterdir() if path.is_dir() and path.name not in STAGES)
    except OSError:
        return
    for path in below:
        if path.name.startswith("."):
            continue
        if (path / "ledger.jsonl").is_file():
            yield path
        yield from _experiments(path)
