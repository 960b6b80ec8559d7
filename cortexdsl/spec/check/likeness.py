"""`like:` - a method that changes some settings of another."""

from __future__ import annotations

from collections.abc import Mapping

from cortexdsl.errors import Problem
from cortexdsl.spec.text.extends import merge
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Found, Node


def resolve_likeness(root: Node) -> tuple[Node, tuple[Found, ...]]:
    """Return a spec whose methods hold all that they inherit, and no `like`.

    A method inherits everything of the other: its protocol, settings, team, match. What it says itself replaces
    that, setting by setting (and role by role, prompt by prompt).

    Returns
    -------
    Node
        Without the methods whose likeness cannot be resolved.
    tuple of Found
        A method is like an unknown one, or like itself; the message shows the chain.
    """
    methods = root.mapping()["methods"]
    done: dict[str, Node | None] = {}
    problems: list[Found] = []
    for name in methods.mapping():
        _resolved(name, methods.mapping(), done, (), problems)
    whole = {name: node for name in methods.mapping() if (node := done[name]) is not None}
    resolved = Node(whole, methods.mark, methods.keys, methods.size)
    return Node({**root.mapping(), "methods": resolved}, root.mark, root.keys, root.size), tuple(problems)


def _resolved(
    name: str,
    methods: Mapping[str, Node],
    done: dict[str, Node | None],
    chain: tuple[str, ...],
    problems: list[Found],
) -> Node | None:
    if name in done:
        return done[name]
    node: Node | None = methods[name]
    assert node is not None
    entries = node.mapping()
    if "like" in entries:
        like = entries["like"]
        other, here = str(like.value), (*chain, name)
        said = remedy = ""
        if other not in methods:
            said, remedy = f"methods.{name}.like: there is no method {other}", nearest(other, methods)
        elif other in here:
            said, remedy = f"methods are like each other in a circle: {' -> '.join((*here, other))}", "break it"
        if said:
            problems.append((like.mark, Problem(str(like.mark), said, remedy)))
        inherited = None if said else _resolved(other, methods, done, here, problems)
        own = Node({k: v for k, v in entries.items() if k != "like"}, node.mark, node.keys, node.size)
        node = None if inherited is None else merge(inherited, own, 1)
    done[name] = node
    return node
