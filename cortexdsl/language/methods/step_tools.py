"""The tools that the agents of a step may use in their turns, and what excludes them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from cortexdsl.core import ELSE, Agent, Model, Step
from cortexdsl.engine.tool_use import ABOUT
from cortexdsl.errors import nearest
from cortexdsl.language.nodes import Route
from cortexdsl.models.transports.registry import has_functions

ToolProblem: TypeAlias = tuple[Route, str, str]
"""Where in the step, what is wrong, and the remedy."""
Names: TypeAlias = str | Sequence[str]
"""The name of a tool, or several."""
_FUNCTION = re.compile(r"[A-Za-z0-9_-]+")
OFFERED = ("tools", "tool_choice", "functions")
"""Options of a model that offer functions."""


def tools_by_agent(
    written: Names | Mapping[str, Names], agents: Sequence[Agent], known: Mapping[str, Model]
) -> tuple[Mapping[str, tuple[Model, ...]], list[ToolProblem]]:
    """Return the tools of each agent of a step, and the problems of their names.

    Parameters
    ----------
    written : Names, or mapping of agent to Names
    agents : sequence of Agent
        Those that may speak.
    known : mapping of name to Model
        The tools of the spec.
    """
    by_agent = written if isinstance(written, Mapping) else {ELSE: written}
    names = {name: (tools,) if isinstance(tools, str) else tools for name, tools in by_agent.items()}
    problems: list[ToolProblem] = []
    own = [agent.name for agent in agents]
    for name in names:
        if name not in (*own, ELSE):
            what = f"no agent of the role is called {name}"
            problems.append((("tools", name), what, nearest(name, (*own, ELSE), say="agents")))
    for name, tools in names.items():
        for k, tool in enumerate(tools):
            at: Route = ("tools", *([name] if isinstance(written, Mapping) else []))
            at = at if isinstance(by_agent[name], str) else (*at, k)
            if tool not in known:
                remedy = nearest(tool, known, say="tools") or f"declare it: tools: {{{tool}: {{tool: calculator}}}}"
                problems.append((at, f"there is no tool {tool}", remedy))
            elif tool in tools[:k]:
                problems.append((at, f"{tool} is named twice", "name each tool once"))
    found = {name: tuple(known[tool] for tool in tools if tool in known) for name, tools in names.items() if tools}
    return MappingProxyType(found), problems


def tool_problems(step: Step, agents: Sequence[Agent]) -> Iterator[ToolProblem]:
    """Yield why agents of a step cannot use its tools."""
    if not step.tools:
        return
    at: Route = ("tools",)
    if step.said and set(step.said) >= set(step.prompts):
        yield at, "no model is asked in this step, so that nobody can use a tool", "remove tools"
        return
    for tool in {tool.name: tool for tools in step.tools.values() for tool in tools}.values():
        if not _FUNCTION.fullmatch(tool.name):
            yield at, f"{tool.name} cannot be the name of a function", "rename the tool: letters, digits, _ and - only"
        if tool.model == "tool/python" and ABOUT not in tool.options:
            what = f"nothing tells agents what the function of {tool.name} does"
            yield at, what, f"write about: in the entry tools.{tool.name}"
    for agent in agents:
        model = step.model_of(agent)
        if not step.tools_of(agent.name):
            continue
        if model.is_tool:
            yield at, f"{agent.name} is a tool itself, and only models use tools", "remove tools, or name other agents"
        elif has_functions(model) and (clash := next((name for name in OFFERED if name in model.options), None)):
            what = f"the options of {model.name} have {clash}, and the step offers tools, too"
            yield at, what, f"remove {clash} there, or write function_calls: false"
