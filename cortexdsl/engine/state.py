"""The state of a debate: its turns, graphs, choices and rounds so far, and what they say of an agent or a turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cortexdsl.core import AUDIBLE, Floats, Graph, RoleChoice, Turn
from cortexdsl.expressions.evaluation import evaluate, parse, split_key
from cortexdsl.expressions.names import OF_STEPS, STATED


@dataclass
class DebateState:
    """Everything that has happened in a debate, in order; the only state of the engine.

    Attributes
    ----------
    debaters : tuple of str
        The agents whose answers make rounds, consensus and votes, as the debate began.
    turns, graphs, choices : list
        Only `add` appends turns.
    rounds : list of int
        The executions in which debaters answered: entry r is that of round r. Only `close_round` appends.
    cosines : list of (n, n) array
        Similarities of the debaters' answers, by round; only those that a weight has needed.
    remaining : tuple of str
        The debaters who still debate.
    own_numbers : mapping of name to int
        The number that a prompt gives its own agent: for agents that do not debate, their place in their role.
    """

    debaters: tuple[str, ...]
    turns: list[Turn] = field(default_factory=list)
    graphs: list[Graph] = field(default_factory=list)
    choices: list[RoleChoice] = field(default_factory=list)
    rounds: list[int] = field(default_factory=list)
    cosines: list[Floats] = field(default_factory=list)
    remaining: tuple[str, ...] = ()
    own_numbers: Mapping[str, int] = field(default_factory=dict)
    # Indexes of the turns, since hundreds of agents search them.
    _by_speaker: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _by_subject: dict[tuple[str, str | None], list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _by_execution: dict[int, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _answers: list[dict[str, tuple[Turn, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.remaining = self.remaining or self.debaters

    @classmethod
    def of_turns(
        cls, turns: Sequence[Turn], rounds: Collection[int], debaters: tuple[str, ...], remaining: tuple[str, ...] = ()
    ) -> DebateState:
        """Return the state after some turns; `rounds` names the executions that were rounds."""
        state = cls(debaters, remaining=remaining)
        state.add(turns)
        for execution in sorted(rounds):
            state.close_round(execution)
        return state

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The debaters' places, from 1."""
        return {name: k for k, name in enumerate(self.debaters, 1)}

    def add(self, turns: Sequence[Turn]) -> None:
        """Add turns that were spoken at once."""
        self.turns += turns
        for turn in turns:
            self._by_speaker[turn.speaker].append(turn)
            self._by_subject[turn.speaker, turn.about].append(turn)
            self._by_execution[turn.execution].append(turn)

    @property
    def round(self) -> int:
        """The round that the next turn belongs to."""
        return len(self.rounds)

    @property
    def executions(self) -> int:
        """The number of executions of steps so far."""
        return self.turns[-1].execution + 1 if self.turns else 0

    def turns_of(self, speaker: str) -> tuple[Turn, ...]:
        """Return all turns of a speaker."""
        return tuple(self._by_speaker.get(speaker, ()))

    def audible_turns_of(self, speaker: str) -> tuple[Turn, ...]:
        """Return the turns of a speaker that others may hear."""
        return tuple(turn for turn in self._by_speaker.get(speaker, ()) if turn.reads in AUDIBLE)

    def turns_about(self, speaker: str, subject: str) -> tuple[Turn, ...]:
        """Return the turns of a speaker that are about (or for) an agent or a group."""
        return tuple(self._by_subject.get((speaker, subject), ()))

    def last_turn(self, speaker: str, reads: str) -> Turn | None:
        """Return a speaker's last turn of one kind."""
        return next((turn for turn in reversed(self._by_speaker.get(speaker, ())) if turn.reads == reads), None)

    def execution(self, number: int) -> tuple[Turn, ...]:
        """Return the turns of one execution of a step."""
        return tuple(self._by_execution.get(number, ()))

    def close_round(self, execution: int) -> None:
        """Make an execution in which debaters answered a round; silent debaters keep their answers."""
        self.rounds.append(execution)
        new: dict[str, list[Turn]] = defaultdict(list)
        for turn in self.execution(execution):
            new[turn.speaker].append(turn)
        before = self._answers[-1] if self._answers else {}
        current = {name: turns for name, turns in before.items() if name in self.remaining}
        self._answers.append({**current, **{name: tuple(turns) for name, turns in new.items()}})

    def answers(self, round_: int) -> tuple[Turn, ...]:
        """Return the current answers after a round (-1: the last) of the remaining debaters, in order of speaking."""
        if not self._answers:
            return ()
        current = self._answers[round_]
        turns = (turn for name in self.remaining for turn in current.get(name, ()))
        return tuple(sorted(turns, key=lambda turn: turn.turn))

    def answer_texts(self, round_: int) -> dict[str, str]:
        """Return the texts of the current answers after a round, by debater in their order."""
        current = self._answers[round_]
        return {name: current[name][-1].text for name in self.debaters if name in current}

    def answer_numbers(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the turns with the current answers after each round, of the debaters of that time."""
        return tuple(
            tuple(sorted(turn.turn for turns in answers.values() for turn in turns)) for answers in self._answers
        )

    def answer_history(self, speaker: str) -> tuple[Turn, ...]:
        """Return a debater's answers: one per round in which it spoke, the last of several draws."""
        numbers = dict.fromkeys(answers[speaker][-1].turn for answers in self._answers if speaker in answers)
        return tuple(self.turns[number] for number in numbers)

    def is_consensus(self) -> bool:
        """Return whether all remaining debaters have answered, and their last answers are readable and equal."""
        turns = self.answers(-1)
        values = {turn.answer for turn in turns}
        return {turn.speaker for turn in turns} == set(self.remaining) and len(values) == 1 and None not in values

    def is_agreed(self, steps: Collection[str] = ()) -> bool:
        """Return whether all verdicts of the last execution with verdicts are `agree`; only of some steps if given."""
        turns = [turn for turn in self.turns if not steps or turn.step in steps]
        verdicts = [(turn.execution, reading_of(turn, "verdict")) for turn in turns]
        verdicts = [(execution, verdict) for execution, verdict in verdicts if verdict is not NOT_READ]
        last = verdicts[-1][0] if verdicts else None
        return bool(verdicts) and all(verdict == "agree" for execution, verdict in verdicts if execution == last)

    def all_answered_every_round(self, without: Collection[str]) -> bool:
        """Return whether in every round all debaters answered, except some."""
        expected = set(self.debaters).difference(without)
        return all({turn.speaker for turn in self.execution(execution)} == expected for execution in self.rounds)


NOT_READ = object()


def reading_of(turn: Turn, kind: str) -> object:
    """Return what a turn's step read of one kind (None: unreadable), or `NOT_READ`."""
    return turn.answer if turn.reads == kind else turn.beside.get(kind, NOT_READ)


def options_shown(
    turns: Sequence[Turn], speaker: str, about: str | None, heard: Sequence[int], recalled: Sequence[int]
) -> tuple[int, ...]:
    """Return the turns whose speakers an agent chooses among: those that it heard, and its own that it is shown again.

    If its call is about others (`about`: a pair, a match), it cannot choose itself.
    """
    own = (number for number in recalled if turns[number].speaker == speaker and turns[number].reads in AUDIBLE)
    return (*heard, *(own if about is None else ()))


def choice_options(turn: Turn, turns: Sequence[Turn]) -> tuple[int, ...]:
    """Return the turns whose speakers a turn chose among."""
    return options_shown(turns, turn.speaker, turn.about, turn.heard, turn.recalled)


def last_executions(turns: Sequence[Turn], count: int | None = 1) -> tuple[Turn, ...]:
    """Return those of some turns, in order, that belong to the last executions of steps among them; None: all."""
    if count is None:
        return tuple(turns)
    if count == 1:
        return tuple([turn for turn in turns if turn.execution == turns[-1].execution])
    executions = set(sorted({turn.execution for turn in turns})[-count:])
    return tuple(turn for turn in turns if turn.execution in executions)


# ------------------------------------------------------------ reviews, choices and verdicts that still hold
def current_remarks(remarks: Sequence[Turn], own: Sequence[Turn], steps: Collection[str] = ()) -> tuple[Turn, ...]:
    """Return the remarks about an agent that still hold: the last of each step, all about the same answer of the agent.

    A step that is spoken again replaces its own earlier remarks, but not those of other steps. Remarks about an earlier
    answer hold until there are remarks about a later one.

    Parameters
    ----------
    remarks : sequence of Turn
        Reviews of the agent, or choices with the agent among the options, in order of speaking.
    own : sequence of Turn
        All turns of the agent.
    steps : collection of str
        Only remarks of these steps; if empty, of all.
    """
    if steps:
        remarks = [turn for turn in remarks if turn.step in steps]
    if not remarks:
        return ()
    last = remarks[-1].execution
    # An answer in the same execution as the last remark comes after it: the remark is about the answer before.
    answered = max((turn.execution for turn in own if turn.reads == "answer" and turn.execution < last), default=-1)
    return last_of_each_step([turn for turn in remarks if turn.execution > answered])


def last_of_each_step(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return those of some turns that belong to the last execution of their step among them."""
    last = {turn.step: turn.execution for turn in turns}
    return tuple(turn for turn in turns if turn.execution == last[turn.step])


def mean_score(reviews: Sequence[Turn]) -> float:
    """Return the mean score of some reviews; 0 if none is readable."""
    scores = [turn.confidence for turn in reviews if turn.confidence is not None]
    return float(np.mean(scores)) if scores else 0.0


def mean_number(turns: Sequence[Turn], name: str) -> float:
    """Return the mean of the numbers with a name that some turns state; 0 if none is readable.

    The number of `quotes` is the share of those that the passage has.
    """
    if name == "quotes":
        numbers = [float(np.mean([*turn.quotes.values()])) for turn in turns if turn.quotes]
    else:
        numbers = [float(said) for turn in turns if (said := turn.beside.get(name)) is not None]
    return float(np.mean(numbers)) if numbers else 0.0


TURN = "turn "
"""What a choice among turns names: `turn 3`. No agent can be called so."""


def names_turns(choice: Turn) -> bool:
    """Return whether a turn is a readable choice among turns."""
    return str(reading_of(choice, "choice")).startswith(TURN)


def share_naming(choices: Sequence[Turn], turns: Sequence[Turn], name: str, turn: Turn | None = None) -> float:
    """Return the share of some readable choices that name an agent, or one of its turns; 1 if there are none.

    Parameters
    ----------
    choices : sequence of Turn
    turns : sequence of Turn
        All turns of the debate.
    name : str
        The agent. A choice among turns names it with any of its turns.
    turn : Turn or None
        A turn of the agent: choices among turns must name this one.
    """

    def is_named(choice: Turn) -> bool:
        named = str(reading_of(choice, "choice")).split(", ")
        if not names_turns(choice):
            return name in named
        numbers = [int(each.removeprefix(TURN)) for each in named]
        return turn.turn in numbers if turn is not None else name in {turns[number].speaker for number in numbers}

    readable = [choice for choice in choices if reading_of(choice, "choice") is not None]
    return sum(map(is_named, readable)) / len(readable) if readable else 1.0


def turns_where(condition: str, turns: Sequence[Turn], state: DebateState) -> tuple[Turn, ...]:
    """Return the turns that meet a condition.

    The names of the condition have a value for each turn: what was read from replies of agents that were shown the
    turn, and what the turn itself says.
    """
    expression = parse(condition)

    def is_met(turn: Turn) -> bool:
        values = {key: _turn_value(turn, *split_key(key), state) for key in expression.keys}
        return bool(evaluate(expression, values))

    return tuple(turn for turn in turns if is_met(turn))


def share_of_turn(turn: Turn, steps: Collection[str], state: DebateState) -> float:
    """Return the share of the last choices among turns that named a turn; 0 if it stood in none."""
    choices = [choice for choice in _remarks_on(turn, "choice", steps, state) if names_turns(choice)]
    return share_naming(choices, state.turns, turn.speaker, turn) if choices else 0.0


def _turn_value(turn: Turn, name: str, steps: Sequence[str], state: DebateState) -> float:
    if name == STATED:
        (number,) = steps
        own = [turn] if number in turn.beside else _remarks_on(turn, number, (), state)
        return mean_number(own, number)
    if name == "round":
        return float(turn.round)
    if name == "confidence":
        return turn.confidence or 0.0
    remarks = _remarks_on(turn, OF_STEPS[name], steps, state)
    if name == "mean_score":
        return mean_score([remark for remark in remarks if remark.about == turn.speaker])
    if name == "chosen":
        return share_naming(remarks, state.turns, turn.speaker, turn)
    return float(bool(remarks) and all(reading_of(remark, "verdict") == "agree" for remark in remarks))


def _remarks_on(turn: Turn, kind: str, steps: Collection[str], state: DebateState) -> tuple[Turn, ...]:
    """Return the last remarks of each step, of one kind, by agents that were shown a turn."""
    later = state.turns[turn.turn + 1 :]
    remarks = [other for other in later if reading_of(other, kind) is not NOT_READ]
    remarks = [other for other in remarks if not steps or other.step in steps]
    return last_of_each_step([other for other in remarks if _is_meant(turn, other, kind, state)])


def _is_meant(turn: Turn, remark: Turn, kind: str, state: DebateState) -> bool:
    """Return whether a remark is about a turn that it was shown.

    If a remark was shown several turns of a speaker, it is about the last of them; a choice among turns is about all.
    If its call is about an agent, it is not about turns of others.
    """
    numbers = choice_options(remark, state.turns) if kind == "choice" else remark.heard
    shown = [state.turns[number] for number in numbers]
    executions = [other.execution for other in shown if other.speaker == turn.speaker]
    is_about_another = remark.about not in (None, turn.speaker) and bool(state.turns_of(str(remark.about)))
    is_meant = names_turns(remark) or turn.execution == max(executions, default=-1)
    return turn.turn in numbers and is_meant and not is_about_another
