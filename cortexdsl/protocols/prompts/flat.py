"""Templates with what they include written into them: a prompt is made of parts, and each part costs a context.

A part means the same in its place as included, as long as nothing but text, loops, branches and settings are in it, and
the template sets no name of it afterwards. Every other template stays as it is written.
"""

from __future__ import annotations

from collections.abc import Callable

from jinja2 import nodes
from jinja2.meta import find_undeclared_variables

Parse = Callable[[str], nodes.Template]
"""Parses the template of a name, each time anew."""

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
    return template if has_parts and _is_plain(template) and _written(template, template, (name,), part) else None


def _written(node: nodes.Node, whole: nodes.Template, by: tuple[str, ...], part: Parse) -> bool:
    """Write into a node of a template, which was included by others, and say whether all could be written in."""
    for listed in (getattr(node, name, None) or [] for name in ("body", "elif_", "else_")):
        for place, inner in enumerate(listed):
            if isinstance(inner, nodes.Include):
                found = _included(inner, whole, by, part)
                if found is None:
                    return False
                listed[place] = found
            elif not _written(inner, whole, by, part):
                return False
    return True


def _included(include: nodes.Include, whole: nodes.Template, by: tuple[str, ...], part: Parse) -> nodes.Node | None:
    name = include.template.value if isinstance(include.template, nodes.Const) else None
    if not isinstance(name, str) or name in by or not include.with_context or include.ignore_missing:
        return None
    found = part(name)
    if not _is_plain(found) or not _written(found, found, (*by, name), part):
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
