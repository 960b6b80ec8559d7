"""Read a step's reply, during a debate and again later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cortexdsl.core import NO_REPLY, OTHERS, RANKED, Debate, Method, Reader, Reading, Step, Turn, belief_of
from cortexdsl.engine.confidence import recalibrate
from cortexdsl.engine.debate_confidence import debate_confidence
from cortexdsl.engine.decisions import answers_of, decide, last_of
from cortexdsl.engine.interim import method_after
from cortexdsl.engine.methods import debating_agents
from cortexdsl.engine.seeds import seeded_random
from cortexdsl.engine.state import TURN, choice_options

REREAD = "another answer was read later than the one that was measured"


def read_reply(
    reader: Reader, step: Step, text: str, options: Sequence[Turn], numbers: Mapping[str, int]
) -> tuple[Reading, dict[str, str | None]]:
    """Read a reply as its step does.

    Parameters
    ----------
    reader : Reader
    step : Step
    text : str
    options : sequence of Turn
        The turns that a choice can name, or whose speakers it can name: those whose words the prompt contained.
    numbers : mapping of name to int
        The numbers of agents in prompts.

    Returns
    -------
    (Reading, mapping)
        What the step reads, and the values of what it reads besides (None: unreadable).
    """

    def read(kind: str) -> Reading:
        reading = reader.read(kind, text)
        if kind not in ("choice", "ranking") or reading.value is None:
            return reading
        mark = RANKED if kind == "ranking" else ","
        written = [name.strip() for name in reading.value.split(mark) if name.strip()]
        if step.chooses == "answers":
            names = _as_answers(written, options, reader)
        elif step.chooses == "turns":
            names = {str(turn.turn + 1): f"{TURN}{turn.turn}" for turn in options}
        else:
            names = {str(numbers[turn.speaker]): turn.speaker for turn in options if turn.speaker in numbers}
        return _with_names(written, names, step.chooses[:-1], is_ranked=kind == "ranking")

    reading = read(step.reads)
    beside: dict[str, str | None] = {kind: read(kind).value for kind in step.beside}
    return _with_belief(reading, beside) if "belief" in beside else (reading, beside)


def unified(turns: Sequence[Turn], before: Sequence[Turn], reader: Reader) -> list[Turn]:
    """Return turns in which an answer is spelled as the first answer of the debate that means the same.

    So `1/2` and `0.5` are one answer for votes, consensus, conditions and metrics, as they are for the grade. The
    comparison need not be transitive: the first answer that is equal counts.

    Parameters
    ----------
    turns : sequence of Turn
        In order.
    before : sequence of Turn
        The turns of the debate before them, whose answers are unified.
    reader : Reader
    """
    known = dict.fromkeys(turn.answer for turn in before if turn.reads == "answer" and turn.answer is not None)
    made = []
    for turn in turns:
        if turn.reads == "answer" and turn.answer is not None and turn.answer not in known:
            answer = turn.answer
            first = next((one for one in known if reader.same(answer, one)), answer)
            known[first] = None
            turn = turn if first == answer else replace(turn, answer=first)  # noqa: PLW2901
        made.append(turn)
    return made


def with_own_answers(debate: Debate, reader: Reader) -> Debate:
    """Return a debate in which each answer is that of its own reply, and not the first that means the same.

    Programs that do the same on examples are one answer of a debate, and still may differ on their tests.
    """
    turns = [
        replace(turn, answer=reader.read("answer", turn.text).value) if turn.reads == "answer" and turn.answer else turn
        for turn in debate.turns
    ]
    return replace(debate, turns=tuple(turns))


def _with_belief(reading: Reading, beside: dict[str, str | None]) -> tuple[Reading, dict[str, str | None]]:
    """Return an answer with the probability that the reply gives to it as its confidence.

    A belief in which another answer is more probable contradicts the answer, and is not read.
    """
    stated = belief_of(beside["belief"])
    if not stated or reading.value is None or stated.get(reading.value, 0.0) < max(stated.values()):
        return reading, {**beside, "belief": None}
    return replace(reading, confidence=stated[reading.value]), beside


def _as_answers(written: Sequence[str], options: Sequence[Turn], reader: Reader) -> dict[str, str]:
    """Return the answers that a ballot names, as the turns that it was shown spell them; it may name no others."""
    shown = dict.fromkeys(turn.answer for turn in options if turn.reads == "answer" and turn.answer is not None)
    answers = dict(zip(shown, shown, strict=True))
    for name in written:
        answer = reader.read("answer", f"Answer: {name}").value
        known = answer is not None and next((one for one in shown if reader.same(answer, one)), None)
        if answer is not None and (known or not shown):
            answers[name] = known or answer
    return answers


def _with_names(written: Sequence[str], names: Mapping[str, str], what: str, *, is_ranked: bool) -> Reading:
    """Return a choice or a ranking of candidates; one that was not shown, or ranked twice, makes it unreadable."""
    unknown = next((name for name in written if name not in names), None)
    if unknown is not None:
        return Reading(None, f"no {what} {unknown} was there to {'rank' if is_ranked else 'choose'}")
    named = dict.fromkeys(names[name] for name in written)
    if is_ranked and len(named) < len(written):
        twice = next(name for k, name in enumerate(written) if names[name] in [names[one] for one in written[:k]])
        return Reading(None, f"the {what} {twice} is ranked twice")
    if not is_ranked:
        return Reading(", ".join(named))
    if marked := [name for name in named if RANKED in name or name == OTHERS]:
        return Reading(None, f"a ranking cannot hold the {what} {marked[0]}")
    return Reading(RANKED.join((*named, *([OTHERS] if {*names.values()} - {*named} else []))))


def reread_debate(debate: Debate, method: Method, reader: Reader, *, seed: int, replicate: int) -> Debate:
    """Read every reply of a finished debate again and decide it again, without any call.

    The course of the debate stays the same: it depended on what was read then. Calls without a reply stay unread. A
    measured confidence belongs to the answer that was read then; if another one is read now, there is none. A question
    that was handed on stays so.

    Parameters
    ----------
    debate : Debate
    method : Method
        The method that made it.
    reader : Reader
        Of its question.
    seed, replicate : int
        Of the experiment, so that ties are drawn as they were.
    """
    numbers = {agent.name: k for k, agent in enumerate(debating_agents(method), 1)}
    turns = tuple(unified([_reread(turn, debate, method, reader, numbers) for turn in debate.turns], (), reader))
    last = method_after(method, debate)
    voters = [agent.name for agent in debating_agents(last)]
    decision = decide(last, turns, voters, lambda: seeded_random("tie", seed, replicate, debate.question_id))
    again = replace(debate, turns=turns, answer=decision.answer, votes=decision.votes, was_tied=decision.was_tied)
    if debate.confidence is not None:
        given = last_of(answers_of(last, turns, voters))
        measured = debate_confidence(method.debate_confidence.source, decision.answer, given)
        again = replace(again, confidence=measured)
    if debate.deferred is None or method.defer is None:
        return again
    other = reread_debate(debate.deferred.debate, method.defer.method, reader, seed=seed, replicate=replicate)
    deferred = replace(debate.deferred, own=decision.answer, debate=other)
    return replace(again, answer=other.answer, deferred=deferred)


def _reread(turn: Turn, debate: Debate, method: Method, reader: Reader, numbers: Mapping[str, int]) -> Turn:
    if (turn.unparsed or "").startswith(NO_REPLY):
        return turn
    options = [debate.turns[number] for number in choice_options(turn, debate.turns)]
    reading, beside = read_reply(reader, method.steps[turn.step], turn.text, options, numbers)
    measured = turn.measured
    if measured is not None and measured.confidence is not None and not _is_one(reading.value, turn.answer, reader):
        measured = replace(measured, confidence=None, unmeasured=REREAD)
    confidence = reading.confidence if measured is None else measured.confidence
    return replace(
        turn,
        answer=None if turn.reads in ("summary", "comment") else reading.value,
        beside=beside,
        unparsed=reading.unparsed,
        confidence_stated=reading.confidence,
        measured=measured,
        confidence=recalibrate(confidence, method.recalibration if turn.reads == "answer" else ()),
    )


def _is_one(value: str | None, answer: str | None, reader: Reader) -> bool:
    if value is None or answer is None:
        return value is answer
    return value == answer or reader.same(value, answer)
