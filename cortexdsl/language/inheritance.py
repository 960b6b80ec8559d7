"""`extends:` of specs and of methods.

Later files override earlier ones, and a file overrides the files that it extends. Mappings merge key by key down to the
entries of a section (`models.small.temperature`, `methods.sparse.keep`), and so do the `roles`, `prompts`, and
`families` in them. Everything else (a list, a scalar, the value of a setting) is replaced as a whole, and so is a
dataset that names other questions (`SOURCES`).
"""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping
from pathlib import Path

from cortexdsl.errors import Problem, nearest
from cortexdsl.language.nodes import Mark, Node, PlacedProblem, refuse, refuse_all
from cortexdsl.language.reader import read

NAMED = frozenset({"roles", "prompts", "options", "families"})
"""Mappings within an entry whose keys are names. They merge, unlike mappings that are values of settings."""

INSTEAD: Mapping[str, tuple[str, ...]] = {
    "dataset": ("datasets",), "datasets": ("dataset",),
    "protocol": ("extends",), "extends": ("protocol",),
    "model": ("trained", "role", "repeat"), "trained": ("model",),
}  # fmt: skip
"""Words that exclude each other: a word that is new in a later file replaces the others."""

SOURCES = ("name", "file", "hub")
"""Words of a dataset that select its questions. A later file that changes one replaces the whole dataset, because size,
columns, and the rest belong to the earlier questions."""

SECTIONS = 3
"""Levels of mappings that merge: sections, entries, the words of an entry."""


def merge(base: Node, over: Node, depth: int = SECTIONS, key: str = "") -> Node:
    """Merge two nodes; every value keeps its position in its own file.

    Parameters
    ----------
    base, over : Node
        `over` overrides `base`.
    depth : int
        Levels of mappings that merge; below them `over` replaces `base`.
    key : str
        Key of both values; also `dataset` for an entry of `datasets`.
    """
    if key == "dataset" and is_other_dataset(base, over):
        return over
    if depth <= 0 or not isinstance(base.value, dict) or not isinstance(over.value, dict):
        return over
    replaced = {other for word in over.value if word not in base.value for other in INSTEAD.get(word, ())}
    merged = {word: node for word, node in base.value.items() if word not in replaced}
    for word, node in over.value.items():
        below = depth if word in NAMED else depth - 1
        inner = "dataset" if key == "datasets" else word
        merged[word] = merge(merged[word], node, below, inner) if word in merged else node
    return Node(merged, over.mark, {**base.keys, **over.keys}, 1 + sum(node.size for node in merged.values()))


def is_other_dataset(base: Node, over: Node) -> bool:
    """Return whether an entry of a dataset selects other questions than the one that it overrides."""
    before, after = base.mapping(), over.mapping()
    return any(word not in before or _source(word, before[word]) != _source(word, after[word])
               for word in SOURCES if word in after)  # fmt: skip


def _source(word: str, node: Node) -> object:
    """Return what identifies a source: paths are relative to the file that names them."""
    return node.value, Path(node.mark.file).parent if word == "file" else None


def read_extended(path: Path) -> tuple[Node, tuple[Path, ...]]:
    """Read a file and the files that it extends.

    Returns
    -------
    Node
        The merged mapping, without `extends`.
    tuple of Path
        All files that were read, the extended ones first.

    Raises
    ------
    SpecError
        A file is missing or invalid, or extends itself; the message shows the chain.
    """
    files: dict[Path, Node] = {}
    root = _extended(path, (), files)
    return root, tuple(files)


def _extended(path: Path, chain: tuple[Path, ...], files: dict[Path, Node]) -> Node:
    if path in files:
        return files[path]
    node = read(path)
    own = {key: value for key, value in node.mapping().items() if key != "extends"}
    merged: Node | None = None
    for name, mark in _names(node):
        target = Path(os.path.normpath(path.parent / name))
        here = (*chain, path)
        if any(_same(target, earlier) for earlier in here):
            shown = " -> ".join(str(p) for p in (*here, target))
            refuse(mark, f"extends goes round in a circle: {shown}", "remove one of them")
        if target.suffix not in (".yaml", ".yml"):  # a message would quote its first words
            refuse(mark, f"{name} is not named like a spec", "extends takes files that end in .yaml")
        if not target.is_file():
            refuse(mark, f"there is no file {target}", f"extends is looked up beside {path}")
        part = _extended(target, here, files)
        merged = part if merged is None else merge(merged, part)
    alone = Node(own, node.mark, node.keys, node.size)
    files[path] = merge(merged, alone) if merged is not None else alone
    return files[path]


def _same(one: Path, other: Path) -> bool:
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def _names(node: Node) -> list[tuple[str, Mark]]:
    written = node.mapping().get("extends")
    if written is None:
        return []
    items = written.value if isinstance(written.value, list) else [written]
    names = []
    for item in items:
        if not isinstance(item.value, str) or not item.value:
            refuse(item.mark, "extends takes the name of a file, or a list of names", "write `extends: _parts.yaml`")
        names.append((item.value, item.mark))
    return names


def resolve_methods(root: Node) -> Node:
    """Return a spec whose methods hold all that they inherit, and no `extends`.

    A method inherits the protocol, settings, agents, and budget of the other. Its own words override them, setting by
    setting (and role by role, prompt by prompt).

    Raises
    ------
    SpecError
        A method extends an unknown one, or itself; the message shows the chain.
    """
    methods = root.mapping()["methods"]
    refuse_all(problem for name in methods.mapping() for problem in _chain_problems(name, methods.mapping()))
    resolved = {name: _resolved(name, methods.mapping()) for name in methods.mapping()}
    return root.with_entry("methods", Node(resolved, methods.mark, methods.keys, methods.size))


def _chain_problems(name: str, methods: Mapping[str, Node]) -> Iterator[PlacedProblem]:
    """Yield the problem of the method that a method extends, at the method that begins a circle."""
    chain = [name]
    while (written := methods[chain[-1]].mapping().get("extends")) is not None:
        other = str(written.value)
        if other not in methods:
            if len(chain) == 1:
                what = f"methods.{name}.extends: there is no method {other}"
                yield written.mark, Problem(str(written.mark), what, nearest(other, methods))
            return
        if other in chain:
            if other == name and name == min(chain, key=list(methods).index):
                what = f"methods extend each other in a circle: {' -> '.join([*chain, other])}"
                yield written.mark, Problem(str(written.mark), what, "break it")
            return
        chain.append(other)


def _resolved(name: str, methods: Mapping[str, Node]) -> Node:
    node = methods[name]
    if (written := node.mapping().get("extends")) is None:
        return node
    own = Node({k: v for k, v in node.mapping().items() if k != "extends"}, node.mark, node.keys, node.size)
    return merge(_resolved(str(written.value), methods), own, 1)
