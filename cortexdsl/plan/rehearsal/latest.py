"""Where `latest` shows a comment or a summary of an agent that has answered, so that its answer is not shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from cortexdsl.debate.talk.transcript import TALK
from cortexdsl.terms import Debate, Method, Step, Told

_BESIDE_ANSWERS = TALK - {"answer"}


@dataclass(frozen=True, slots=True)
class CommentShown:
    """A `latest` that shows something else than the last answer.

    Attributes
    ----------
    step : str
    word : str
        `tells` or `own`.
    what, remedy : str
    """

    step: str
    word: Literal["tells", "own"]
    what: str
    remedy: str


def may_comment(method: Method) -> bool:
    """Tell whether an agent that answers may also comment or sum up."""
    answer, comment = (
        {agent.name for step in method.steps.values() if step.reads in reads for agent in method.cast[step.role]}
        for reads in ({"answer"}, _BESIDE_ANSWERS)
    )
    return bool(answer & comment)


def comments_shown(method: Method, debates: Sequence[Debate]) -> tuple[CommentShown, ...]:
    """Return the `latest` of steps by which some debate showed a comment of an agent that had answered before.

    A step that names in `tells` what else it is told is left out, and so is one that is shown the answer as well.
    """
    shown = {pair: step for debate in debates for pair, step in _shown(method, debate)}
    return tuple(_in_words(method, step, word, of) for (step, word), of in shown.items())


def _shown(method: Method, debate: Debate) -> Iterator[tuple[tuple[str, Literal["tells", "own"]], str]]:
    answers: dict[str, set[int]] = {}
    for turn in debate.turns:
        step, shown = method.steps[turn.step], {*turn.heard, *turn.recalled}
        for word, numbers in (("tells", turn.heard), ("own", turn.recalled)):
            for number in numbers if _says_latest(step, word) else ():
                other = debate.turns[number]
                given = answers.get(other.speaker, set())
                if other.reads in _BESIDE_ANSWERS and given and not given & shown:
                    yield (step.name, word), other.step  # type: ignore[misc]  # a word of the two above
        if turn.reads == "answer":
            answers.setdefault(turn.speaker, set()).add(turn.turn)


def _says_latest(step: Step, word: str) -> bool:
    if word == "own":
        return step.own == "latest"
    return not {"latest", "by_answer"}.isdisjoint({told for told in step.tells if not isinstance(told, Told)})


def _in_words(method: Method, name: str, word: Literal["tells", "own"], of: str) -> CommentShown:
    step = method.steps[name]
    spoke = {agent.name for agent in method.cast[method.steps[of].role]}
    answering = [
        each.name
        for each in method.steps.values()
        if each.reads == "answer" and any(agent.name in spoke for agent in method.cast[each.role])
    ]
    latest = "by_answer" if word == "tells" and "by_answer" in step.tells else "latest"
    whose = "the speaker's own answer" if word == "own" else "the answer of the same agent"
    what = f"step {name}: {word}: {latest} shows the {method.steps[of].reads} of step {of}, and not {whose} before it"
    return CommentShown(name, word, what, f"write {{step: [{', '.join(answering)}]}} for the latest answer")
