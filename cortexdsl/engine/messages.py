"""Build a speaker's prompt: its variables, and the turns whose words the prompt contains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

from cortexdsl.core import (
    AUDIBLE,
    QUOTE,
    Method,
    Placebo,
    Question,
    Reader,
    Shows,
    Step,
    Turn,
    TurnFilter,
    canonical_value,
    number_of,
    quantile,
)
from cortexdsl.engine.state import DebateState, last_executions, turns_where
from cortexdsl.engine.topology import PlannedTurn
from cortexdsl.engine.tracked_text import Note, TrackedText


@dataclass(frozen=True, slots=True)
class View:
    """The variables of a prompt, and the turns that they contain.

    Attributes
    ----------
    variables : mapping
    heard, recalled : tuple of int
        The turns in the variables.
    written : set of int
        The turns whose words were written; filled while the prompt is rendered.
    placebos : mapping of turn to Placebo
        What was written instead of the words of some of these turns.
    """

    variables: Mapping[str, Any]
    heard: tuple[int, ...]
    recalled: tuple[int, ...]
    written: set[int]
    placebos: Mapping[int, Placebo] = field(default_factory=dict)

    def shown_placebos(self) -> tuple[Placebo, ...]:
        """Return the placebos that the rendered prompt contains, in the order of their turns."""
        if not self.placebos:
            return ()
        return tuple(self.placebos[number] for number in sorted(self.written) if number in self.placebos)

    def shown(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the turns, heard and recalled, whose words the rendered prompt contains."""
        heard = tuple([number for number in self.heard if number in self.written])
        return heard, tuple([number for number in self.recalled if number in self.written])


@dataclass(frozen=True, slots=True)
class ShownTurns:
    """The turns that a prompt may show.

    Attributes
    ----------
    heard, own : tuple of Turn
        Those that the speaker hears in this step, and those that it remembers.
    placebos : mapping of turn to Placebo
        What is shown instead of the words of some of them.
    """

    heard: tuple[Turn, ...]
    own: tuple[Turn, ...]
    placebos: Mapping[int, Placebo] = field(default_factory=dict)


class QuotedTurns:
    """The part of each turn that other agents may hear, computed once per turn.

    Parameters
    ----------
    quote : str
        `whole`: the reply without its confidence line; `answer`: only the answer.
    reader : Reader
    """

    def __init__(self, quote: str, reader: Reader) -> None:
        self._quoted_part, self.reader = quote, reader
        self._quotes: dict[int, tuple[str, bool]] = {}

    def text(self, turn: Turn) -> str:
        """Return what others may hear of a turn."""
        return self._quote(turn)[0]

    def has_words(self, turn: Turn) -> bool:
        """Return whether there is anything to hear; an empty reply, or a confidence alone, is not passed on."""
        return self._quote(turn)[1]

    def _quote(self, turn: Turn) -> tuple[str, bool]:
        if turn.turn not in self._quotes:
            whole = self.reader.without_confidence(turn.text) if turn.text.strip() else ""
            whole = QUOTE.sub(partial(_marked, turn.quotes), whole) if "quotes" in turn.beside else whole
            answer = "(no readable answer)" if turn.answer is None else turn.answer
            text = answer if self._quoted_part == "answer" and turn.reads == "answer" else whole
            self._quotes[turn.turn] = text, bool(whole.strip())
        return self._quotes[turn.turn]


def _marked(quotes: Mapping[str, float], found: re.Match[str]) -> str:
    """Return a quote with a mark that says whether the passage has it (as in Khan et al. 2024), or nothing."""
    if (quote := found["quote"]) is None:
        return ""
    mark = "verified_quote" if quotes.get(quote.strip()) else "unverified_quote"
    return f"<{mark}>{quote}</{mark}>"


def items_of(step: Step, question: Question, state: DebateState, quotes: QuotedTurns) -> tuple[str, ...]:
    """Return what the calls of a step get: items of another step's last reply, parts of the passage, or nothing."""
    if step.split is None:
        return ()
    text = question.context
    if step.split.step:
        turn = next((turn for turn in reversed(state.turns) if turn.step == step.split.step), None)
        text = "" if turn is None else quotes.text(turn)
    return quotes.reader.parts(text, step.split.parts, is_list=bool(step.split.step))


def select_turns(step: Step, planned: PlannedTurn, state: DebateState, quotes: QuotedTurns) -> ShownTurns:
    """Return the turns that a step's `tells` and `own` select for one speaker."""
    heard = [turn for turn in _heard(step, planned, state) if quotes.has_words(turn)]
    numbers = {turn.turn for turn in heard}
    own = [turn for turn in _own(step, planned, state) if turn.turn not in numbers and quotes.has_words(turn)]
    return ShownTurns(tuple(heard), tuple(own))


def build_view(
    step: Step,
    planned: PlannedTurn,
    method: Method,
    state: DebateState,
    question: Question,
    quotes: QuotedTurns,
    groups: Sequence[Sequence[str]],
    shown: ShownTurns,
) -> View:
    """Build the view of one speaker.

    Variables
    ---------
    question : Question
    agent : mapping name, number, persona, vars
        `number` as below; for an agent that does not debate, its place in its role. `vars`: its numbers, by name.
    about : str or None
    round : int
    heard : list of mappings speaker, turn, number, is_mine, round, reads, text, answer, confidence, weight, trust,
        about, is_own_group
        `turn` is its number in the debate, from 1, by which a choice among turns names it.
        `number` counts the debaters from 1 and never changes (None for other agents). `text` is what `quote` lets
        through. `trust` is the weight as a share of the weights of all agents that the listener hears.
    by_answer : list of mappings answer, turns (as in `heard`); most frequent first
    own : list of mappings, as `heard`: what the speaker remembers
    talk : list of mappings, as `heard`: both of these in order of speaking
    can_choose : list of int
        The numbers that a choice may name: of the agents in `talk`, or of its turns.
    quartiles : mapping lower, median, upper, count; or None
        Of the answers in `talk` that are numbers, in the canonical spelling; None if none is.
    item : str
        With a call for each item: the item.
    evidence : list of passages (with `shows: evidence`)
    and the names in `with:`.
    """
    me = planned.speaker.name
    written: set[int] = set()
    heard, own, placebos = shown.heard, shown.own, shown.placebos
    my_group = next((f"group {k}" for k, group in enumerate(groups, 1) if me in group), None)
    trust = _trust(planned)

    def entry(turn: Turn) -> dict[str, Any]:
        note = _note((turn.turn,), written)
        placebo = placebos.get(turn.turn)
        said = turn if placebo is None else placebo
        return {
            "speaker": turn.speaker,
            "turn": turn.turn + 1,
            "number": state.numbers.get(turn.speaker),
            "is_mine": turn.speaker == me,
            "round": turn.round,
            "reads": turn.reads,
            "text": TrackedText(quotes.text(turn) if placebo is None else placebo.text, note),
            "answer": None if said.answer is None else TrackedText(said.answer, note),
            "confidence": said.confidence,
            "weight": (planned.weights or {}).get(turn.speaker),
            "trust": trust.get(turn.speaker),
            "about": turn.about,
            "is_own_group": my_group is not None and turn.about == my_group,
        }

    entries = {turn.turn: entry(turn) for turn in (*heard, *own)}
    cut = {turn.turn for turn in (*heard, *own) if step.split is not None and turn.step == step.split.step}
    numbered = "turn" if step.chooses == "turns" else "number"
    variables: dict[str, Any] = {
        "question": question if step.context else replace(question, context=""),
        "agent": {
            "name": me,
            "number": state.own_numbers.get(me),
            "persona": planned.speaker.persona,
            "vars": dict(planned.speaker.vars),
        },
        "about": planned.about,
        "item": TrackedText(planned.item, _note(cut, written)),
        "round": state.round,
        "heard": [entries[turn.turn] for turn in heard],
        "by_answer": _by_answer(heard, entries, written) if "by_answer" in step.shows else [],
        "own": [entries[turn.turn] for turn in own],
        "talk": [entries[number] for number in sorted(entries)],
        "can_choose": sorted({each[numbered] for each in entries.values()} - {None}),
        "quartiles": _quartiles([turn for turn in (*heard, *own) if turn.reads == "answer"], placebos, written),
        "evidence": _evidence(step, me, method, state) if "evidence" in step.shows else [],
        **step.material,
    }
    numbers = tuple(turn.turn for turn in heard), tuple(turn.turn for turn in own)
    return View(variables, *numbers, written, placebos)


_TELLS: Mapping[str, TurnFilter | None] = {
    "last": TurnFilter(), "by_answer": TurnFilter(), "all": TurnFilter(last=None),
    "about_me": TurnFilter(about_me=True), "evidence": None,
}  # fmt: skip
"""The turns that each word of `shows` selects; evidence consists of passages, not of turns."""


def _selection(entry: Shows | TurnFilter) -> TurnFilter | None:
    return entry if isinstance(entry, TurnFilter) else _TELLS[entry]


def _heard(step: Step, planned: PlannedTurn, state: DebateState) -> list[Turn]:
    """Return the turns that all entries of `shows` select.

    A history is in order of speaking, everything else in the order of the agents that are heard.
    """
    selections = [selection for selection in map(_selection, step.shows) if selection is not None]
    subject = planned.about or planned.speaker.name
    turns: dict[int, Turn] = {}
    for name in planned.hears:
        selected = [turn for each in selections for turn in _selected(each, name, subject, state)]
        turns |= {turn.turn: turn for turn in sorted(selected, key=lambda turn: turn.turn)}
    is_history = any(each.last != 1 for each in selections)
    return [turns[number] for number in (sorted(turns) if is_history else turns)]


def _selected(selection: TurnFilter, speaker: str, subject: str, state: DebateState) -> Sequence[Turn]:
    """Return the turns of a speaker that one entry of `tells` or `own` selects; `about_me` means about the subject."""
    turns = state.turns_about(speaker, subject) if selection.about_me else state.turns_of(speaker)
    if selection.steps:
        turns = tuple([turn for turn in turns if turn.step in selection.steps])
    elif not selection.about_me:
        turns = tuple([turn for turn in turns if turn.reads in AUDIBLE])
    if selection.where:
        turns = turns_where(selection.where, turns, state)
    return last_executions(turns, selection.last)


def _own(step: Step, planned: PlannedTurn, state: DebateState) -> list[Turn]:
    """Return the turns that a speaker remembers: none, its last ones, those of some steps, or its conversation.

    A conversation is everything that it said, and everything that it was shown then, in order of speaking.
    """
    me = planned.speaker.name
    if step.memory == "none":
        return []
    if isinstance(step.memory, TurnFilter):
        return list(_selected(step.memory, me, planned.about or me, state))
    turns = state.audible_turns_of(me)
    if step.memory == "last":
        return list(last_executions(turns))
    numbers = {number for turn in turns for number in (turn.turn, *turn.heard, *turn.recalled)}
    return [state.turns[number] for number in sorted(numbers)]


def _trust(planned: PlannedTurn) -> dict[str, float]:
    """Return each weight as a share of the weights of all agents that are heard; nothing if they sum to 0."""
    weights = {name: max(0.0, (planned.weights or {}).get(name, 0.0)) for name in planned.hears}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()} if total > 0 else {}


def _note(numbers: Iterable[int], written: set[int]) -> Note:
    return lambda: written.update(numbers)


def _by_answer(
    heard: Sequence[Turn], entries: Mapping[int, Mapping[str, Any]], written: set[int]
) -> list[dict[str, Any]]:
    by_answer: dict[str | None, list[int]] = {}
    for turn in heard:
        answer = entries[turn.turn]["answer"]
        by_answer.setdefault(None if answer is None else str.__str__(answer), []).append(turn.turn)
    ordered = sorted(by_answer.items(), key=lambda pair: -len(pair[1]))  # stable: first heard first
    return [
        {
            # A prompt with the answer of several turns contains what each of them answered.
            "answer": None if answer is None else TrackedText(answer, _note(numbers, written)),
            "turns": [entries[number] for number in numbers],
        }
        for answer, numbers in ordered
    ]


class Quartiles(Mapping[str, Any]):
    """The quartiles of some numbers, and their `count`; computed when a template asks for one, as few do.

    Parameters
    ----------
    values : mapping of turn to number
        At least one.
    note : callable
        Called when a quartile is written, as it shows what each of these turns answered.
    """

    SHARES: ClassVar = {"lower": Fraction(1, 4), "median": Fraction(1, 2), "upper": Fraction(3, 4)}

    def __init__(self, values: Mapping[int, Fraction], note: Callable[[], None]) -> None:
        self._values, self._note = values, note

    def __getitem__(self, name: str) -> Any:
        if name == "count":
            return len(self._values)
        return TrackedText(canonical_value(quantile(sorted(self._values.values()), self.SHARES[name])), self._note)

    def __iter__(self) -> Iterator[str]:
        return iter((*self.SHARES, "count"))

    def __len__(self) -> int:
        return len(self.SHARES) + 1

    def __repr__(self) -> str:
        return repr(dict(self))


def _quartiles(turns: Sequence[Turn], placebos: Mapping[int, Placebo], written: set[int]) -> Quartiles | None:
    """Return the quartiles of the answers that are numbers; the answer of a placebo counts, not that of its turn."""
    shown = {turn.turn: placebos.get(turn.turn, turn).answer for turn in turns}
    values = {number: value for number, answer in shown.items() if (value := number_of(answer)) is not None}
    return Quartiles(values, _note(tuple(values), written)) if values else None


def _evidence(step: Step, me: str, method: Method, state: DebateState) -> list[Any]:
    """Return the passages that the speaker selected last, by number; the step's whole pool if it never selects."""
    selection = state.last_turn(me, "selection")
    if selection is None:
        return list(step.material.get("pool", ()))
    pool = method.steps[selection.step].material.get("pool", ())
    numbers = [int(number) for number in (selection.answer or "").split(",") if number.strip().isdecimal()]
    return [pool[number - 1] for number in numbers if 1 <= number <= len(pool)]


_LONGEST_GAP = 200  # characters between the parts of a question, such as headings


def length_of_question(question: Question, prompt: str) -> int:
    """Return the length of the beginning of a prompt that is the question: its passage, text and options.

    All prompts about the question that were written by the same template begin so. 0 if the prompt begins otherwise.
    """
    end = 0
    parts = (question.context, question.text, *(text for _, text in question.options))
    for part in map(str.strip, parts):
        at = prompt.find(part, end, end + _LONGEST_GAP + len(part))
        if at < 0:
            break
        end = at + len(part)
    return end
