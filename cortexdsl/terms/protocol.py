"""A protocol, checked and resolved: what the engine interprets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from cortexdsl.terms.agents import FREE, Agent, Model
from cortexdsl.terms.base import EMPTY
from cortexdsl.terms.confidences import STATED, Measure
from cortexdsl.terms.graphs import Keep, Nobody, Topology

Tells: TypeAlias = Literal["latest", "history", "by_answer", "about_me", "evidence"]
Own: TypeAlias = Literal["none", "latest", "history"]
Each: TypeAlias = Literal["speaker", "edge", "pair", "match", "listener", "group"]
Reads: TypeAlias = Literal["answer", "review", "verdict", "summary", "selection", "comment", "similarity", "choice"]
Beside: TypeAlias = Literal["verdict", "choice"]


@dataclass(frozen=True, slots=True)
class Told:
    """Which turns of a speaker reach a prompt.

    Attributes
    ----------
    steps : tuple of str
        Those of these steps, whatever they read; empty: all talk.
    about_me : bool
        Those alone that are about (or for) the one who is told; of any kind where no step is named.
    last : int or None
        Of how many last executions among them; None is all.
    where : str
        A condition on each: those alone for which it holds; empty: all.
    """

    steps: tuple[str, ...] = ()
    about_me: bool = False
    last: int | None = 1
    where: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of utterance: who speaks, whom it hears, what reaches the prompt, what is read from the reply.

    Attributes
    ----------
    prompt : str
        The template.
    by_agent : mapping of agent to template
        Those who are asked otherwise.
    by_role : mapping of role to template
        Likewise whoever plays a role when the step is spoken, as far as `by_agent` does not name them.
    said : tuple of str
        Those of its templates that nobody is asked with: what they render to is what the speaker says.
    of : str
        With a call for each edge: the role whose players these calls are about; all others who are heard are heard in
        each of them. Empty: there is a call about everybody who is heard.
    """

    name: str
    role: str
    prompt: str
    hears: Topology = Nobody()  # noqa: RUF009 - frozen and empty, safe to share
    tells: tuple[Tells | Told, ...] = ("latest",)
    own: Own | Told = "none"
    material: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    order: Literal["simultaneous", "sequential"] = "simultaneous"
    each: Each = "speaker"
    draws: int = 1
    reads: Reads = "answer"
    by_agent: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    beside: tuple[Beside, ...] = ()
    by_role: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    said: tuple[str, ...] = ()
    of: str = ""

    def prompt_of(self, agent: str, roles: Collection[str] = ()) -> str:
        """Return the template of an agent that plays some roles now."""
        by_role = next((prompt for role, prompt in self.by_role.items() if role in roles), self.prompt)
        return self.by_agent.get(agent, by_role)

    @property
    def prompts(self) -> tuple[str, ...]:
        """All its templates, each once."""
        return tuple(dict.fromkeys([self.prompt, *self.by_agent.values(), *self.by_role.values()]))


@dataclass(frozen=True, slots=True)
class Choose:
    """A role is filled anew: by those of another (or of itself) whose weight is kept.

    Attributes
    ----------
    role, source : str
    weight : str
        An expression with a value an agent.
    keep : Keep
    """

    role: str
    source: str
    weight: str
    keep: Keep


NEVER = "never"
"""A condition that no debate meets."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop of the schedule: at most `times` passes; `unless` is looked at before the first, `until` after each.

    Both are expressions with one value a debate, such as `consensus`, `agreement >= 0.8`; or `never`.
    """

    times: int
    body: tuple[Item, ...]
    until: str = NEVER
    unless: str = NEVER


Item: TypeAlias = "str | Choose | Repeat"
"""A part of a schedule: the name of a step, a choice, or a loop."""


@dataclass(frozen=True, slots=True)
class Bin:
    """A recalibration bin: stated confidences in [low, high) become `value`; None keeps them.

    `low_open` and `high_closed` move a bound to the other bin.
    """

    low: float
    high: float
    value: float | None
    low_open: bool = False
    high_closed: bool = False


AS_WRITTEN = Model("(as written)", "tool/as-written", price=FREE)
"""What a call goes to that no model answers: its reply is its last message."""


@dataclass(frozen=True, slots=True)
class Decide:
    """How a debate becomes one answer.

    Attributes
    ----------
    rule : str
        `majority`, `weighted` (votes weigh their recalibrated confidence), `first` (the first voter's answer),
        `last` (the last answer of `role`, by somebody who plays it still), `vote` (every answer of every round counts
        `weight`).
    role : str or None
        With `last`.
    otherwise : str
        With the last answer of a role: the vote that decides where it gave none that can be read; `none` is no answer.
    weight : str
        With `vote`: an expression with a value an answer.
    fallback : str
        What a tie of the vote becomes: `confidence` (highest summed recalibrated confidence, then a seeded
        draw), or `none`: the same, but where all voters differ there is no answer, which counts as wrong.
    """

    rule: Literal["majority", "weighted", "first", "last", "vote"]
    role: str | None = None
    fallback: Literal["confidence", "none"] = "confidence"
    weight: str = ""
    otherwise: Literal["majority", "weighted", "first", "none"] = "none"


@dataclass(frozen=True, slots=True)
class Method:
    """A protocol with every setting resolved and every role bound to agents: what the engine interprets.

    Attributes
    ----------
    protocol : str
        Name of the protocol.
    cast : mapping of role to agents
    debaters : tuple of str
        The roles whose answers make rounds, consensus and votes; empty: the role of the first answering step. A role
        that is chosen from one of them debates, too.
    steps : mapping of name to Step
    schedule : tuple of step names, Choose and Repeat
    decide : Decide
    rounds_cap : int or None
        At most so many rounds of answers, the opening included (`ends: {rounds: T}`).
    recalibration : tuple of Bin
        Empty: confidences are kept (clipped to [0, 1]).
    participation : str
        What P_u of self-orientation counts: kept outgoing edges, kept incoming edges, or both.
    similarity : str
        The embedding that similarity is taken in: `ngram`, a litellm embedding model, or
        `sentence-transformers/NAME`.
    passes : str
        A heard reply is passed whole (without its confidence line), as its answer alone, or whole after the
        reasoning that led to it.
    confidence : Measure
        Where the confidence of an answer comes from.
    """

    protocol: str
    cast: Mapping[str, tuple[Agent, ...]]
    steps: Mapping[str, Step]
    schedule: tuple[Item, ...]
    decide: Decide
    rounds_cap: int | None = None
    recalibration: tuple[Bin, ...] = ()
    participation: Literal["spoken", "heard", "both"] = "spoken"
    similarity: str = "ngram"
    passes: Literal["whole", "answer", "reasoning"] = "whole"
    debaters: tuple[str, ...] = ()
    confidence: Measure = STATED

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that its debates call, each once."""
        speakers = [agent.model for cast in self.cast.values() for agent in cast]
        verifier = [self.confidence.verifier] if self.confidence.verifier is not None else []
        as_written = [AS_WRITTEN] if any(step.said for step in self.steps.values()) else []
        found: list[Model] = []
        for model in (*speakers, *verifier, *as_written):
            if model not in found:
                found.append(model)
        return tuple(found)
