"""The transcript: the only state of a debate, and the questions that its engine asks of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cortexdsl.terms import Choice, Floats, Graph, Observe, Reads, Turn, ignore

TALK = frozenset({"answer", "summary", "comment"})
"""What others may hear. Reviews reach those they are about; verdicts and selections reach nobody."""


@dataclass
class Transcript:
    """Turns and graphs so far, in order.

    Attributes
    ----------
    principal : tuple of str
        The agents whose answers make rounds, consensus and votes, as the debate began.
    turns, graphs, choices : list
        Turns are added by `add` alone.
    answered : list of int
        The executions in which debaters answered: entry r is that of round r; made by `close_round` alone.
    cosines : list of (n, n) array
        Of the principal agents' answers, by round, as far as a weight has asked for them.
    members : tuple of str
        Those of the principal agents who still debate.
    own_numbers : mapping of name to int
        What each agent is told of itself: its number in its own role, where it is no principal agent.
    observe : callable
        Is told of every evaluation of an expression.
    """

    principal: tuple[str, ...]
    turns: list[Turn] = field(default_factory=list)
    graphs: list[Graph] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    cosines: list[Floats] = field(default_factory=list)
    members: tuple[str, ...] = ()
    own_numbers: Mapping[str, int] = field(default_factory=dict)
    observe: Observe = ignore
    # The same turns by speaker, by (speaker, whom about) and by execution: hundreds of agents ask for them.
    _said: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _about: dict[tuple[str, str | None], list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _executions: dict[int, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _standing: list[dict[str, tuple[Turn, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.members = self.members or self.principal

    @classmethod
    def read(cls, turns: Sequence[Turn], rounds: Collection[int], members: tuple[str, ...]) -> Transcript:
        """Make a transcript of turns that were spoken, of which some executions were rounds."""
        transcript = cls(members)
        transcript.add(turns)
        for execution in sorted(rounds):
            transcript.close_round(execution)
        return transcript

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The principal agents' places, from 1."""
        return {name: k for k, name in enumerate(self.principal, 1)}

    def add(self, turns: Sequence[Turn]) -> None:
        """Add turns that were spoken at once."""
        self.turns += turns
        for turn in turns:
            self._said[turn.speaker].append(turn)
            self._about[turn.speaker, turn.about].append(turn)
            self._executions[turn.execution].append(turn)

    @property
    def round(self) -> int:
        """The round that a turn spoken now belongs to."""
        return len(self.answered)

    @property
    def executions(self) -> int:
        """How many executions of a step there were."""
        return self.turns[-1].execution + 1 if self.turns else 0

    def talk(self, speaker: str) -> tuple[Turn, ...]:
        """Return all that a speaker said that others may hear."""
        return tuple(t for t in self._said.get(speaker, ()) if t.reads in TALK)

    def said(self, speaker: str) -> tuple[Turn, ...]:
        """Return all that a speaker said, whatever was read of it."""
        return tuple(self._said.get(speaker, ()))

    def about(self, speaker: str, listener: str) -> tuple[Turn, ...]:
        """Return all that a speaker said about (or for) a listener."""
        return tuple(self._about.get((speaker, listener), ()))

    def last(self, speaker: str, reads: str) -> Turn | None:
        """Return a speaker's last turn of one kind."""
        return next((t for t in reversed(self._said.get(speaker, ())) if t.reads == reads), None)

    def spoken(self, execution: int) -> tuple[Turn, ...]:
        """Return the turns of one execution of a step."""
        return tuple(self._executions.get(execution, ()))

    def close_round(self, execution: int) -> None:
        """Make a round of an execution in which debaters answered; the answers of those who were silent stand."""
        self.answered.append(execution)
        now: dict[str, list[Turn]] = defaultdict(list)
        for turn in self.spoken(execution):
            now[turn.speaker].append(turn)
        before = self._standing[-1] if self._standing else {}
        stands = {name: turns for name, turns in before.items() if name in self.members}
        self._standing.append({**stands, **{name: tuple(turns) for name, turns in now.items()}})

    def answers(self, round_: int) -> tuple[Turn, ...]:
        """Return the answers that stand after a round (-1: the last) of those who still debate, as they were spoken."""
        if not self._standing:
            return ()
        standing = self._standing[round_]
        found = (turn for name in self.members for turn in standing.get(name, ()))
        return tuple(sorted(found, key=lambda turn: turn.turn))

    def texts(self, round_: int) -> dict[str, str]:
        """Return what was said in the answers that stood after a round, by author in the principal agents' order."""
        standing = self._standing[round_]
        return {name: standing[name][-1].text for name in self.principal if name in standing}

    def standing(self) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the answers that stood after each round, of those who then debated."""
        return tuple(
            tuple(sorted(turn.turn for turns in rounds.values() for turn in turns)) for rounds in self._standing
        )

    def history(self, speaker: str) -> tuple[Turn, ...]:
        """Return a debater's answers, one a round in which it spoke: the last of several draws."""
        given = dict.fromkeys(rounds[speaker][-1].turn for rounds in self._standing if speaker in rounds)
        return tuple(self.turns[number] for number in given)

    def is_consensus(self) -> bool:
        """Say whether all who debate have answered, and gave one readable, equal answer last."""
        answers = self.answers(-1)
        values = {turn.answer for turn in answers}
        is_whole = {turn.speaker for turn in answers} == set(self.members)
        return is_whole and len(values) == 1 and None not in values

    def is_agreed(self, steps: Collection[str] = ()) -> bool:
        """Say whether the verdicts that were given last, by one or by several at once, were all that all agree.

        `steps`: in one of these; none: in any.
        """
        turns = [turn for turn in self.turns if not steps or turn.step in steps]
        given = [(turn.execution, read_of(turn, "verdict")) for turn in turns]
        given = [(execution, verdict) for execution, verdict in given if verdict is not NOT_READ]
        return bool(given) and all(verdict == "agree" for execution, verdict in given if execution == given[-1][0])


def all_at_once(transcript: Transcript, without: Collection[str]) -> bool:
    """Tell whether in every round all principal agents but some answered."""
    expected = set(transcript.principal).difference(without)
    rounds = (transcript.spoken(execution) for execution in transcript.answered)
    return all({turn.speaker for turn in turns} == expected for turns in rounds)


NOT_READ = object()


def read_of(turn: Turn, what: Reads) -> object:
    """Return what a turn's step read of one kind (None: unreadable), or `NOT_READ`."""
    return turn.answer if turn.reads == what else turn.beside.get(what, NOT_READ)


def shown_to_choose(
    turns: Sequence[Turn], speaker: str, about: str | None, heard: Sequence[int], recalled: Sequence[int]
) -> tuple[int, ...]:
    """Return the turns among whose speakers one chooses: what it heard, and what it said itself and is shown again.

    Who is asked about others (`about`: a pair, a match) is not among them.
    """
    own = (number for number in recalled if turns[number].speaker == speaker and turns[number].reads in TALK)
    return (*heard, *(own if about is None else ()))


def chosen_among(turn: Turn, turns: Sequence[Turn]) -> tuple[int, ...]:
    """Return the turns among whose speakers a turn chose."""
    return shown_to_choose(turns, turn.speaker, turn.about, turn.heard, turn.recalled)


def last_execution(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return those of some turns, in order, that belong to the last execution of a step among them."""
    return tuple([turn for turn in turns if turn.execution == turns[-1].execution])


def last_executions(turns: Sequence[Turn], count: int | None) -> tuple[Turn, ...]:
    """Return those of some turns, in order, that belong to the last executions among them; None: all."""
    if count is None:
        return tuple(turns)
    if count == 1:
        return last_execution(turns)
    kept = set(sorted({turn.execution for turn in turns})[-count:])
    return tuple(turn for turn in turns if turn.execution in kept)
