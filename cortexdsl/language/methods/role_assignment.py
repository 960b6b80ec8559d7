"""Assign to agents their roles, templates, source of confidence, and placebo."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import get_args

from cortexdsl.core import (
    ELSE,
    Agent,
    Measure,
    Method,
    Model,
    Nobody,
    PlaceboKind,
    SchedulePart,
    Self,
    Step,
)
from cortexdsl.engine.methods import debating_roles, scheduled_choices, with_each_model
from cortexdsl.errors import nearest
from cortexdsl.language.grammar.confidence import PROMPT, MeasureBy
from cortexdsl.language.grammar.methods import MethodText
from cortexdsl.language.grammar.old_words import key_remedy, value_remedy
from cortexdsl.language.grammar.protocol import ModelForm, RoleWord, ToolForm
from cortexdsl.language.grammar.steps import SayForm, VariantsForm
from cortexdsl.language.nodes import Mark, Node, Route, dotted, refuse
from cortexdsl.language.problems import validate
from cortexdsl.language.protocol.settings import Substitution


@dataclass(frozen=True, slots=True)
class MethodChoice:
    """The settings and agents of a method.

    Attributes
    ----------
    label : str
        What messages call the method, such as `methods.sparse`.
    node : Node
        The method's entry: settings, `roles`, `prompts`, and the words of a method, with positions.
    team : tuple of Agent
    agents : mapping of name to Agent
        All agents of the spec, for roles that name some.
    models, tools : mapping of name to Model
    """

    label: str
    node: Node
    team: tuple[Agent, ...]
    agents: Mapping[str, Agent] = field(default_factory=dict)
    models: Mapping[str, Model] = field(default_factory=dict)
    tools: Mapping[str, Model] = field(default_factory=dict)


# ---------------------------------------------------------------- roles to agents
def bind_roles(
    roles: Mapping[str, object], node: Node, choice: MethodChoice, substitution: Substitution
) -> Mapping[str, tuple[Agent, ...]]:
    """Bind every role of a protocol to agents.

    Parameters
    ----------
    roles : mapping of role to its validated binding
    node : Node
        The bindings with their positions.
    choice : MethodChoice
    substitution : Substitution
        Names values in messages.

    Raises
    ------
    SpecError
        An agent or model is unknown, the team is too small, or two different agents have one name.
    """
    role_agents = {role: _players(role, binding, node, choice, substitution) for role, binding in roles.items()}
    by_name: dict[str, tuple[Agent, str]] = {}
    for role, players in role_agents.items():
        for agent in players:
            other, first = by_name.setdefault(agent.name, (agent, role))
            if other != agent:
                called = substitution.called(("roles", role))
                what = f"{called}: another agent called {agent.name} is {first}"
                refuse(node.key_mark((role,)), what, "rename the agent of the spec")
    return MappingProxyType(role_agents)


def roles_in_use(
    role_agents: Mapping[str, tuple[Agent, ...]], steps: Iterable[Step], schedule: Sequence[SchedulePart]
) -> Mapping[str, tuple[Agent, ...]]:
    """Return the roles that speak, are heard, or are chosen in the branches that the settings select."""
    used = {role for step in steps for role in (step.role, step.of, *getattr(step.hears, "roles", ()), *step.by_role)}
    used |= {role for choice in scheduled_choices(schedule) for role in (choice.role, choice.source)}
    return MappingProxyType({role: agents for role, agents in role_agents.items() if role in used})


def with_models(method: Method, models: Mapping[str, Model]) -> Method:
    """Return a method whose agents have other models, by the names of their entries."""

    def sized(model: Model) -> Model:
        return model if model.is_tool else models.get(model.name, model)

    return with_each_model(method, sized) if models else method


def _players(
    role: str, binding: object, node: Node, choice: MethodChoice, substitution: Substitution
) -> tuple[Agent, ...]:
    called, mark, team = substitution.called(("roles", role)), node.where((role,)), choice.team
    match binding:
        case "everyone":
            return team
        case "extra":
            if not team:
                refuse(mark, f"{called} is extra: it has the model of the first agent, and there is none", "add agents")
            return (Agent(role, team[0].model),)
        case int():
            if binding > len(team):
                refuse(mark, f"{called} is {binding}, and the team has {len(team)} of them", "add agents")
            return (team[binding - 1],)
        case tuple():
            known = {**choice.agents, **{agent.name: agent for agent in team}}
            for i, name in enumerate(binding):
                if name not in known:
                    what = f"{called}: there is no agent {name}"
                    remedy = value_remedy(("roles", role), name) or nearest(
                        name, (*known, *get_args(RoleWord)), say="agents"
                    )
                    refuse(node.where((role, i)) if len(binding) > 1 else mark, what, remedy)
            if len(set(binding)) < len(binding):
                refuse(mark, f"{called}: an agent is named twice", "name each once, or make a team with copies")
            return tuple(known[name] for name in binding)
        case ModelForm():
            return (Agent(role, _entry("model", binding.model, choice.models, called, node.where((role, "model")))),)
        case ToolForm():
            return (Agent(role, _entry("tool", binding.tool, choice.tools, called, node.where((role, "tool")))),)
        case _:  # pragma: no cover - the types admit nothing else
            raise AssertionError(binding)


def _entry(kind: str, name: str, known: Mapping[str, Model], called: str, mark: Mark) -> Model:
    """Return a model or a tool of the spec; refuse a name that is not known."""
    if name not in known:
        remedy = nearest(name, known, say=f"{kind}s") or "write tools: {NAME: {tool: calculator}}"
        refuse(mark, f"{called}: there is no {kind} {name}", remedy)
    return known[name]


# ---------------------------------------------------------------- templates to agents
Prompt = str | SayForm
DealProblem = tuple[Route, str, str]


@dataclass(frozen=True, slots=True)
class TemplateDeal:
    """The templates of the agents of a role.

    Attributes
    ----------
    prompt : str
        The template of all other agents.
    by_agent, by_role : mapping of name to str
        Templates of agents, and of the players of a role, that differ from it.
    said : tuple of str
        Templates that are not sent to a model: their text is the reply.
    variants : tuple of str
        Wordings of the template; each replicate draws one.
    problems : list of (route, what, remedy)
    """

    prompt: str
    by_agent: Mapping[str, str] = field(default_factory=dict)
    by_role: Mapping[str, str] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    problems: Sequence[DealProblem] = ()


def deal_templates(
    prompt: Prompt | VariantsForm | Sequence[Prompt] | Mapping[str, Prompt],
    agents: Sequence[str],
    roles: Collection[str] = (),
) -> TemplateDeal:
    """Give every agent of a role its template.

    Parameters
    ----------
    prompt : template, `{say: ...}`, `{variants: ...}`, sequence of these, or mapping of agent or role to these
        A list is dealt in the agents' order, and repeats if there are more agents. In a mapping `else` is for all
        agents that it does not name; `first` and `second` are places; a role means the agents that play it when the
        step is spoken.
    agents : sequence of str
        Agents of the role, in their order.
    roles : collection of str
        Of the protocol.
    """
    if isinstance(prompt, VariantsForm):
        return TemplateDeal(prompt.variants[0], variants=prompt.variants)
    prompts = prompt.values() if isinstance(prompt, Mapping) else [prompt] if isinstance(prompt, Prompt) else prompt
    replies = tuple(dict.fromkeys(way.say for way in prompts if isinstance(way, SayForm)))
    if isinstance(prompt, Mapping):
        return replace(_by_name({key: _template(way) for key, way in prompt.items()}, agents, roles), said=replies)
    if isinstance(prompt, Prompt):
        return TemplateDeal(_template(prompt), said=replies)
    return replace(_in_turn([_template(way) for way in prompt], agents), said=replies)


def _template(way: Prompt) -> str:
    return way.say if isinstance(way, SayForm) else way


def _in_turn(prompts: Sequence[str], agents: Sequence[str]) -> TemplateDeal:
    unused = len(prompts) - len(agents)
    problems: list[DealProblem] = []
    if unused > 0 and agents:
        what = f"{len(prompts)} templates are dealt to {len(agents)} agents, and nobody is asked with the last"
        problems = [((len(agents),), what, "remove it, or add agents")]
    turns = {name: prompts[k % len(prompts)] for k, name in enumerate(agents)}
    return TemplateDeal(prompts[0], _others(prompts[0], turns), problems=problems)


def _by_name(prompts: Mapping[str, str], agents: Sequence[str], roles: Collection[str]) -> TemplateDeal:
    places = {str(number): agent for number, agent in enumerate(agents, 1)}
    prompts = {places.get(name, name): prompt for name, prompt in prompts.items()}
    known = (*agents, *roles, ELSE)
    problems: list[DealProblem] = [
        (
            (name,),
            f"no agent of the role, and no role, is called {name}",
            key_remedy("prompt", name, prompts[name]) or nearest(name, known, say="agents and roles"),
        )
        for name in prompts
        if name not in known
    ]
    missing = [] if ELSE in prompts or problems else [name for name in agents if name not in prompts]
    if missing:
        have = "have" if len(missing) > 1 else "has"
        problems.append(((), f"{', '.join(missing)} {have} no template", f"name all agents of the role, or {ELSE}"))
    first = prompts.get(ELSE) or next(iter(prompts.values()))
    by_role = {name: prompt for name, prompt in prompts.items() if name in roles and name not in agents}
    by_agent = {name: prompts[name] for name in agents if name in prompts}
    # An agent with the common template is named, too, if a role that it may play has another template.
    return TemplateDeal(first, by_agent if by_role else _others(first, by_agent), by_role, problems=problems)


def _others(first: str, by_agent: Mapping[str, str]) -> dict[str, str]:
    return {name: prompt for name, prompt in by_agent.items() if prompt != first}


LOGPROBS = "logprobs"
"""The option that requests the probabilities of the tokens of a reply."""


_CHECKED = ("confidence", "placebo", "debate_confidence", "defer")
"""Words of a method whose values may be those of a grid."""


def method_words(choice: MethodChoice, protocol: str) -> MethodText:
    """Return the words of a method at a point of its grid.

    Raises
    ------
    SpecError
        A value does not fit.
    """
    node = choice.node
    words = {word: node.mapping()[word] for word in _CHECKED if word in node.mapping()}
    entry = Node({"protocol": Node(protocol, node.mark), **words}, node.mark, node.keys)
    return validate(MethodText, entry, lambda route: dotted((choice.label, *route)))


def with_confidence(method: Method, words: MethodText, choice: MethodChoice) -> Method:
    """Return a method with the source of confidence that its entry names.

    Raises
    ------
    SpecError
        There is no such model, or an agent's model has no probabilities of tokens.
    """
    measure = words.confidence
    if isinstance(measure, MeasureBy):
        called, mark = f"{choice.label}.confidence", choice.node.where(("confidence",))
        verifier = _entry("model", measure.model, choice.models, called, mark)
        measure = Measure("verifier", verifier=verifier, prompt=PROMPT)
    method = _with_logprobs(method, choice) if measure.source == "logprob" else method
    return replace(method, confidence=measure)


def _with_logprobs(method: Method, choice: MethodChoice) -> Method:
    """Return a method whose answering models are asked for logprobs."""
    label, mark = choice.label, choice.node.where(("confidence",))
    answering = {step.role for step in method.steps.values() if step.reads == "answer"}
    names = {agent.name for role in answering for agent in method.role_agents[role]}

    def with_logprobs(model: Model, who: str) -> Model:
        if model.is_tool:
            return model
        if model.is_program:
            what = f"{label}.confidence: {who} is {model.model}, which has no probabilities of tokens"
            refuse(mark, what, "use consistency(5) or verifier, or another model")
        if model.options.get(LOGPROBS) is False:
            refuse(mark, f"{label}.confidence: model {model.name} says logprobs: false", "remove that option")
        return replace(model, options=MappingProxyType({**model.options, LOGPROBS: True}))

    def speaking(agent: Agent) -> Agent:
        return replace(agent, model=with_logprobs(agent.model, agent.name)) if agent.name in names else agent

    role_agents = {role: tuple(map(speaking, agents)) for role, agents in method.role_agents.items()}
    steps = {
        name: replace(step, model=with_logprobs(step.model, f"the model of step {name}"))
        if step.model is not None and step.reads == "answer"
        else step
        for name, step in method.steps.items()
    }
    return replace(method, role_agents=MappingProxyType(role_agents), steps=MappingProxyType(steps))


def with_placebo(method: Method, words: MethodText, choice: MethodChoice) -> Method:
    """Return a method with the placebo that its entry names.

    A word is for all steps in which debaters hear others; a mapping names steps. The other steps keep what the protocol
    says: a judge or a summarizer hears what was said.

    Raises
    ------
    SpecError
        There is no such step, or a step hears nobody.
    """
    if "placebo" not in words.model_fields_set:
        return method
    placebo, node = words.placebo, choice.node
    debating = debating_roles(method)
    hearing = [name for name, step in method.steps.items() if not isinstance(step.hears, Nobody | Self)]
    if isinstance(placebo, str):
        kinds: dict[str, PlaceboKind] = {name: placebo for name in hearing if method.steps[name].role in debating}
        if not kinds and placebo != "none":
            what = f"{choice.label}.placebo: no debater hears another one in {method.protocol}"
            refuse(node.where(("placebo",)), what, "remove it: this method has nothing that a placebo replaces")
    else:
        kinds = dict(placebo)
        for name in kinds:
            if name not in hearing:
                reason = f"step {name} hears no other agent" if name in method.steps else f"there is no step {name}"
                remedy = nearest(name, hearing, say="steps that hear others")
                refuse(node.key_mark(("placebo", name)), f"{choice.label}.placebo: {reason}", remedy)
    steps = {name: replace(step, placebo=kinds.get(name, step.placebo)) for name, step in method.steps.items()}
    return replace(method, steps=MappingProxyType(steps))
