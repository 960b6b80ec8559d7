"""The names of the expression language: their meaning, and where each has a value."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np

from cortexdsl.core import Reads

ExpressionPlace: TypeAlias = Literal["weight", "choice", "condition", "vote", "turn", "label"]
"""Purpose of an expression: the weight of an edge, a choice among agents, a condition of a loop, the weight of a vote,
a condition on the turns that reach a prompt, or a rule that labels turns of finished debates."""

OF_AGENT: Mapping[str, str] = {
    "credibility": "1 / the loss that a scaling law predicts for its model",
    "reliability": "its mean recalibrated confidence so far",
    "confidence": "its last recalibrated confidence, 0 if it stated none",
    "mean_score": "the mean score of the last reviews about it",
    "participation": "how many kept edges it had so far: how often others heard it",
    "times_hearing": "how many kept edges led to it so far",
    "self_orientation": "the largest possible participation minus its own",
    "support": "the share of the debaters whose last answer is its own; 0 if it is unreadable",
    "stability": "the share of its answers so far that are its most frequent one",
    "answer": "its last answer, which can be compared with other answers",
    "chosen": "the share of the latest choices that named it. Only choices in which it was a candidate count; "
    "1 if there are none",
    "borda": "its mean share of the points in the latest rankings: 1 if it is always first, 0 if always last. "
    "Only rankings in which it was a candidate count; 1 if there are none",
    "runoff": "whether it wins an instant runoff of the latest rankings, or ties for it; 1 if there are none",
    "stated": "the mean of a number in the latest replies about it (or else in its own, or in those of agents that do "
    "not debate): stated(NAME), for a name in reads; 0 if none is readable",
    "vars": "a number that the spec gives it: vars(NAME)",
    "length": "the number of words of its last answer",
    "position": "its position among the agents that debate now, from 1 to n_agents",
    "random": "a random number in [0, 1), drawn again each time that the expression is computed",
}
OF_PAIR: Mapping[str, str] = {
    "similarity": "the mean similarity of their replies so far",
    "intimacy": "1 - similarity",
    "differs": "whether their last answers are not equal",
    "score": "the mean score of the listener's last reviews of the speaker, 0 if there is none",
    "belief": "the probability that the listener gives to the speaker's last answer; 0 if the listener states none",
    "accepts": 'whether each verdict of the listener in its last replies about the speaker was "agree"; 1 if it gave '
    "none",
    "same_group": "whether both are in the same group",
}
OF_DEBATE: Mapping[str, str] = {
    "round": "the round to come",
    "n_agents": "how many agents debate now",
    "agreement": "the largest share of the debaters whose last answers are readable and equal",
    "consensus": "whether all debaters' last answers are readable and equal",
    "calls": "how many calls the debate has made so far",
    "tokens": "how many tokens its prompts and replies have had so far",
    "dollars": "what its calls have cost so far at the `price` of their entries, without caches; each entry needs one",
    "entropy": "the entropy of the shares of equal last answers, in bits: 0 if all agree",
    "approved": 'whether each verdict of the last step with verdicts was "agree"',
}
OF_ANSWER: Mapping[str, str] = {
    "round": "the round of the answer, from 0",
    "last": "whether it is its author's last",
    "answer": "the answer itself, which can be compared with other answers",
    "abandoned": "whether its author's next answer is different",
    "confidence": "its recalibrated confidence, 0 if it stated none",
    "chosen": "the share of the latest choices that named it; 0 if there are none. "
    "Choices by agents that were not shown it do not count",
}

OF_TURN: Mapping[str, str] = {
    "approved": 'whether the turn was shown to agents that gave verdicts, and each of their latest ones was "agree"',
    "mean_score": "the mean score of its speaker in the latest reviews by agents that were shown the turn; "
    "0 if there are none",
    "stated": "a number that its reply states, or else its mean in the latest replies of agents that were shown it: "
    "stated(NAME)",
    "chosen": "the share of the latest choices that named its speaker or, if single turns were chosen, "
    "the turn itself; 1 if there are none",
    "confidence": "its recalibrated confidence, 0 if it stated none",
    "round": "its round",
}

OF_LABEL: Mapping[str, str] = {
    "changed": "whether its answer differs from its speaker's answer before",
    "heard": "the share of the turns of others shown to its speaker that give its answer; 0 if none were shown",
    "new": "whether no earlier turn gives its answer",
    "right": "whether its answer is right",
    "similarity": "the largest similarity of its words to an earlier turn of its speaker; 0 if there is none",
    "novelty": "the share of its words and numbers that neither the turns shown to its speaker nor its speaker's "
    "earlier turns contain",
    "confidence": "its recalibrated confidence, 0 if it stated none",
    "round": "its round",
}

OF_STEPS: Mapping[str, Reads] = {
    "chosen": "choice", "borda": "ranking", "runoff": "ranking", "mean_score": "review", "score": "review",
    "approved": "verdict", "accepts": "verdict",
}  # fmt: skip
"""The names that are computed from what steps read, and from what; `chosen(rank)` uses one step only."""

VARS = "vars"
"""The name of the numbers that the spec gives agents; it always says which: `vars(trust)`."""

STATED = "stated"
"""The name of numbers that replies state; it always says which: `stated(clarity)`."""

LEARNED = "learned"
"""The name of fitted values; it always says which: `learned(trust)`. A job puts the fitted expression in its place."""

FROM_ANSWERS = frozenset({
    "reliability", "confidence", "support", "stability", "similarity", "intimacy", "differs", "belief",
    "agreement", "consensus", "answer", "length", "entropy",
})  # fmt: skip
"""The names that have a value only after a debater has answered."""

ANSWER = "answer"
"""The name of answers: they are texts, so that they can be equal or not, and nothing else."""

_EARLIER = FROM_ANSWERS | OF_STEPS.keys() | {STATED}
HAVE_EARLIER: Mapping[ExpressionPlace, frozenset[str]] = {
    "weight": _EARLIER | {"weight"}, "choice": _EARLIER, "condition": _EARLIER,
    "vote": frozenset({ANSWER, "confidence"}), "turn": frozenset(),
    "label": frozenset({"right", "confidence"}),
}  # fmt: skip
"""The names that have an earlier value, by place. The weight of an edge is a name only there: `before(weight)`."""

_OF_EDGES_SO_FAR = frozenset({"participation", "times_hearing", "self_orientation", "random", "position"})

NAMES: Mapping[ExpressionPlace, tuple[str, ...]] = {
    "weight": (*OF_AGENT, *OF_PAIR, *OF_DEBATE),
    "choice": (*OF_AGENT, *OF_PAIR, *OF_DEBATE),
    "condition": (*OF_AGENT, *OF_PAIR, *OF_DEBATE),
    "turn": tuple(OF_TURN),
    "label": tuple(OF_LABEL),
    "vote": tuple(
        dict.fromkeys((*OF_ANSWER, *(name for name in OF_AGENT if name not in _OF_EDGES_SO_FAR), "n_agents"))
    ),
}
"""The names that have a value, by place. A vote weighs past answers: names of edges or of the next round have no value
there."""

SHARES = frozenset({
    "reliability", "confidence", "mean_score", "support", "stability", "chosen", "borda", "runoff", "stated",
    "accepts", "similarity",
    "intimacy", "differs", "score", "belief", "agreement", "consensus", "approved", "last", "abandoned", "changed",
    "heard", "new", "right", "novelty",
})  # fmt: skip
"""The names whose values may be exactly 0 (also if nothing was stated or readable) and exactly 1."""

COUNTS = frozenset({"participation", "times_hearing", "self_orientation", "length", "entropy"})
"""The names whose values may be exactly 0 and have no upper end at 1."""

_AGENTS = 4


@cache
def sample_values(place: ExpressionPlace, value: float) -> Mapping[str, Any]:
    """Return made-up values of all names, each a little different, in the shapes that they have in a debate.

    They are shared by all calls: do not change them.
    """
    rng = np.random.default_rng(0)

    def around(*shape: int) -> Any:
        return value * (1 + 0.1 * rng.random(shape))

    if place in ("vote", "turn", "label"):
        return {name: around(_AGENTS) for name in NAMES[place]}
    column = (1, _AGENTS) if place == "choice" else (_AGENTS, 1)
    shapes = dict.fromkeys(OF_AGENT, column) | dict.fromkeys((*OF_PAIR, "weight"), (_AGENTS, _AGENTS))
    names = dict.fromkeys((*NAMES[place], *HAVE_EARLIER[place]))
    return {name: around(*shapes[name]) if name in shapes else float(around()) for name in names}
