"""Who plays which role: the words of `roles:` bound to agents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from cortexdsl.debate.roles import choices
from cortexdsl.protocols.text.substitute import Substitution
from cortexdsl.spec.grammar.protocols.protocol import ModelForm, ModelOfForm, ToolForm
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Node, refuse
from cortexdsl.terms import Agent, Item, Model, Step

_PLACES = {"first": 1, "second": 2}


def bind(
    roles: Mapping[str, object],
    node: Node,
    team: Sequence[Agent],
    agents: Mapping[str, Agent],
    models: Mapping[str, Model],
    tools: Mapping[str, Model],
    substitution: Substitution,
) -> Mapping[str, tuple[Agent, ...]]:
    """Bind every role of a protocol to agents.

    Parameters
    ----------
    roles : mapping of role to checked binding
    node : Node
        The bindings with their positions.
    team : sequence of Agent
        Those that `everyone`, `first`, `second` and numbers (from 1) mean.
    agents : mapping of name to Agent
        Those that may be named besides: all of the spec.
    models, tools : mapping of name to Model
    substitution : Substitution
        Names values in messages.

    Returns
    -------
    mapping of role to agents

    Raises
    ------
    SpecError
        An agent or model is unknown, the team is too small, or two different agents have one name.
    """
    cast = {
        role: _bound(role, binding, node, team, agents, models, tools, substitution) for role, binding in roles.items()
    }
    met: dict[str, tuple[Agent, str]] = {}
    for role, bound in cast.items():
        for agent in bound:
            other, first = met.setdefault(agent.name, (agent, role))
            if other != agent:
                refuse(
                    node.key_mark((role,)),
                    f"{substitution.called(('roles', role))}: another agent called {agent.name} is {first}",
                    "rename the agent of the spec",
                )
    return MappingProxyType(cast)


def played(
    cast: Mapping[str, tuple[Agent, ...]], steps: Iterable[Step], schedule: Sequence[Item]
) -> Mapping[str, tuple[Agent, ...]]:
    """Return the roles that speak, are heard or chosen: what no case has chosen brings nobody into the debate."""
    found = {role for step in steps for role in (step.role, step.of, *getattr(step.hears, "roles", ()), *step.by_role)}
    found |= {role for choice in choices(schedule) for role in (choice.role, choice.source)}
    return MappingProxyType({role: agents for role, agents in cast.items() if role in found})


def _bound(
    role: str,
    binding: object,
    node: Node,
    team: Sequence[Agent],
    agents: Mapping[str, Agent],
    models: Mapping[str, Model],
    tools: Mapping[str, Model],
    substitution: Substitution,
) -> tuple[Agent, ...]:
    called, mark = substitution.called(("roles", role)), node.where((role,))
    match binding:
        case "everyone":
            return tuple(team)
        case str() | int():
            place = _PLACES[binding] if isinstance(binding, str) else binding
            if place > len(team):
                refuse(mark, f"{called} is {binding}, and the team has {len(team)} of them", "add agents")
            return (team[place - 1],)
        case tuple():
            known = {**agents, **{agent.name: agent for agent in team}}
            for i, name in enumerate(binding):
                if name not in known:
                    refuse(
                        node.where((role, i)), f"{called}: there is no agent {name}", nearest(name, known, say="agents")
                    )
            if len(set(binding)) < len(binding):
                refuse(mark, f"{called}: an agent is named twice", "name each once, or make a team with copies")
            return tuple(known[name] for name in binding)
        case ModelOfForm():
            place = _PLACES[binding.model_of]
            if place > len(team):
                refuse(mark, f"{called}: there is no {binding.model_of} agent", "add agents")
            return (Agent(role, team[place - 1].model),)
        case ModelForm():
            if binding.model not in models:
                remedy = nearest(binding.model, models, say="models")
                refuse(node.where((role, "model")), f"{called}: there is no model {binding.model}", remedy)
            return (Agent(role, models[binding.model], binding.persona),)
        case ToolForm():
            if binding.tool not in tools:
                remedy = nearest(binding.tool, tools, say="tools") or "write tools: {NAME: {tool: calculator}}"
                refuse(node.where((role, "tool")), f"{called}: there is no tool {binding.tool}", remedy)
            return (Agent(role, tools[binding.tool]),)
        case _:  # pragma: no cover - the types let nothing else pass
            raise AssertionError(binding)
