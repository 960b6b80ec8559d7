"""What a debate leaves behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from cortexdsl.terms.agents import Agent
from cortexdsl.terms.base import Bools, Floats
from cortexdsl.terms.confidences import Aside, Measured
from cortexdsl.terms.protocol import Reads


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    Attributes
    ----------
    turn, execution : int
        Position in the debate; number of the step's execution (all turns of one execution share it), from 0.
    round : int
        A step that gives the principal role's answers opens a round; other steps belong to the round that
        they lead to.
    about : str or None
        The agent that a review or summary is for, or `group 2`.
    heard, recalled : tuple of int
        The earlier turns whose words its prompt contained: those that reached it from others in this step, and those
        that it remembered (its own, and under `own: history` what it had been shown before).
    answer : str or None
        What was read (of an answer, review, verdict, selection or choice; a choice names agents).
    call : str
        Key in the call log.
    reasoning : str
        What the model thought before it spoke; nobody hears it unless the protocol says `passes: reasoning`.
    reasoning_tokens : int or None
    ended : str or None
        How the reply ended where the model did not end it itself (`length`: cut at its limit).
    beside : mapping of what is read to what was read
        Where a step reads more than one thing; None: it could not be read.
    measured : Measured or None
        The confidence that the method goes by, where it is not the stated one: `confidence` is this, recalibrated.
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

    @property
    def asides(self) -> tuple[Aside, ...]:
        """The calls that were made beside it, to measure its confidence."""
        return () if self.measured is None else self.measured.asides


@dataclass(frozen=True, slots=True)
class Graph:
    """Who heard whom in one step, and why.

    Attributes
    ----------
    weight : (S, L) array or None
        Where the topology is `sparse`; entries of pairs that cannot be edges are NaN (oneself, and whoever's last
        reply was empty).
    heard : (S, L) bool array
        Whether the listener was shown words of the speaker.
    factors : mapping of name to array
        What the weight was made of: per speaker (S,) or per pair (S, L).
    """

    round: int
    step: str
    speakers: tuple[str, ...]
    listeners: tuple[str, ...]
    weight: Floats | None
    heard: Bools
    factors: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class Choice:
    """A role that was filled during a debate, and why.

    Attributes
    ----------
    turn : int
        How many turns were spoken before it.
    round : int
        The round to come.
    role : str
    candidates : tuple of str
    weight : tuple of float
        Of each candidate.
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
    """One debate of one question, whole.

    Attributes
    ----------
    votes : mapping of answer to weight
        The final vote; empty where the decision takes none.
    rounds : int
        Rounds after the opening.
    stop : str
        `consensus`, `agreed`, `condition` (another one came about), `rounds` (the schedule or its cap ended it).
    images : tuple of str
        Digests of the images that every prompt showed.
    choices : tuple of Choice
    standing : tuple of tuple of int
        The turns that hold the debaters' answers at the end of each round: where somebody was silent, its last. Empty
        where in every round all debaters answered at once, as in most protocols.
    """

    question_id: str
    agents: tuple[Agent, ...]
    turns: tuple[Turn, ...]
    graphs: tuple[Graph, ...]
    answer: str | None
    votes: Mapping[str, float]
    was_tied: bool
    rounds: int
    stop: Literal["consensus", "agreed", "condition", "rounds"]
    images: tuple[str, ...] = ()
    choices: tuple[Choice, ...] = ()
    standing: tuple[tuple[int, ...], ...] = ()
