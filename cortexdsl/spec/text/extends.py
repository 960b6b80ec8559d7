"""`extends:` - a spec that builds on other files.

Later files win over earlier ones, and the file itself over all that it extends. Mappings merge key by key down
to the entries of a section (`models.small.temperature`, `methods.sparse.keep`), and so do the `roles`, `prompts`
and `families` in them. Anything else, a list, a scalar or the value of a setting, replaces what was there whole. So
does a dataset that names other questions (`SOURCES`).
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping
from pathlib import Path

from cortexdsl.errors import Problem
from cortexdsl.spec.text.nodes import Mark, Node, refuse
from cortexdsl.spec.text.reader import read_part

NAMED = frozenset({"roles", "prompts", "options", "families"})
"""Mappings within an entry whose keys are names and so merge, where those of a setting's value do not."""

INSTEAD: Mapping[str, tuple[str, ...]] = {
    "dataset": ("datasets",), "datasets": ("dataset",),
    "team": ("agents",), "agents": ("team",), "protocol": ("like",), "like": ("protocol",),
    "model": ("trained", "role", "repeat"), "trained": ("model",),
}  # fmt: skip
"""Words that say the same thing another way: one that is new in a later file takes the place of the others."""

SOURCES = ("name", "file", "hub", "path")
"""Words of a dataset that say which questions it has. A later file that changes one replaces the dataset whole: the
size, the columns and all else that was written for other questions do not apply to these."""

SECTIONS = 3
"""How deep two files merge: sections, entries, the words of an entry."""


def merge(base: Node, over: Node, depth: int = SECTIONS, key: str = "") -> Node:
    """Lay one node over another; positions stay those of the file that a value was written in.

    Parameters
    ----------
    base, over : Node
        `over` wins.
    depth : int
        Levels of mappings that merge; below them `over` replaces whole.
    key : str
        What both are the value of; `dataset` for an entry of `datasets`, too.
    """
    if key == "dataset" and is_other_dataset(base, over):
        return over
    if depth <= 0 or not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    gone = {other for word in over.value if word not in base.value for other in INSTEAD.get(word, ())}
    merged = {word: node for word, node in base.value.items() if word not in gone}
    for word, node in over.value.items():
        below = depth if word in NAMED else depth - 1
        inner = "dataset" if key == "datasets" else word
        merged[word] = merge(merged[word], node, below, inner) if word in merged else node
    return Node(merged, over.mark, {**base.keys, **over.keys}, 1 + sum(node.size for node in merged.values()))


def is_other_dataset(base: Node, over: Node) -> bool:
    """Tell whether an entry of a dataset names other questions than one that it is laid over."""
    before, after = base.mapping(), over.mapping()
    return any(word not in before or _source(word, before[word]) != _source(word, after[word])
               for word in SOURCES if word in after)  # fmt: skip


def _source(word: str, node: Node) -> object:
    """Return what a source stands for: paths begin at the file that names them."""
    return node.value, Path(node.mark.file).parent if word in ("file", "path") else None


def read_extended(path: Path) -> tuple[Node, tuple[Path, ...], tuple[Problem, ...]]:
    """Read a file and all that it extends.

    Returns
    -------
    Node
        The merged mapping, without `extends`.
    tuple of Path
        Every file that was read, the extended ones first.
    tuple of Problem
        Keys written twice and bad numbers, beside which the rest can be judged.

    Raises
    ------
    SpecError
        A file is missing or wrong, or extends itself; the message shows the chain.
    """
    files: dict[Path, Node] = {}
    problems: list[Problem] = []
    root = _extended(path, (), files, problems)
    return root, tuple(files), tuple(problems)


def _extended(path: Path, chain: tuple[Path, ...], files: dict[Path, Node], problems: list[Problem]) -> Node:
    if path in files:
        return files[path]
    node, odd = read_part(path)
    problems += odd
    own = {key: value for key, value in node.mapping().items() if key != "extends"}
    merged: Node | None = None
    for name, mark in _names(node):
        target = Path(os.path.normpath(path.parent / name))
        here = (*chain, path)
        if any(_same(target, earlier) for earlier in here):
            shown = " -> ".join(str(p) for p in (*here, target))
            refuse(mark, f"extends goes round in a circle: {shown}", "remove one of them")
        if target.suffix not in (".yaml", ".yml"):  # its first words would stand in a message
            refuse(mark, f"{name} is no spec by its name", "extends takes files that end in .yaml")
        if not target.is_file():
            refuse(mark, f"there is no file {target}", f"extends is looked up beside {path}")
        part = _extended(target, here, files, problems)
        merged = part if merged is None else merge(merged, part)
    alone = Node(own, node.mark, node.keys, node.size)
    files[path] = merge(merged, alone) if merged is not None else alone
    return files[path]


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _names(node: Node) -> list[tuple[str, Mark]]:
    found = node.mapping().get("extends")
    if found is None:
        return []
    items = found.value if isinstance(found.value, list) else [found]
    names = []
    for item in items:
        if not isinstance(item.value, str) or not item.value:
            refuse(item.mark, "extends takes the name of a file, or a list of names", "write `extends: _parts.yaml`")
        names.append((item.value, item.mark))
    return names
