"""Templates with what they include written into them: a prompt is made of parts, and each part costs a context.

A part means the same in its place as included, as long as nothing but text, loops, branches and settings are in it, the
template sets no name of it afterwards, and it asks nothing of a loop around it: whether an included part sees that
depends on whether the template asks for it, too. Every other template stays as it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, repeat

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables

Parse = Callable[[str], nodes.Template]
"""Parses the template of a name, each time anew."""

MOST_PARTS = 200
"""Written into one template: parts that include a part twice, which does so too, grow without measure."""

LOOP = "loop"
_PLAIN = (nodes.Output, nodes.If, nodes.For, nodes.Assign, nodes.Include, nodes.Scope)


def flattened(name: str, part: Parse) -> nodes.Template | None:
    """Parse a template, and write what it includes into it.

    Parameters
    ----------
    name : str
    part : Parse

    Returns
    -------
    nodes.Template or None
        None where there is nothing to write in, or where it could mean something else.

    Raises
    ------
    jinja2.TemplateError
        A part is missing or malformed.
    """
    template = part(name)
    has_parts = template.find(nodes.Include) is not None
    left = islice(repeat(part), MOST_PARTS)
    return template if has_parts and _is_plain(template) and _written(template, template, (name,), left) else None


def _written(node: nodes.Node, whole: nodes.Template, by: tuple[str, ...], left: Iterator[Parse]) -> bool:
    """Write into a node of a template, which was included by others, and say whether all could be written in."""
    for listed in (getattr(node, name, None) or [] for name in ("body", "elif_", "else_")):
        for place, inner in enumerate(listed):
            if isinstance(inner, nodes.Include):
                found = _included(inner, whole, by, left)
                if found is None:
                    return False
                listed[place] = found
            elif not _written(inner, whole, by, left):
                return False
    return True


def _included(
    include: nodes.Include, whole: nodes.Template, by: tuple[str, ...], left: Iterator[Parse]
) -> nodes.Node | None:
    name = include.template.value if isinstance(include.template, nodes.Const) else None
    if not isinstance(name, str) or name in by or not include.with_context or include.ignore_missing:
        return None
    part = next(left, None)
    if part is None:
        return None
    found = part(name)
    if not _is_plain(found) or _asks_of_a_loop(found) or not _written(found, found, (*by, name), left):
        return None
    set_later = {
        stored.name
        for setting in whole.find_all(nodes.Assign)
        for stored in setting.find_all(nodes.Name)
        if setting.lineno >= include.lineno and stored.ctx == "store"
    }
    if set_later & find_undeclared_variables(found):  # the part does not mean that, which is not set yet
        return None
    return nodes.Scope(found.body, lineno=include.lineno, environment=found.environment)


def _is_plain(template: nodes.Template) -> bool:
    return all(isinstance(node, _PLAIN) for node in template.find_all(nodes.Stmt))


def _asks_of_a_loop(part: nodes.Template) -> bool:
    """Say whether a part speaks of a loop that is not its own, or calls something of its own so."""
    is_set = any(name.ctx == "store" and name.name == LOOP for name in part.find_all(nodes.Name))
    return is_set or LOOP in find_undeclared_variables(part)
