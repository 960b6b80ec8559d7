"""The confidence that a method goes by: its word bound to models, and what that asks of those who answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from cortexdsl.spec.check.problems import check
from cortexdsl.spec.grammar.sections.confidence import SAMPLES, ConfidenceEntry, ConsistencyForm, VerifierForm
from cortexdsl.spec.text.messages import nearest
from cortexdsl.spec.text.nodes import Node, refuse
from cortexdsl.terms import STATED, Agent, Measure, Method, Model

PROMPT = "common/verify.j2"
LOGPROBS = "logprobs"
"""The option that asks a server for the probabilities of the tokens that it says."""


def with_confidence(method: Method, written: Node | None, label: str, models: Mapping[str, Model]) -> Method:
    """Return a method that goes by the confidence that its entry names.

    Parameters
    ----------
    method : Method
    written : Node or None
        What stands at `confidence:`; None: nothing.
    label : str
        What messages call the method.
    models : mapping of name to Model

    Raises
    ------
    SpecError
        There is no such form or model, or an agent's model has no probabilities of tokens.
    """
    measure = STATED if written is None else _measure(written, label, models)
    if measure.source == "logprob":
        assert written is not None
        method = _with_logprobs(method, written, label)
    return replace(method, confidence=measure)


def _measure(written: Node, label: str, models: Mapping[str, Model]) -> Measure:
    entry = Node({"confidence": written}, written.mark)
    said = check(ConfidenceEntry, entry, lambda route: f"{label}.{'.'.join(map(str, route))}").confidence
    match said:
        case "consistency":
            return Measure("consistency", SAMPLES)
        case ConsistencyForm():
            return Measure("consistency", said.consistency)
        case "verifier":
            return Measure("verifier", prompt=PROMPT)
        case VerifierForm():
            if said.verifier not in models:
                what = f"{label}.confidence: there is no model {said.verifier}"
                refuse(written.where(("verifier",)), what, nearest(said.verifier, models, say="models"))
            return Measure("verifier", verifier=models[said.verifier], prompt=PROMPT)
        case _:
            return Measure(said)


def _with_logprobs(method: Method, written: Node, label: str) -> Method:
    """Have the models of those who answer asked for logprobs; an entry that says so itself shares its calls."""
    answering = {step.role for step in method.steps.values() if step.reads == "answer"}
    names = {agent.name for role in answering for agent in method.cast[role]}

    def asked(agent: Agent) -> Agent:
        if agent.name not in names or agent.model.is_tool:
            return agent
        if agent.model.model.startswith("builtin/"):
            what = f"{label}.confidence: {agent.name} is {agent.model.model}, which has no probabilities of tokens"
            refuse(written.mark, what, "use consistency or verifier, or another model")
        if agent.model.options.get(LOGPROBS) is False:
            what = f"{label}.confidence: model {agent.model.name} says logprobs: false"
            refuse(written.mark, what, "remove that option")
        options = MappingProxyType({**agent.model.options, LOGPROBS: True})
        return replace(agent, model=replace(agent.model, options=options))

    cast = {role: tuple(map(asked, agents)) for role, agents in method.cast.items()}
    return replace(method, cast=MappingProxyType(cast))
