"""The record of a debate: turns, graphs, choices, and the whole debate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from cortexdsl.core.agents import Agent, Model
from cortexdsl.core.confidence import ConfidenceSource, DebateSource
from cortexdsl.core.protocol import PlaceboKind, Reads
from cortexdsl.core.tools import ToolRequest, ToolUse
from cortexdsl.core.types import EMPTY, Bools, Floats

Stop: TypeAlias = Literal["consensus", "agreed", "condition", "rounds"]
"""What ended a debate."""


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """A call that measures a confidence; no agent of the debate hears the reply.

    Attributes
    ----------
    call : str
        Key in the call log.
    said : str or None
        What was read from the reply: the answer of a sample, the score of a verifier.
    unread : str or None
        Why nothing was read.
    prompt_tokens, completion_tokens, reasoning_tokens : int or None
        As of a turn.
    """

    call: str
    said: str | None
    unread: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    reasoning_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured confidence, or why there is none.

    Attributes
    ----------
    source : str
    confidence : float or None
        In [0, 1], before recalibration.
    unmeasured : str or None
        Why there is none.
    asides : tuple of ProbeCall
        The calls that measured it.
    """

    source: ConfidenceSource | DebateSource
    confidence: float | None
    unmeasured: str | None = None
    asides: tuple[ProbeCall, ...] = ()


RANKED = " > "
"""Stands between the candidates of a ranking that was read, the best first."""
OTHERS = "(others)"
"""Ends a ranking that leaves out candidates."""


def belief_of(written: str | None) -> Mapping[str, float]:
    """Return the numbers of texts in what was read as a belief or as quotes; empty if nothing was."""
    return {} if written is None else json.loads(written)


@dataclass(frozen=True, slots=True)
class Placebo:
    """What a prompt showed instead of the words of a turn.

    Attributes
    ----------
    turn : int
        The turn in whose place it was shown.
    kind : str
        As `Step.placebo`.
    text : str
        The text that was shown.
    answer : str or None
    confidence : float or None
        The answer, and the confidence in [0, 1], that templates could show with the text.
    call : str
        The key of the call whose reply the text is from.
    question : str
        With `other_question`: the id of the other question; else empty.
    """

    turn: int
    kind: PlaceboKind
    text: str
    answer: str | None
    confidence: float | None
    call: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply of an agent, and what was read from it.

    Attributes
    ----------
    turn, execution : int
        Position in the debate, and number of the step's execution (all turns of one execution share it), from 0.
    round : int
        A step in which debaters answer opens a round; other steps belong to the round that they lead to.
    step : str
    reads : str
        What its step reads.
    speaker : str
    about : str or None
        The agent that a review or summary is for, or `group 2`.
    heard, recalled : tuple of int
        The earlier turns whose words the prompt contained: those of others in this step, and those that the speaker
        remembers (its own, and under `memory: all` what it was shown before).
    text : str
        The reply.
    answer : str or None
        The answer, review, verdict, selection or choice that was read (a choice names agents).
    unparsed : str or None
        Why nothing could be read.
    confidence_stated, confidence : float or None
        The confidence that the reply states, and the one that the debate uses, in [0, 1]: stated or measured, then
        recalibrated.
    prompt_tokens, completion_tokens : int or None
    call : str
        Key in the call log.
    reasoning : str
        The model's reasoning before the reply; listeners do not get it.
    reasoning_tokens : int or None
    ended : str or None
        How the reply ended if the model did not end it itself (`length`: it reached its limit).
    beside : mapping of what is read to what was read
        Other kinds that the step reads from the reply; None if a kind could not be read.
    measured : Measured or None
        The measured confidence, if the method does not use the stated one.
    placebos : tuple of Placebo
        What the prompt showed instead of some of the turns in `heard` and `recalled`.
    requests : tuple of ToolRequest
        The replies before this one, which asked for tools.
    """

    turn: int
    execution: int
    round: int
    step: str
    reads: Reads
    speaker: str
    about: str | None
    heard: tuple[int, ...]
    recalled: tuple[int, ...]
    text: str
    answer: str | None
    unparsed: str | None
    confidence_stated: float | None
    confidence: float | None
    prompt_tokens: int | None
    completion_tokens: int | None
    call: str
    reasoning: str = ""
    reasoning_tokens: int | None = None
    ended: str | None = None
    beside: Mapping[str, str | None] = field(default_factory=dict)
    measured: Measured | None = None
    placebos: tuple[Placebo, ...] = ()
    requests: tuple[ToolRequest, ...] = ()

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The uses of tools, in order."""
        return tuple(use for request in self.requests for use in request.uses)

    @property
    def calls(self) -> tuple[AnyCall, ...]:
        """All calls that made the turn, in order: requests and the tools that were called, its own, asides."""
        if not self.requests:
            return (self, *self.asides)
        before: list[AnyCall] = []
        for request in self.requests:
            before += [request, *(use for use in request.uses if use.call)]
        return (*before, self, *self.asides)

    @property
    def replaced(self) -> frozenset[int]:
        """The turns in `heard` and `recalled` whose answers the prompt did not contain; `shuffled` leaves answers."""
        return frozenset(placebo.turn for placebo in self.placebos if placebo.kind != "shuffled")

    @property
    def belief(self) -> Mapping[str, float]:
        """The probabilities of answers that the reply states; empty if none were read. They sum to at most 1."""
        return belief_of(self.beside.get("belief"))

    @property
    def quotes(self) -> Mapping[str, float]:
        """The quotes of the reply: 1 if the passage of the question has it, else 0; empty if they are not read."""
        return belief_of(self.beside.get("quotes"))

    @property
    def asides(self) -> tuple[ProbeCall, ...]:
        """The calls that measured its confidence."""
        return () if self.measured is None else self.measured.asides


AnyCall: TypeAlias = Turn | ProbeCall | ToolRequest | ToolUse
"""A call of a debate: it has a key (`call`) and counts of tokens."""


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of one step: who heard whom, and why.

    Attributes
    ----------
    weight : (S, L) array or None
        Of a sparse topology; NaN for pairs that cannot be edges (an agent itself, speakers whose last reply is empty).
    heard : (S, L) bool array
        Whether the listener was shown words of the speaker.
    factors : mapping of name to array
        What the weight was computed from: per speaker (S,) or per pair (S, L).
    """

    round: int
    step: str
    speakers: tuple[str, ...]
    listeners: tuple[str, ...]
    weight: Floats | None
    heard: Bools
    factors: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class RoleChoice:
    """A role that was filled during a debate, with the weights of the candidates.

    Attributes
    ----------
    turn : int
        The number of turns before it.
    round : int
        The round to come.
    role : str
    candidates : tuple of str
    weight : tuple of float
        One per candidate.
    chosen : tuple of str
    """

    turn: int
    round: int
    role: str
    candidates: tuple[str, ...]
    weight: tuple[float, ...]
    chosen: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Debate:
    """One finished debate about one question.

    Attributes
    ----------
    votes : mapping of answer to weight
        The final vote; empty if the decision takes none.
    rounds : int
        Rounds after the opening.
    stop : str
        What ended it: `consensus`, `agreed`, `condition` (another condition), `rounds` (the schedule or its cap).
    images : tuple of str
        Digests of the images that every prompt contained.
    choices : tuple of RoleChoice
    wording : int
        Which wording of its prompts it used, from 1; 0 if they have one alone.
    step_models : mapping of step to Model
        The models of steps that have their own.
    standing : tuple of tuple of int
        The turns with the debaters' current answers at the end of each round; the last one of a silent debater. Empty
        if all debaters answered at once in every round, as in most protocols.
    confidence : Measured or None
        How sure the debate as a whole is, if its method says how to determine it or hands unsure questions on.
    deferred : Deferred or None
        The debate of another method that answered the question instead, because this one was not sure enough.
    """

    question_id: str
    agents: tuple[Agent, ...]
    turns: tuple[Turn, ...]
    graphs: tuple[Graph, ...]
    answer: str | None
    votes: Mapping[str, float]
    was_tied: bool
    rounds: int
    stop: Stop
    images: tuple[str, ...] = ()
    choices: tuple[RoleChoice, ...] = ()
    wording: int = 0
    step_models: Mapping[str, Model] = field(default_factory=lambda: EMPTY)
    standing: tuple[tuple[int, ...], ...] = ()
    confidence: Measured | None = None
    deferred: Deferred | None = None

    def models_of_turns(self) -> dict[int, Model]:
        """Return the model that spoke each turn of this stage: that of its step if it has one; tools stay tools.

        Turns of speakers that are not among the agents are missing.
        """
        own = {agent.name: agent.model for agent in self.agents}
        known = ((turn, own[turn.speaker]) for turn in self.turns if turn.speaker in own)
        return {turn.turn: model if model.is_tool else self.step_models.get(turn.step, model) for turn, model in known}

    def models_of_steps(self) -> dict[int, Model]:
        """Return the model that spoke each turn of a step that has its own; other turns are missing."""
        spoke = self.models_of_turns()
        return {
            turn.turn: spoke[turn.turn] for turn in self.turns if turn.step in self.step_models if turn.turn in spoke
        }

    @property
    def stages(self) -> tuple[Debate, ...]:
        """This debate, and those that its question was handed on to, in order."""
        return (self, *(self.deferred.debate.stages if self.deferred else ()))

    @property
    def all_turns(self) -> tuple[Turn, ...]:
        """The turns of all stages."""
        return tuple(turn for stage in self.stages for turn in stage.turns)

    @property
    def own_answer(self) -> str | None:
        """The answer of this stage, whichever method answered in the end."""
        return self.answer if self.deferred is None else self.deferred.own


@dataclass(frozen=True, slots=True)
class Deferred:
    """The debate of a stronger method that answered a question.

    Attributes
    ----------
    to : str
        The cell of the method.
    below : float or None
        The confidence that the first debate did not reach; None if a condition decided.
    own : str or None
        The answer of the first debate.
    debate : Debate
        The other debate; its answer is that of the whole.
    """

    to: str
    below: float | None
    own: str | None
    debate: Debate
