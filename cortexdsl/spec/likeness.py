"""`like:` - a method that changes some settings of another."""

from __future__ import annotations

from collections.abc import Mapping

from cortexdsl.spec.extends import merge
from cortexdsl.spec.nodes import Node, refuse
from cortexdsl.spec.problems import nearest


def resolve_likeness(root: Node) -> Node:
    """Return a spec whose methods hold all that they inherit, and no `like`.

    A method inherits everything of the other: its protocol, settings, team, match. What it says itself replaces
    that, setting by setting (and role by role, prompt by prompt).

    Raises
    ------
    SpecError
        A method is like an unknown one, or like itself; the message shows the chain.
    """
    methods = root.mapping()["methods"]
    done: dict[str, Node] = {}
    for name in methods.mapping():
        _resolved(name, methods.mapping(), done, ())
    resolved = Node(dict(done), methods.mark, methods.keys, methods.size)
    return Node({**root.mapping(), "methods": resolved}, root.mark, root.keys, root.size)


def _resolved(name: str, methods: Mapping[str, Node], done: dict[str, Node], chain: tuple[str, ...]) -> Node:
    if name in done:
        return done[name]
    node = methods[name]
    entries = node.mapping()
    if "like" in entries:
        like = entries["like"]
        other = str(like.value)
        here = (*chain, name)
        if other not in methods:
            refuse(like.mark, f"methods.{name}.like: there is no method {other}", nearest(other, methods))
        if other in here:
            refuse(like.mark, f"methods are like each other in a circle: {' -> '.join((*here, other))}", "break it")
        own = Node({k: v for k, v in entries.items() if k != "like"}, node.mark, node.keys, node.size)
        inherited = _resolved(other, methods, done, here)
        dropped = {"team": "agents", "agents": "team"}
        gone = {dropped[key] for key in own.mapping() if key in dropped}
        kept = {k: v for k, v in inherited.mapping().items() if k not in gone}
        node = merge(Node(kept, inherited.mark, inherited.keys, inherited.size), own, 1)
    done[name] = node
    return node
