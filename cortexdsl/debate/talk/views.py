"""What a speaker sees: the variables of its prompt, and the turns that they contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from cortexdsl.debate.talk.judged import holding
from cortexdsl.debate.talk.transcript import TALK, Transcript, last_execution, last_executions
from cortexdsl.debate.talk.words import Words
from cortexdsl.terms import Agent, Method, Question, Reader, Site, Step, Tells, Told, Turn


@dataclass(frozen=True, slots=True)
class Address:
    """One call of a step: who speaks, whom it hears, and what it is about.

    Attributes
    ----------
    speaker : Agent
    hears : tuple of str
        Names, in the agents' order.
    about : str or None
        The agent (or `group 2`) that the turn is for.
    weights : mapping of name to float
        Trust in those heard, where the topology weighs them.
    """

    speaker: Agent
    hears: tuple[str, ...]
    about: str | None = None
    weights: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class View:
    """The variables of a prompt, and the turns that it may contain: others' and those that the speaker remembers.

    Attributes
    ----------
    variables : mapping
    heard, recalled : tuple of int
        What the variables hold.
    written : set of int
        What a rendering has written out; filled while the prompt is rendered.
    """

    variables: Mapping[str, Any]
    heard: tuple[int, ...]
    recalled: tuple[int, ...]
    written: set[int]

    def shown(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the turns, heard and recalled, whose words the rendered prompt contains."""
        heard = tuple([number for number in self.heard if number in self.written])
        return heard, tuple([number for number in self.recalled if number in self.written])


class Quotes:
    """What of each turn of a debate reaches others, worked out once a turn.

    Parameters
    ----------
    passes : str
        `whole`: the reply without its confidence line; `answer`: the answer alone; `reasoning`: the whole reply after
        what the model thought, where it shows that.
    reader : Reader
    """

    def __init__(self, passes: str, reader: Reader) -> None:
        self._passes, self._reader = passes, reader
        self._known: dict[int, tuple[str, bool]] = {}

    def of(self, turn: Turn) -> str:
        """Return what others may hear of a turn."""
        return self._quoted(turn)[0]

    def has_words(self, turn: Turn) -> bool:
        """Say whether there is anything to hear: an empty reply, or a confidence alone, reaches nobody."""
        return self._quoted(turn)[1]

    def _quoted(self, turn: Turn) -> tuple[str, bool]:
        if turn.turn not in self._known:
            whole = self._reader.without_confidence(turn.text) if turn.text.strip() else ""
            alone = "(no readable answer)" if turn.answer is None else turn.answer
            text = alone if self._passes == "answer" and turn.reads == "answer" else whole
            if self._passes == "reasoning" and turn.reasoning:
                text = f"{turn.reasoning}\n\n{whole}"
            self._known[turn.turn] = text, bool(whole.strip())
        return self._known[turn.turn]


def view(
    step: Step,
    address: Address,
    method: Method,
    transcript: Transcript,
    question: Question,
    quotes: Quotes,
    groups: Sequence[Sequence[str]],
) -> View:
    """Build the view of one speaker from the transcript.

    Variables
    ---------
    question : Question
    agent : mapping name, number, persona
        `number` as below, or the place in its own role of one who does not debate.
    about : str or None
    round : int
    heard : list of mappings speaker, number, is_mine, round, reads, text, answer, confidence, weight, trust, about,
        is_own_group
        `number` counts the agents that debate, from 1, and stays an agent's own (None for an extra role). `text` is
        the reply without its confidence line, or as `passes` says. `trust` is the weight as a share
        of the weights of all that the listener hears.
    by_answer : list of mappings answer, turns (as in `heard`); most supported first
    own : list of mappings, as `heard`: what the speaker remembers
    talk : list of mappings, as `heard`: both of these in the order in which they were said
    evidence : list of passages (with `tells: evidence`)
    and what `with:` names.
    """
    me = address.speaker.name
    written: set[int] = set()
    heard = [turn for turn in _heard(step, address, transcript) if quotes.has_words(turn)]
    reached = {turn.turn for turn in heard}
    own = [turn for turn in _own(step, address, transcript) if turn.turn not in reached and quotes.has_words(turn)]
    mine = next((f"group {k}" for k, group in enumerate(groups, 1) if me in group), None)
    numbers = transcript.numbers
    trust = _shares(address)

    def entry(turn: Turn) -> dict[str, Any]:
        note = _noting((turn.turn,), written)
        return {
            "speaker": turn.speaker,
            "number": numbers.get(turn.speaker),
            "is_mine": turn.speaker == me,
            "round": turn.round,
            "reads": turn.reads,
            "text": Words(quotes.of(turn), note),
            "answer": None if turn.answer is None else Words(turn.answer, note),
            "confidence": turn.confidence,
            "weight": (address.weights or {}).get(turn.speaker),
            "trust": trust.get(turn.speaker),
            "about": turn.about,
            "is_own_group": mine is not None and turn.about == mine,
        }

    entries = {turn.turn: entry(turn) for turn in (*heard, *own)}
    variables: dict[str, Any] = {
        "question": question,
        "agent": {"name": me, "number": transcript.own_numbers.get(me), "persona": address.speaker.persona},
        "about": address.about,
        "round": transcript.round,
        "heard": [entries[turn.turn] for turn in heard],
        "by_answer": _by_answer(heard, entries, written) if "by_answer" in step.tells else [],
        "own": [entries[turn.turn] for turn in own],
        "talk": [entries[number] for number in sorted(entries)],
        "evidence": _evidence(step, me, method, transcript) if "evidence" in step.tells else [],
        **step.material,
    }
    return View(variables, tuple(t.turn for t in heard), tuple(t.turn for t in own), written)


def _heard(step: Step, address: Address, transcript: Transcript) -> list[Turn]:
    """Collect the turns that reach a speaker: all that each entry of `tells` says.

    A history is told in the order in which it was spoken, all else in the order of those heard.
    """
    told = [each for each in map(told_by, step.tells) if each is not None]
    subject = address.about or address.speaker.name
    turns: dict[int, Turn] = {}
    for name in address.hears:
        found = [turn for each in told for turn in _told(each, name, subject, transcript, step, "tells")]
        turns |= {turn.turn: turn for turn in sorted(found, key=lambda turn: turn.turn)}
    is_history = any(each.last != 1 for each in told)
    return [turns[number] for number in (sorted(turns) if is_history else turns)]


_WORDS: Mapping[str, Told | None] = {
    "latest": Told(), "by_answer": Told(), "history": Told(last=None), "about_me": Told(about_me=True),
    "evidence": None,
}  # fmt: skip


def told_by(word: Tells | Told) -> Told | None:
    """Return what a word of `tells` means; evidence is no talk."""
    return word if isinstance(word, Told) else _WORDS[word]


def _told(
    told: Told, speaker: str, subject: str, transcript: Transcript, step: Step, word: Literal["tells", "own"]
) -> Sequence[Turn]:
    """Return the turns of a speaker that one entry of `tells` or `own` of a step tells to (or about) somebody."""
    said = transcript.about(speaker, subject) if told.about_me else transcript.said(speaker)
    if told.steps:
        said = tuple([turn for turn in said if turn.step in told.steps])
    elif not told.about_me:
        said = tuple([turn for turn in said if turn.reads in TALK])
    if told.where:
        said = holding(Site(word, step.name, told.where), said, transcript)
    return last_executions(said, told.last)


def _own(step: Step, address: Address, transcript: Transcript) -> list[Turn]:
    """Collect what a speaker remembers: nothing, its last words, those of some steps, or its conversation.

    A conversation is all that it said and all that it was shown when it said it, in the order of saying.
    """
    me = address.speaker.name
    if step.own == "none":
        return []
    if isinstance(step.own, Told):
        return list(_told(step.own, me, address.about or me, transcript, step, "own"))
    said = transcript.talk(me)
    if step.own == "latest":
        return list(last_execution(said))
    kept = {number for turn in said for number in (turn.turn, *turn.heard, *turn.recalled)}
    return [transcript.turns[number] for number in sorted(kept)]


def _shares(address: Address) -> dict[str, float]:
    """Return each weight as a share of those of all that are heard; none where they do not add up to anything."""
    weights = {name: max(0.0, (address.weights or {}).get(name, 0.0)) for name in address.hears}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else {}


def _noting(numbers: Iterable[int], written: set[int]) -> Callable[[], None]:
    return lambda: written.update(numbers)


def _by_answer(
    heard: Sequence[Turn], entries: Mapping[int, Mapping[str, Any]], written: set[int]
) -> list[dict[str, Any]]:
    grouped: dict[str | None, list[int]] = {}
    for turn in heard:
        grouped.setdefault(turn.answer, []).append(turn.turn)
    ordered = sorted(grouped.items(), key=lambda pair: -len(pair[1]))  # stable: first heard first
    return [
        {
            # Whoever sees the answer of a group has seen what each of them answered.
            "answer": None if answer is None else Words(answer, _noting(numbers, written)),
            "turns": [entries[number] for number in numbers],
        }
        for answer, numbers in ordered
    ]


def _evidence(step: Step, me: str, method: Method, transcript: Transcript) -> list[Any]:
    """Return the passages that the speaker selected last, by number; the step's whole pool where it never selects."""
    selection = transcript.last(me, "selection")
    if selection is None:
        return list(step.material.get("pool", ()))
    pool = method.steps[selection.step].material.get("pool", ())
    numbers = [int(n) for n in (selection.answer or "").split(",") if n.strip().isdecimal()]
    return [pool[n - 1] for n in numbers if 1 <= n <= len(pool)]
