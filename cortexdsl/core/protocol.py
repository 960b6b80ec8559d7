"""A method: a protocol with every setting resolved and every role bound to agents. The engine interprets it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from cortexdsl.core.agents import FREE, Agent, Model, Price
from cortexdsl.core.confidence import BY_VOTES, STATED, Bin, DebateConfidence, Measure
from cortexdsl.core.graphs import Nobody, Topology
from cortexdsl.core.keep_rules import Keep
from cortexdsl.core.types import EMPTY, word

Shows: TypeAlias = Literal["last", "all", "by_answer", "about_me", "evidence"]
Memory: TypeAlias = Literal["none", "last", "all"]
Each: TypeAlias = Literal["edge", "pair", "match", "listener", "group"]
Reads: TypeAlias = Literal[
    "answer",
    "review",
    "verdict",
    "summary",
    "selection",
    "comment",
    "similarity",
    "choice",
    "belief",
    "ranking",
    "quotes",
]
Beside: TypeAlias = Literal["verdict", "choice", "belief", "ranking", "quotes"]
PlaceboKind: TypeAlias = Literal["none", "other_question", "own", "shuffled", "same_length"]

AUDIBLE: frozenset[Reads] = frozenset({"answer", "summary", "comment"})
"""The readings of turns that others may hear. Reviews reach only their subjects, verdicts and selections nobody."""
SIMILARITY_FROM_REPLIES = "asked"
"""The `similarity` of a method that reads similarities from replies, instead of computing them from texts."""


ELSE = "else"
"""The key for agents that a mapping does not name."""
TOOLS_PROMPT = "common/tools.j2"
"""The template that tells a model without function calls how to use tools."""


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """`{step: STEP, last: n, where: CONDITION}`: turns in these steps, of the heard agents or of the speaker itself.

    Attributes
    ----------
    about_me : bool
        Only turns about (or for) the listener; of any kind if `steps` is empty.
    """

    steps: tuple[str, ...] = word((), key="step")
    """A step or a list of steps. Default: all steps that give answers, summaries or comments."""
    about_me: bool = False
    last: int | None = word(1)
    """How many of the last runs of these steps count: a number, or all."""
    where: str = word("")
    """Only turns for which this condition holds."""


@dataclass(frozen=True, slots=True)
class ItemSplit:
    """What a step with a call for each item cuts.

    Attributes
    ----------
    parts : int
        The most items.
    step : str
        The step whose last reply is cut into the items of its list; empty: the passage is cut into equal parts.
    """

    parts: int
    step: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One kind of turn: who speaks, whom it hears, what reaches the prompt, what is read from the reply.

    Attributes
    ----------
    name, role : str
        Its name, and the role that speaks.
    prompt : str
        The template of the prompt.
    hears : Topology
    shows : tuple
        Which of the heard agents' turns reach the prompt.
    memory : str or TurnFilter
        Which of the speaker's own turns reach the prompt.
    material : mapping
        Further variables of the template.
    order : str
        `simultaneous`: all speak at once; `sequential`: each one hears those before it.
    each : str
        One call for each speaker, or for each edge, pair, match, listener or group; or, with `split`, for each item.
    samples : int
        Replies per call.
    reads : str
        What is read from the reply.
    by_agent : mapping of agent to template
        Templates of single agents.
    beside : tuple of str
        What is read from the reply besides `reads`: kinds as in `Beside`, and names of numbers.
    by_role : mapping of role to template
        Templates of agents that play a role when the step is spoken; `by_agent` takes precedence.
    said : tuple of str
        Templates that are not sent to a model: the rendered text is the reply.
    of : str
        With a call for each edge: only players of this role get calls about them, and the other agents that are heard
        are heard in each of these calls. If empty, there is a call about every agent that is heard.
    model : Model or None
        The model of its calls; None: each agent's own.
    chooses : str
        What a choice or a ranking names: agents or single turns by their numbers, or answers (a ranking alone).
    placebo : str
        What a speaker is shown instead of the words of other agents. `none`: their words. `other_question`: what they
        said in the debate about another question. `own`: the speaker's own last reply. `shuffled`: their words in
        another order. `same_length`: a further reply of the speaker to its opening prompt, as long as theirs.
    variants : tuple of str
        Wordings of `prompt`; each replicate draws one; `prompt` is the first. If empty, there is one wording.
    split : ItemSplit or None
        With a call for each item.
    context : bool
        Whether the prompt has the passage of the question.
    tools : mapping of agent to tuple of Model
        The tools that agents may use before they answer. `else` stands for all agents that are not named.
    """

    name: str
    role: str
    prompt: str
    hears: Topology = Nobody()  # noqa: RUF009 - frozen and empty, safe to share
    shows: tuple[Shows | TurnFilter, ...] = ("last",)
    memory: Memory | TurnFilter = "none"
    material: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    order: Literal["simultaneous", "sequential"] = word("simultaneous", key="sequential")
    """true: agents speak one after the other, and each hears those before it. Default: at the same time."""
    each: Each | Literal["speaker", "item"] = "speaker"
    samples: int = 1
    reads: Reads = "answer"
    by_agent: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    beside: tuple[str, ...] = ()
    by_role: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    said: tuple[str, ...] = ()
    of: str = ""
    model: Model | None = None
    temperature: float | None = word(None)
    """The sampling temperature in this step. Default: that of the model."""
    chooses: Literal["agents", "turns", "answers"] = word("agents")
    """turns: a choice or a ranking that the step reads names single turns. answers: a ranking names answers. Default:
    agents."""
    placebo: PlaceboKind = "none"
    variants: tuple[str, ...] = ()
    tools: Mapping[str, tuple[Model, ...]] = field(default_factory=lambda: EMPTY)
    context: bool = True
    split: ItemSplit | None = None
    uses: int = word(4)
    """How many times a turn may use its tools. A use that fails counts, too."""

    def tools_of(self, agent: str) -> tuple[Model, ...]:
        """Return the tools that an agent may use in this step."""
        return self.tools.get(agent, self.tools.get(ELSE, ()))

    def model_of(self, agent: Agent) -> Model:
        """Return the model that an agent speaks with in this step, with the step's own temperature.

        Programs do not sample: tools and the built-in solver have no temperature.
        """
        model = agent.model if self.model is None or agent.model.is_tool else self.model
        if self.temperature is None or model.is_program:
            return model
        return replace(model, options=MappingProxyType({**model.options, "temperature": self.temperature}))

    def prompt_of(self, agent: str, roles: Collection[str] = ()) -> str:
        """Return the template of an agent that plays some roles."""
        by_role = next((prompt for role, prompt in self.by_role.items() if role in roles), self.prompt)
        return self.by_agent.get(agent, by_role)

    @property
    def prompts(self) -> tuple[str, ...]:
        """All templates, each once."""
        return tuple(dict.fromkeys([self.prompt, *self.by_agent.values(), *self.by_role.values(), *self.variants]))


@dataclass(frozen=True, slots=True)
class Choose:
    """A part of a schedule that fills a role with some players of another role, or of the same.

    Attributes
    ----------
    role, source : str
        The role to fill, and the role of the candidates.
    weight : str
        An expression with one value per agent.
    keep : Keep
        Which candidates are chosen, by weight.
    """

    role: str
    source: str
    weight: str
    keep: Keep


NEVER = "never"
"""A condition that is never met."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop of a schedule: at most `times` passes.

    `unless` is evaluated before the first pass, `until` after each one. Both are expressions with one value per debate,
    such as `consensus` or `agreement >= 0.8`; or `never`.
    """

    times: int
    body: tuple[SchedulePart, ...]
    until: str = NEVER
    unless: str = NEVER


SchedulePart: TypeAlias = "str | Choose | Repeat"
"""A part of a schedule: the name of a step, a choice, or a loop."""


AS_WRITTEN = Model("(as written)", "tool/as-written", price=FREE)
"""The model of calls that are not sent: the reply is the last message."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Rule that turns a debate into one answer.

    Attributes
    ----------
    rule : str
        `majority`; `weighted` (a majority in which votes count their recalibrated confidence); `first` (the first
        voter's answer); `borda` and `runoff` (the latest rankings); `last` (the last answer of a player of
        `role`, or the last voter's answer); `vote` (every answer of every round counts `weight`); `trimmed` (the mean
        of the last answers that are numbers, without the lowest and the highest). See
        `cortexdsl.engine.decisions.DECISION_RULES`.
    role : str or None
        With `last`.
    tie : str
        How a tie is decided. `confidence`: by the highest summed recalibrated confidence, then by a seeded draw.
        `none`: the same, but if all voters differ there is no answer, which counts as wrong.
    weight : str
        With `vote`: an expression with one value per answer.
    otherwise : str
        With the last answer of a role: the rule that decides if the role gave no readable answer; `none`: no answer.
    share : float
        With `trimmed`: the share of the answers that is left out at each end, in [0, 0.5]; 0.5 is the median.
    """

    rule: str
    role: str | None = None
    tie: Literal["confidence", "none"] = "confidence"
    weight: str = ""
    otherwise: str = "none"
    share: float = 0.0


@dataclass(frozen=True, slots=True)
class Method:
    """A protocol with every setting resolved and every role bound to agents.

    Attributes
    ----------
    protocol : str
        Name of the protocol.
    role_agents : mapping of role to agents
    steps : mapping of name to Step
    schedule : tuple of step names, Choose and Repeat
    decide : Decide
    recalibration : tuple of Bin
        If empty, confidences are used as stated (clipped to [0, 1]).
    similarity : str
        The embedding for similarity: `ngram`, a litellm embedding model, or `sentence-transformers/NAME`; or `asked`
        for similarities that are read from replies.
    quote : str
        What listeners get of a reply: all of it (without its confidence line), only its answer, or all of it after
        the model's reasoning.
    voters : tuple of str
        The roles whose answers make rounds, consensus and votes. If empty, the role of the first answering step. A role
        that is chosen from one of them debates, too.
    confidence : Measure
        How the confidence of an answer is determined.
    debate_confidence : DebateConfidence
        How the confidence of the debate as a whole is determined.
    defer : Defer or None
        Whether a debate that is not sure enough hands its question on, and to which method.
    charged : mapping of str to Price
        The price of each model by its entry, if an expression uses `dollars`: the debate then depends on prices.
    """

    protocol: str
    role_agents: Mapping[str, tuple[Agent, ...]]
    steps: Mapping[str, Step]
    schedule: tuple[SchedulePart, ...]
    decide: Decide
    recalibration: tuple[Bin, ...] = ()
    similarity: str = "ngram"
    quote: Literal["whole", "answer"] = word("whole")
    """What prompts show of the replies of others. whole: the reply. answer: the answer alone."""
    voters: tuple[str, ...] = ()
    confidence: Measure = STATED
    debate_confidence: DebateConfidence = BY_VOTES
    defer: Defer | None = None
    charged: Mapping[str, Price] = field(default_factory=lambda: EMPTY)

    @property
    def wordings(self) -> int:
        """The number of wordings of its prompts; each replicate draws one; 0 if there is one alone.

        All steps with several have as many, and so have those of the method that it hands questions on to.
        """
        own = max((len(step.variants) for step in self.steps.values()), default=0)
        return own or (self.defer.method.wordings if self.defer else 0)

    @property
    def models(self) -> tuple[Model, ...]:
        """The models that its debates call, each once; with those of the method that it hands questions on to."""
        speakers = [agent.model for role_agents in self.role_agents.values() for agent in role_agents]
        verifier = [] if self.confidence.verifier is None else [self.confidence.verifier]
        as_written = [AS_WRITTEN] if any(step.said for step in self.steps.values()) else []
        of_steps = [
            step.model_of(agent) for step in self.steps.values() for agent in self.role_agents.get(step.role, ())
        ]
        used = [tool for step in self.steps.values() for tools in step.tools.values() for tool in tools]
        found: list[Model] = []
        further = self.defer.method.models if self.defer else ()
        for model in (*speakers, *of_steps, *verifier, *as_written, *used, *further):
            if model not in found:
                found.append(model)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class Defer:
    """Rule by which a debate answers only if it is sure enough, and else hands its question on (selective answering).

    Attributes
    ----------
    below : float
        The question is handed on if the confidence of the debate is below this, or unknown; in (0, 1]. 0 with `where`.
    to : str
        The cell whose method answers then.
    method : Method
        Its method.
    where : str
        The condition on the finished debate under which the question is handed on; empty: `below` decides.
    """

    below: float
    to: str
    method: Method
    where: str = ""


@dataclass(frozen=True, slots=True)
class Ablation:
    """Parts that a counterfactual debate leaves out, all at once; everything else stays the same.

    Attributes
    ----------
    agents : tuple of str
        Agents that do not speak, hear or vote. The others keep their numbers and groups.
    edges : tuple of (str, str)
        The listener (second) is never shown words of the speaker (first). No other agent replaces the speaker.
    rounds : tuple of int
        From 1: steps that lead to this round are not spoken, and the condition that would end a loop after them is not
        evaluated. Later rounds continue from the state before it and keep their numbers.
    steps : tuple of str
        Steps that are never spoken.
    turns : tuple of str
        `NAME@ROUND`: the agent does not speak in this round, from 1, and keeps its earlier answer.
    """

    agents: tuple[str, ...] = ()
    edges: tuple[tuple[str, str], ...] = ()
    rounds: tuple[int, ...] = ()
    steps: tuple[str, ...] = ()
    turns: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = {
            "agent": self.agents,
            "edge": [":".join(edge) for edge in self.edges],
            "round": [str(number) for number in self.rounds],
            "step": self.steps,
            "turn": self.turns,
        }
        return " ".join(f"{kind}={','.join(names)}" for kind, names in named.items() if names)


NOTHING = Ablation()
