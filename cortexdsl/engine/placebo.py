"""Placebos: what a prompt shows instead of the words of other agents.

A placebo has the form of a debate and not its content. The topology, the weights, the conditions and the votes of the
debate go by what was really said; only the words that reach the prompt are replaced.
"""

from __future__ import annotations

import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from cortexdsl.core import AUDIBLE, Call, Method, OtherQuestion, Placebo, Ports, Question, Step, Turn
from cortexdsl.engine.confidence import recalibrate
from cortexdsl.engine.messages import QuotedTurns, ShownTurns
from cortexdsl.engine.readings import read_reply
from cortexdsl.engine.state import DebateState
from cortexdsl.errors import DebateError

NEAREST = 8
"""The other question is one of so many before a question: mostly of the same shard, whose calls are shared."""


def without_placebos(method: Method) -> Method:
    """Return a method whose agents hear what was said."""
    steps = {name: replace(step, placebo="none") for name, step in method.steps.items()}
    return replace(method, steps=steps)


def draw_other_question(questions: Sequence[Question], question: Question, chance: random.Random) -> Question:
    """Draw another question: one of the eight before it, or the first after it if there is none before.

    Later questions of the dataset do not change the draw, nor does the way in which it is cut into shards.

    Parameters
    ----------
    questions : sequence of Question
        The questions of the dataset, in order.
    question : Question
        One of them; questions with the same text are not drawn for it.
    chance : random.Random

    Raises
    ------
    DebateError
        There is no other question.
    """
    place = next(k for k, each in enumerate(questions) if each.id == question.id)
    before = [each for each in questions[:place] if each.text != question.text][-NEAREST:]
    after = (each for each in questions[place + 1 :] if each.text != question.text)
    if before:
        return chance.choice(before)
    other = next(after, None)
    if other is None:
        raise DebateError(
            "placebo: other_question needs a second question, and the dataset has one\n    ask more questions, or use "
            "placebo: own, shuffled or same_length"
        )
    return other


def shuffled_words(text: str, chance: random.Random) -> str:
    """Return a text with its words in another order; spaces and line ends stay where they are."""
    words = text.split()
    chance.shuffle(words)
    order = iter(words)
    return re.sub(r"\S+", lambda _: next(order), text)


def as_long_as(text: str, length: int) -> str:
    """Return the last `length` words of a text, which is repeated if it has fewer.

    The end is kept because replies end with their answer.
    """
    words = re.findall(r"\S+\s*", text)
    if not words:
        return ""
    words[-1] = words[-1].rstrip() + "\n\n"  # before a repetition
    repeated = words * -(-length // len(words))
    return "".join(repeated[len(repeated) - length :]).strip()


class Placebos:
    """What the agents of one debate are shown instead of what was said.

    Parameters
    ----------
    method : Method
    question : Question
    ports : Ports
    state : DebateState
    chance : callable
        From what a draw belongs to to its generator.
    further_seed : callable
        From an agent, and the number of times that it has sent a prompt, to the seed of another call with this prompt.
    debate_other : callable
        From another question, the number of an execution, and the first turns, to the turns of the debate about that
        question until that execution.
    """

    def __init__(
        self,
        method: Method,
        question: Question,
        ports: Ports,
        state: DebateState,
        chance: Callable[..., random.Random],
        further_seed: Callable[[str, int], int],
        debate_other: Callable[[OtherQuestion, int, Sequence[Turn]], Awaitable[tuple[Turn, ...]]],
    ) -> None:
        self._method, self._question, self._ports, self._state = method, question, ports, state
        self._chance, self._further_seed, self._debate_other = chance, further_seed, debate_other
        self._quotes = QuotedTurns(method.quote, ports.reader)
        names = [agent.name for agents in method.role_agents.values() for agent in agents]
        self._places = {name: k for k, name in enumerate(dict.fromkeys(names))}
        self._openings: dict[str, tuple[Call, Step]] = {}
        self._other: OtherQuestion | None = None
        self._other_turns: tuple[Turn, ...] = ()

    def note_call(self, step: Step, speaker: str, call: Call) -> None:
        """Keep an agent's first call, whose prompt `same_length` uses again."""
        if step.reads in AUDIBLE and not call.model.is_tool:
            self._openings.setdefault(speaker, (call, step))

    async def replace_words(self, step: Step, speaker: str, shown: ShownTurns) -> ShownTurns:
        """Return what a prompt shows with the step's placebo.

        Turns of others that have no placebo (an agent that has not spoken has no reply of its own) are left out. In a
        remembered conversation, turns are shown as they were shown before.
        """
        placebos = {placebo.turn: placebo for turn in self._state.turns_of(speaker) for placebo in turn.placebos}
        heard = []
        for turn in shown.heard:
            if turn.speaker != speaker and step.placebo != "none":
                placebo = await self._placebo(step, speaker, turn)
                if placebo is None or not placebo.text.strip():
                    continue
                placebos[turn.turn] = placebo
            heard.append(turn)
        return ShownTurns(tuple(heard), shown.own, placebos)

    async def _placebo(self, step: Step, speaker: str, turn: Turn) -> Placebo | None:
        match step.placebo:
            case "shuffled":
                text = shuffled_words(self._quotes.text(turn), self._chance("placebo", turn.turn))
                return Placebo(turn.turn, "shuffled", text, turn.answer, turn.confidence, turn.call)
            case "own":
                mine = self._state.audible_turns_of(speaker)
                return _of_turn(turn, step, mine[-1], self._quotes) if mine else None
            case "same_length":
                return await self._of_sample(step, speaker, turn)
            case _:
                return await self._of_other_question(step, turn)

    async def _of_sample(self, step: Step, speaker: str, turn: Turn) -> Placebo | None:
        """Return a further reply of the speaker to its opening prompt; each other agent has one of its own."""
        if speaker not in self._openings:
            return None
        opening, asked = self._openings[speaker]
        peers = [name for name in self._places if name != speaker]
        call = replace(opening, seed=self._further_seed(speaker, asked.samples + peers.index(turn.speaker)))
        reply = await self._ports.ask(call)
        if reply.error is not None:
            return None
        # A reply to a prompt that asks for a comment may state an answer all the same.
        asked = asked if asked.reads == "answer" else replace(asked, reads="answer", beside=())
        reading, _ = read_reply(self._ports.reader, asked, reply.text, (), {})
        confidence = recalibrate(reading.confidence, self._method.recalibration)
        sample = replace(
            turn, text=reply.text, reads="answer", answer=reading.value, confidence=confidence, call=reply.key,
            reasoning=reply.reasoning,
        )  # fmt: skip
        placebo = _of_turn(turn, step, sample, QuotedTurns(self._method.quote, self._ports.reader))
        return replace(placebo, text=as_long_as(placebo.text, len(self._quotes.text(turn).split())))

    async def _of_other_question(self, step: Step, turn: Turn) -> Placebo | None:
        """Return what the speaker of a turn said at the same point of the debate about the other question."""
        if self._other is None:
            if self._ports.other is None:
                raise DebateError("placebo: other_question cannot be used here, as there is no other question")
            self._other = self._ports.other(self._question, self._chance("placebo"))
        if not self._other_turns or self._other_turns[-1].execution < turn.execution:
            self._other_turns = await self._debate_other(self._other, turn.execution, self._other_turns)
        siblings = [each.turn for each in self._state.execution(turn.execution) if _is_sibling(each, turn)]
        there = _counterpart(turn, siblings.index(turn.turn), self._other_turns)
        if there is None:
            return None
        quotes = QuotedTurns(self._method.quote, self._other.ports.reader)
        return replace(_of_turn(turn, step, there, quotes), question=self._other.question.id)


def _of_turn(turn: Turn, step: Step, source: Turn, quotes: QuotedTurns) -> Placebo:
    """Return a placebo that shows one turn instead of another."""
    text = quotes.text(source) if quotes.has_words(source) else ""
    return Placebo(turn.turn, step.placebo, text, source.answer, source.confidence, source.call)


def _is_sibling(one: Turn, other: Turn) -> bool:
    return (one.speaker, one.execution, one.about) == (other.speaker, other.execution, other.about)


def _counterpart(turn: Turn, draw: int, turns: Sequence[Turn]) -> Turn | None:
    """Return the turn of another debate at the same point: of the same speaker, if possible of the same step.

    If that debate ended before, it is the speaker's last turn of the step; `draw` is the turn's place among several
    draws.
    """
    said = [each for each in turns if each.speaker == turn.speaker and each.execution <= turn.execution]
    if not said:
        return None
    likeness = [((e.step == turn.step), (e.reads == turn.reads), (e.about == turn.about), e.execution) for e in said]
    best = said[max(range(len(said)), key=lambda k: likeness[k])]
    siblings = [each for each in said if _is_sibling(each, best)]
    return siblings[min(draw, len(siblings) - 1)]
