"""The tools that speak in a method, and what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cortexdsl.errors import InputError, Problem
from cortexdsl.models.tools.function import source_of
from cortexdsl.models.tools.transport import PYTHON, SEARCH
from cortexdsl.spec.load import Spec
from cortexdsl.terms import Method, Model


def tools_of(method: Method) -> dict[str, Model]:
    """Return the tools that speak in a method, by name."""
    return {model.name: model for model in method.models if model.is_tool}


def functions_of(method: Method) -> tuple[str, ...]:
    """Return the functions that a method's debates call."""
    tools = tools_of(method).values()
    return tuple(dict.fromkeys(str(tool.options["function"]) for tool in tools if tool.model == PYTHON))


def tool_sources(method: Method) -> tuple[str, ...]:
    """Return the knowledge sources that a method's tools search."""
    tools = tools_of(method).values()
    return tuple(dict.fromkeys(str(tool.options["source"]) for tool in tools if tool.model == SEARCH))


def tool_files(method: Method, knowledge: Mapping[str, Any], folder: Path) -> list[str]:
    """Return the files that a method's tools read: corpora, and the modules of functions.

    Parameters
    ----------
    method : Method
    knowledge : mapping of name to entry
    folder : Path
        Where the paths of corpora begin.
    """
    corpora = [getattr(knowledge[name], "corpus", None) for name in tool_sources(method)]
    found = [(folder / corpus).as_posix() for corpus in corpora if corpus]
    return [*found, *(source_of(name).as_posix() for name in functions_of(method))]


def without_module(spec: Spec) -> Iterator[Problem]:
    """Yield the functions of a spec whose module is not there; none of it is run."""
    for name, tool in spec.tools.items():
        if tool.model == PYTHON:
            try:
                source_of(str(tool.options["function"]))
            except InputError as error:
                what, _, remedy = str(error).partition("\n")
                yield spec.problem(("tools", name, "function"), f"tools.{name}.{what}", remedy.strip())
