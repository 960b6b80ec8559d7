"""Who is asked with which template: one for all, a list dealt to a role's agents, or templates by agent and role."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cortexdsl.spec.grammar.protocols.steps import ELSE, SayForm
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Route

PLACES = ("first", "second")
Way = str | SayForm
Wrong = tuple[Route, str, str]


@dataclass(frozen=True, slots=True)
class Dealt:
    """Who is asked with which template.

    Attributes
    ----------
    prompt : str
        The template of everybody else.
    by_agent, by_role : mapping of name to str
        Those of agents, and of whoever plays a role, who are asked otherwise.
    said : tuple of str
        Those that nobody is asked with: what they render to is said.
    wrong : list of (route, what, remedy)
    """

    prompt: str
    by_agent: Mapping[str, str] = field(default_factory=dict)
    by_role: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    wrong: Sequence[Wrong] = ()


def dealt(prompt: Way | Sequence[Way] | Mapping[str, Way], agents: Sequence[str], roles: Collection[str] = ()) -> Dealt:
    """Give every agent of a role its template.

    Parameters
    ----------
    prompt : template, `{say: ...}`, sequence of these, or mapping of agent or role to these
        A list is dealt in the agents' order, from its beginning again where there are more of them. In a mapping
        `else` is for those whom it does not name; `first` and `second` are places, where nobody is called so; a role
        stands for whoever plays it when the step is spoken.
    agents : sequence of str
        Those of the role, in their order.
    roles : collection of str
        Of the protocol.
    """
    ways = prompt.values() if isinstance(prompt, Mapping) else [prompt] if isinstance(prompt, Way) else prompt
    said = tuple(dict.fromkeys(way.say for way in ways if isinstance(way, SayForm)))
    if isinstance(prompt, Mapping):
        return replace(_by_name({key: _template(way) for key, way in prompt.items()}, agents, roles), said=said)
    if isinstance(prompt, Way):
        return Dealt(_template(prompt), said=said)
    return replace(_in_turn([_template(way) for way in prompt], agents), said=said)


def _template(way: Way) -> str:
    return way.say if isinstance(way, SayForm) else way


def _in_turn(prompts: Sequence[str], agents: Sequence[str]) -> Dealt:
    unused = len(prompts) - len(agents)
    wrong: list[Wrong] = []
    if unused > 0 and agents:
        what = f"{len(prompts)} templates are dealt to {len(agents)} agents, and nobody is asked with the last"
        wrong = [((len(agents),), what, "remove it, or add agents")]
    turns = {name: prompts[k % len(prompts)] for k, name in enumerate(agents)}
    return Dealt(prompts[0], _others(prompts[0], turns), wrong=wrong)


def _by_name(prompts: Mapping[str, str], agents: Sequence[str], roles: Collection[str]) -> Dealt:
    places = dict(zip(PLACES, agents, strict=False))
    prompts = {name if name in agents else places.get(name, name): prompt for name, prompt in prompts.items()}
    known = (*agents, *roles, ELSE)
    wrong: list[Wrong] = [
        ((name,), f"no agent of the role, and no role, is called {name}", nearest(name, known, say="agents and roles"))
        for name in prompts
        if name not in known
    ]
    missing = [] if ELSE in prompts or wrong else [name for name in agents if name not in prompts]
    if missing:
        have = "have" if len(missing) > 1 else "has"
        wrong.append(((), f"{', '.join(missing)} {have} no template", f"name all agents of the role, or {ELSE}"))
    first = prompts.get(ELSE) or next(iter(prompts.values()))
    by_role = {name: prompt for name, prompt in prompts.items() if name in roles and name not in agents}
    by_agent = {name: prompts[name] for name in agents if name in prompts}
    # An agent that is asked as most are must still be named where a role that it may play is asked otherwise.
    return Dealt(first, by_agent if by_role else _others(first, by_agent), by_role, wrong=wrong)


def _others(first: str, by_agent: Mapping[str, str]) -> dict[str, str]:
    return {name: prompt for name, prompt in by_agent.items() if prompt != first}
