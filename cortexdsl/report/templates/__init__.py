"""The templates of pages and their style sheet; text that is not ours is escaped, and unknown names are errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from cortexdsl.plain_text import printable

_HERE = Path(__file__).parent


def template(name: str) -> Template:
    """Return one of the templates of this folder."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    loader = FileSystemLoader(_HERE, encoding="utf-8")
    return Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=loader,
        finalize=_printable,
    )


def _printable(value: Any) -> Any:
    """Return what a template writes; text is made printable, and stays markup if it is."""
    return type(value)(printable(value)) if isinstance(value, str) else value


def style() -> Markup:
    """Return the style sheet of every page."""
    return Markup((_HERE / "page.css").read_text(encoding="utf-8"))
