"""Who is asked with which template: one for all, a list dealt to the agents of a role, or templates by agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cortexdsl.spec.grammar.steps import ELSE
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Route

PLACES = ("first", "second")
Wrong = tuple[Route, str, str]


def dealt(
    prompt: str | Sequence[str] | Mapping[str, str], agents: Sequence[str]
) -> tuple[str, dict[str, str], list[Wrong]]:
    """Give every agent of a role its template.

    Parameters
    ----------
    prompt : str, sequence of str, or mapping of agent to str
        A list is dealt in the agents' order, from its beginning again where there are more of them. In a mapping
        `else` is for those whom it does not name; `first` and `second` are places, where nobody is called so.
    agents : sequence of str
        Those of the role, in their order.

    Returns
    -------
    (str, dict, list)
        The template, those of agents who are asked otherwise, and what is wrong, as route, what and remedy.
    """
    if isinstance(prompt, str):
        return prompt, {}, []
    wrong: list[Wrong]
    if isinstance(prompt, Mapping):
        prompt = _by_name(prompt, agents)
        wrong = [
            ((name,), f"no agent of the role is called {name}", nearest(name, [*agents, ELSE], say="agents"))
            for name in prompt
            if name not in (*agents, ELSE)
        ]
        missing = [] if ELSE in prompt else [name for name in agents if name not in prompt]
        if missing:
            wrong.append(((), f"{', '.join(missing)} has no template", f"name all agents of the role, or {ELSE}"))
        first = prompt.get(ELSE) or next(iter(prompt.values()))
        return first, _others(first, {name: prompt[name] for name in agents if name in prompt}), wrong
    unused = len(prompt) - len(agents)
    wrong = []
    if unused > 0 and agents:
        said = f"{len(prompt)} templates are dealt to {len(agents)} agents, and nobody is asked with the last"
        wrong = [((len(agents),), said, "remove it, or add agents")]
    return prompt[0], _others(prompt[0], {name: prompt[k % len(prompt)] for k, name in enumerate(agents)}), wrong


def _by_name(prompt: Mapping[str, str], agents: Sequence[str]) -> dict[str, str]:
    """Return a mapping with agents in place of the words for their places."""
    named = dict(zip(PLACES, agents, strict=False))
    return {name if name in agents else named.get(name, name): template for name, template in prompt.items()}


def _others(first: str, by_agent: Mapping[str, str]) -> dict[str, str]:
    return {name: prompt for name, prompt in by_agent.items() if prompt != first}
