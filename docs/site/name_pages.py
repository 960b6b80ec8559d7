"""The reference page of the names that expressions may use, from `cortexdsl/expressions/names.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from markdown_tables import table

from cortexdsl.expressions.names import OF_AGENT, OF_ANSWER, OF_DEBATE, OF_LABEL, OF_PAIR, OF_TURN


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names that describe the same thing.

    Attributes
    ----------
    of : str
        What they describe: the heading is `Names of` and this word.
    opening : str
        What a reader of the table must know.
    meanings : mapping
        Meanings by name.
    """

    of: str
    opening: str
    meanings: Mapping[str, str]


GROUPS = (
    NameGroup(
        "agents",
        "The answer of an agent is its last answer. Two unreadable answers are equal. *Recalibrated* confidences are "
        "those after the [recalibration](../../language/protocol.md#recalibration) of the protocol; without one, they "
        "are the stated confidences. *Kept edges* are those along which agents really heard each other. `credibility` "
        "needs the `parameters` and the `tokens` of pre-training of each model, from its entry or as a "
        "[known model](../../providers.md#known-models); the "
        "[scaling law](../../methods/cortexdebate.md#the-weight) is that of CortexDebate. An example of `chosen`: "
        "three agents could choose ann, and two of them did, so it is 2/3.",
        OF_AGENT,
    ),
    NameGroup(
        "pairs",
        "A pair is a speaker and a listener that may hear it. Groups are those of a step with "
        "[`hears: {groups: n}`](../../language/protocol.md#hears).",
        OF_PAIR,
    ),
    NameGroup("the debate", "After the opening, which is round 0, `round` is 1.", OF_DEBATE),
    NameGroup(
        "answers",
        "These names are for `decide: {vote: ...}`. `chosen` is here for choices that name "
        "[single turns](../../language/protocol.md#votes-on-turns). If no choice of the debate does, it means "
        "[the value of the author](#names-of-agents).",
        OF_ANSWER,
    ),
    NameGroup(
        "turns",
        "These names are for `where` under `shows` and `memory`. Reviews, choices and verdicts count for a turn only "
        "if the agent that gave them was shown the turn.",
        OF_TURN,
    ),
    NameGroup(
        "labelled turns",
        "These names are for rules and for `where` under [`labels`](../../labels.md). Turns that are spoken at the "
        "same time are not earlier than each other. `before(right)` and `before(confidence)` are of the speaker's last "
        "readable answer before, and 0 if there is none.",
        OF_LABEL,
    ),
)


def name_page() -> str:
    """Return the page of the names in expressions."""
    parts = [
        "# Names in expressions",
        "These are the names of [expressions](../../language/expressions.md). The place of an expression decides "
        "[which it may use](../../language/expressions.md#which-names-you-may-use).",
    ]
    for group in GROUPS:
        rows = ((f"`{name}`", meaning) for name, meaning in group.meanings.items())
        parts += [f"## Names of {group.of}", group.opening, table(("name", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"
