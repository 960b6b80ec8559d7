"""What was said of somebody, or of one of its turns, and which of it still holds."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from cortexdsl.debate.talk.transcript import NOT_READ, Transcript, chosen_among, read_of
from cortexdsl.debate.weights.expressions import evaluate, named, parse
from cortexdsl.debate.weights.names import OF_STEPS
from cortexdsl.terms import Evaluation, Reads, Site, Turn


def standing(said: Sequence[Turn], own: Sequence[Turn], steps: Collection[str] = ()) -> tuple[Turn, ...]:
    """Return those of some turns about an agent that hold: of each step the last, of one answer of the agent.

    A step that is spoken again takes the place of what it said before, and of no other step's. What was said of an
    earlier answer holds until something is said of a later one.

    Parameters
    ----------
    said : sequence of Turn
        Reviews of the agent, or choices that it stood in, in the order of speaking.
    own : sequence of Turn
        All that the agent said itself.
    steps : collection of str
        Of these alone; none: of all.
    """
    if steps:
        said = [turn for turn in said if turn.step in steps]
    if not said:
        return ()
    newest = said[-1].execution
    # In one go with what is said of it, somebody may answer anew: that is about the answer before.
    given = (turn.execution for turn in own if turn.reads == "answer" and turn.execution < newest)
    since = max(given, default=-1)
    return _last_of_steps([turn for turn in said if turn.execution > since])


def _last_of_steps(said: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return those of some turns that were said when their step was last spoken among them."""
    last = {turn.step: turn.execution for turn in said}
    return tuple(turn for turn in said if turn.execution == last[turn.step])


def mean_score(reviews: Sequence[Turn]) -> float:
    """Return the mean score of some reviews; 0 where none could be read."""
    scores = [turn.confidence for turn in reviews if turn.confidence is not None]
    return float(np.mean(scores)) if scores else 0.0


def share_of(choices: Sequence[Turn], name: str) -> float:
    """Return the share of the readable among some choices that named an agent; 1 where there is none."""
    read = [str(choice).split(", ") for turn in choices if (choice := read_of(turn, "choice")) is not None]
    return sum(name in names for names in read) / len(read) if read else 1.0


def holding(site: Site, turns: Sequence[Turn], transcript: Transcript) -> tuple[Turn, ...]:
    """Return those turns for which the condition of a site holds.

    The names of the condition belong to each turn: what was read from replies of agents who were shown the turn, and
    what the turn itself says.
    """
    parsed = parse(site.expression)

    def holds(turn: Turn) -> bool:
        values = {key: _worth(turn, *named(key), transcript) for key in parsed.keys}
        value = np.full((1, 1), evaluate(parsed, values), dtype=float)
        transcript.observe(Evaluation(site, value, value != 0, values, transcript.round))
        return bool(value[0, 0])

    return tuple(turn for turn in turns if holds(turn))


def _worth(turn: Turn, name: str, steps: Collection[str], transcript: Transcript) -> float:
    if name == "round":
        return float(turn.round)
    if name == "confidence":
        return turn.confidence or 0.0
    said = _said_of(turn, OF_STEPS[name], steps, transcript)
    if name == "peer_score":
        return mean_score([other for other in said if other.about == turn.speaker])
    if name == "chosen":
        return share_of(said, turn.speaker)
    return float(bool(said) and all(read_of(other, "verdict") == "agree" for other in said))


def _said_of(turn: Turn, what: Reads, steps: Collection[str], transcript: Transcript) -> tuple[Turn, ...]:
    """Return what was read of one kind of those who were shown a turn: of each step the last."""
    said = [
        other
        for other in transcript.turns[turn.turn + 1 :]
        if read_of(other, what) is not NOT_READ
        and (not steps or other.step in steps)
        and _is_meant(turn, other, what, transcript)
    ]
    return _last_of_steps(said)


def _is_meant(turn: Turn, other: Turn, what: Reads, transcript: Transcript) -> bool:
    """Say whether a turn was shown to another and is what that is about.

    Of several turns of one speaker that are shown at once, the last are meant; where a call is about somebody, no turn
    of anybody else is.
    """
    numbers = chosen_among(other, transcript.turns) if what == "choice" else other.heard
    shown = [transcript.turns[number] for number in numbers]
    executions = [each.execution for each in shown if each.speaker == turn.speaker]
    is_about_another = other.about not in (None, turn.speaker) and bool(transcript.said(str(other.about)))
    return turn.turn in numbers and turn.execution == max(executions) and not is_about_another
