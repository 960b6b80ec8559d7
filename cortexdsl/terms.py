"""The nouns of the field, frozen: what the language builds, the engine interprets and the records keep.

Nothing here computes. Edges run from speaker to listener: `u -> v` means *v hears u*, and every matrix is
indexed `[speaker, listener]`. Rounds count from 0 (the opening). Confidences lie in [0, 1].
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Scalar: TypeAlias = str | int | float | bool | None
Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
EMPTY: Mapping[str, Any] = MappingProxyType({})


# ---------------------------------------------------------------- who speaks
@dataclass(frozen=True, slots=True)
class Model:
    """A model entry of the spec.

    Attributes
    ----------
    name : str
        The entry's name in the spec.
    model : str
        `builtin/solver`, or a litellm model name such as `openai/Qwen2.5-7B-Instruct`.
    api_base, api_key_env : str or None
        The address as the spec writes it (`env:NAME` is resolved by the door alone, so that plans and
        records never depend on a port), and the name of the environment variable that holds the key.
    options : mapping
        Everything that is sent or changes the reply: temperature, top_p, max_tokens, skill ...
    parameters, tokens : float or None
        Parameter count and pre-training tokens of the model; CortexDebate's credibility needs them.
    price : (float, float) or None
        Dollars per input token and per output token; None where unknown.
    """

    name: str
    model: str
    api_base: str | None = None
    api_key_env: str | None = None
    options: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    parameters: float | None = None
    tokens: float | None = None
    price: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Agent:
    """A debater, judge, summarizer, critic ...: a model with a name and, perhaps, a persona."""

    name: str
    model: Model
    persona: str | None = None


# ---------------------------------------------------------------- what is asked
@dataclass(frozen=True, slots=True)
class Question:
    """A question as agents may see it. Its gold answer lives in the task and is never here.

    Attributes
    ----------
    id : str
        Unique within its dataset.
    text : str
        What is asked.
    options : tuple of (str, str)
        (label, text) of a multiple-choice question; empty otherwise.
    context : str
        The passage that belongs to it; empty otherwise.
    cluster : str or None
        What it shares with other questions (passage, template, subject); the unit of clustered inference.
    """

    id: str
    text: str
    options: tuple[tuple[str, str], ...] = ()
    context: str = ""
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset entry of the spec: which questions, from where, read and scored how.

    Attributes
    ----------
    label : str
        Its name in the results.
    name : str or None
        A dataset of the registry (`arithmetic`, `gsm8k` ...), or None for a file of one's own.
    path : str or None
        Official file, folder, or one's own JSONL/CSV/Parquet file, already absolute; None: generated or from
        the hub.
    subset, split : tuple of str, str or None
    size : int or None
        How many questions; None for all. A larger size keeps the questions of a smaller one, in order.
    seed : int
        Of the sampling and of the shuffling of options.
    stratify : str or None
        A field (subject, task, level ...) that the sample is balanced over.
    ids : tuple of str
        Explicit question ids in place of a sample.
    fields : mapping
        For a file of one's own: question, answer, and perhaps id, context, choices, cluster -> column names.
    kind, metric : str or None
        Answer kind and metric, where the registry's are to be replaced, or for a file of one's own.
    reading : str
        `lenient` or `strict`: which reading scores.
    shuffle_options : bool or None
        None: as the registry says.
    """

    label: str
    name: str | None = None
    path: str | None = None
    subset: tuple[str, ...] = ()
    split: str | None = None
    size: int | None = None
    seed: int = 0
    stratify: str | None = None
    ids: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    kind: str | None = None
    metric: str | None = None
    reading: Literal["lenient", "strict"] = "lenient"
    shuffle_options: bool | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one reply. A failed parse is data: `value` is None and `unparsed` says why.

    Attributes
    ----------
    value : str or None
        An answer in canonical form (equal answers are equal strings); for a verdict `agree` or `disagree`;
        for a selection comma-separated numbers; for a review the judgement of the reviewed answer; for a
        summary or comment the text itself.
    unparsed : str or None
        The reason why nothing could be read.
    confidence : float or None
        As stated, in units of 1 (95 % is 0.95), not clipped; None where none was stated.
    """

    value: str | None
    unparsed: str | None = None
    confidence: float | None = None


# ---------------------------------------------------------------- the language, checked and resolved
@dataclass(frozen=True, slots=True)
class Nobody:
    """Nobody is heard."""


@dataclass(frozen=True, slots=True)
class Everyone:
    """Each hears all others of the principal role, whose answers make the rounds (see `Method`)."""


@dataclass(frozen=True, slots=True)
class Self:
    """Each hears itself alone."""


@dataclass(frozen=True, slots=True)
class Ring:
    """Each hears the `reach` nearest on both sides of a ring in the agents' order."""

    reach: int


@dataclass(frozen=True, slots=True)
class Groups:
    """Agents are shuffled (seeded by experiment, replicate and question) into groups; each hears its own group.

    `sizes` holds the size of each group; with `count` groups sizes differ by at most one, larger ones first.
    """

    count: int
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Edges:
    """Explicit edges (speaker, listener), by agent name."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RandomEdges:
    """Each ordered pair of different agents is an edge with probability `p`, drawn anew in every step."""

    p: float


@dataclass(frozen=True, slots=True)
class NetworkX:
    """A graph from a networkx generator, its nodes taken in the agents' order; undirected edges go both ways."""

    generator: str
    arguments: Mapping[str, Any] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Keep:
    """Which incoming edges a listener keeps, by weight.

    Attributes
    ----------
    rule : str
        `mean`, `median` (of its own incoming weights), `mean_of_all` (of all weights), `top`, `drop_bottom`,
        `above`, `all`.
    number : float or None
        k of top and drop_bottom, the threshold of above.
    """

    rule: Literal["mean", "median", "mean_of_all", "top", "drop_bottom", "above", "all"]
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Sparse:
    """Edges by weight: an arithmetic expression over factor arrays, and the rule that keeps edges."""

    weight: str
    keep: Keep


@dataclass(frozen=True, slots=True)
class OfRole:
    """Everybody bound to a role is heard."""

    role: str


Topology: TypeAlias = Nobody | Everyone | Self | Ring | Groups | Edges | RandomEdges | NetworkX | Sparse | OfRole
Tells: TypeAlias = Literal["latest", "history", "by_answer", "about_me", "evidence"]
Own: TypeAlias = Literal["none", "latest", "history"]
Each: TypeAlias = Literal["speaker", "edge", "listener", "group"]
Reads: TypeAlias = Literal["answer", "review", "verdict", "summary", "selection", "comment"]
Until: TypeAlias = Literal["consensus", "agreed", "never"]


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of utterance: who speaks, whom it hears, what reaches the prompt, what is read from the reply."""

    name: str
    role: str
    prompt: str
    hears: Topology = Nobody()
    tells: tuple[Tells, ...] = ("latest",)
    own: Own = "none"
    material: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    order: Literal["simultaneous", "sequential"] = "simultaneous"
    each: Each = "speaker"
    draws: int = 1
    reads: Reads = "answer"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop of the schedule: at most `times` passes; `unless` is looked at before the first, `until` after each."""

    times: int
    body: tuple[str | Repeat, ...]
    until: Until = "never"
    unless: Until = "never"


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


@dataclass(frozen=True, slots=True)
class Decide:
    """How a debate becomes one answer.

    Attributes
    ----------
    rule : str
        `majority`, `weighted` (votes weigh their recalibrated confidence), `first` (the first voter's answer),
        `last` (the last answer of `role`).
    role : str or None
        With `last`.
    fallback : str
        What a tie of the vote becomes: `confidence` (highest summed recalibrated confidence, then a seeded
        draw), or `none`: the same, but where all voters differ there is no answer, which counts as wrong.
    """

    rule: Literal["majority", "weighted", "first", "last"]
    role: str | None = None
    fallback: Literal["confidence", "none"] = "confidence"


@dataclass(frozen=True, slots=True)
class Method:
    """A protocol with every setting resolved and every role bound to agents: what the engine interprets.

    Attributes
    ----------
    protocol : str
        Name of the protocol.
    cast : mapping of role to agents
        The first role of the first answering step is the principal one: its answers make rounds, consensus
        and votes.
    steps : mapping of name to Step
    schedule : tuple of step names and Repeat
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
        A heard reply is passed whole (without its confidence line) or as its answer alone.
    """

    protocol: str
    cast: Mapping[str, tuple[Agent, ...]]
    steps: Mapping[str, Step]
    schedule: tuple[str | Repeat, ...]
    decide: Decide
    rounds_cap: int | None = None
    recalibration: tuple[Bin, ...] = ()
    participation: Literal["spoken", "heard", "both"] = "spoken"
    similarity: str = "ngram"
    passes: Literal["whole", "answer"] = "whole"


@dataclass(frozen=True, slots=True)
class Match:
    """The budget that a cell is matched to: calls or tokens per question of another method's cell."""

    unit: Literal["calls", "tokens"]
    cell: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One arm of the experiment: a method at one point of its grid.

    Attributes
    ----------
    name : str
        `sparse[keep=median, recalibration=none]`, or the method's name alone.
    slug : str
        The name as a file name: `sparse~keep=median~recalibration=none`.
    method : str
        The method's name in the spec.
    aliases : tuple of str
        Other names of grid points whose resolved settings are equal.
    settings : mapping
        Settings of the protocol at this point, defaults included.
    axes : mapping
        The grid axes and their values at this point; empty for a base method.
    debate : Method
        What is run.
    digest : str
        Changes when, and only when, something that can change the cell's records does.
    match : Match or None
    """

    name: str
    slug: str
    method: str
    aliases: tuple[str, ...]
    settings: Mapping[str, Any]
    axes: Mapping[str, Any]
    debate: Method
    digest: str
    match: Match | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Comparisons that belong together: each cell of `compare` against `to`, on each metric, p adjusted at once."""

    name: str
    compare: tuple[str, ...]
    to: str
    correction: Literal["holm", "hommel", "bh", "by", "none"] = "holm"


@dataclass(frozen=True, slots=True)
class Limits:
    """What an experiment may spend; None is no limit. `connections` is the most calls in flight to one endpoint."""

    calls: int | None = None
    tokens: int | None = None
    dollars: float | None = None
    seconds: float | None = None
    connections: int = 16


# ---------------------------------------------------------------- a call and its reply
Message: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a model: all that can change the reply, and nothing else."""

    model: Model
    messages: tuple[Message, ...]
    seed: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said, or why it said nothing.

    Attributes
    ----------
    key : str
        The call's key in the call log.
    text : str
        Empty where `error` is set.
    finish_reason : str or None
    prompt_tokens, completion_tokens : int or None
        As the server counted them; None where it said nothing (never estimated).
    error : str or None
        A failure that is data (content filter, context window exceeded, malformed reply), never a transient one.
    """

    key: str
    text: str
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    error: str | None = None


# ---------------------------------------------------------------- what a debate leaves behind
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
        The earlier turns that its prompt contained: others' and its own.
    answer : str or None
        What was read (of an answer, review, verdict or selection).
    call : str
        Key in the call log.
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


@dataclass(frozen=True, slots=True)
class Graph:
    """Who heard whom in one step, and why.

    Attributes
    ----------
    weight : (S, L) array or None
        Where the topology is `sparse`; entries of pairs that cannot be edges (oneself) are NaN.
    heard : (S, L) bool array
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
class Debate:
    """One debate of one question, whole.

    Attributes
    ----------
    votes : mapping of answer to weight
        The final vote; empty where the decision takes none.
    rounds : int
        Rounds after the opening.
    stop : str
        `consensus`, `agreed`, `rounds` (the schedule or its cap ended it).
    """

    question_id: str
    agents: tuple[Agent, ...]
    turns: tuple[Turn, ...]
    graphs: tuple[Graph, ...]
    answer: str | None
    votes: Mapping[str, float]
    was_tied: bool
    rounds: int
    stop: Literal["consensus", "agreed", "rounds"]


# ---------------------------------------------------------------- what the engine is handed
class Ask(Protocol):
    """Sends one call to its model; the only way out of the engine."""

    def __call__(self, call: Call) -> Awaitable[Reply]:
        """Answer the call."""
        ...


class Render(Protocol):
    """Renders a prompt template over the view of one speaker. Pure."""

    def __call__(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages of a call."""
        ...


class Reader(Protocol):
    """Reads replies to one question; belongs to the task. Pure, and never raises on a reply's content."""

    def read(self, reads: Reads, text: str) -> Reading:
        """Read a reply by kind."""
        ...

    def without_confidence(self, text: str) -> str:
        """Return a reply as others may hear it: whole but for its confidence line."""
        ...


class Similarity(Protocol):
    """Cosine similarities of texts under one embedding."""

    def __call__(self, embedding: str, texts: Sequence[str]) -> Awaitable[Floats]:
        """Return the (n, n) matrix of cosines, clipped to [-1, 1]."""
        ...


@dataclass(frozen=True, slots=True)
class Hands:
    """Everything that the engine reaches the world with, injected."""

    ask: Ask
    render: Render
    reader: Reader
    similarity: Similarity
