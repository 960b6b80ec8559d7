"""The transcript: the only state of a debate, and the questions that its engine asks of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cortexdsl.terms import Floats, Graph, Turn

TALK = frozenset({"answer", "summary", "comment"})
"""What others may hear. Reviews reach those they are about; verdicts and selections reach nobody."""


@dataclass
class Transcript:
    """Turns and graphs so far, in order.

    Attributes
    ----------
    principal : tuple of str
        The agents whose answers make rounds, consensus and votes.
    turns, graphs : list
        Turns are added by `add` alone.
    answered : list of int
        The executions in which the principal agents answered: entry r is that of round r.
    cosines : list of (n, n) array
        Of the principal agents' answers, by round, as far as a weight has asked for them.
    """

    principal: tuple[str, ...]
    turns: list[Turn] = field(default_factory=list)
    graphs: list[Graph] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    cosines: list[Floats] = field(default_factory=list)
    # The same turns by speaker, by (speaker, whom about) and by execution: hundreds of agents ask for them.
    _said: dict[str, list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _about: dict[tuple[str, str | None], list[Turn]] = field(default_factory=lambda: defaultdict(list))
    _executions: dict[int, list[Turn]] = field(default_factory=lambda: defaultdict(list))

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

    def about(self, speaker: str, listener: str) -> tuple[Turn, ...]:
        """Return all that a speaker said about (or for) a listener."""
        return tuple(self._about.get((speaker, listener), ()))

    def last(self, speaker: str, reads: str) -> Turn | None:
        """Return a speaker's last turn of one kind."""
        return next((t for t in reversed(self._said.get(speaker, ())) if t.reads == reads), None)

    def spoken(self, execution: int) -> tuple[Turn, ...]:
        """Return the turns of one execution of a step."""
        return tuple(self._executions.get(execution, ()))

    def answers(self, round_: int) -> tuple[Turn, ...]:
        """Return the principal agents' answers of a round (-1: the last), in the order they were spoken."""
        return self.spoken(self.answered[round_]) if self.answered else ()

    def is_consensus(self) -> bool:
        """Say whether all principal agents gave one readable, equal answer in the last round."""
        answers = {turn.answer for turn in self.answers(-1)}
        return len(answers) == 1 and None not in answers

    def is_agreed(self) -> bool:
        """Say whether the last verdict was that all agree."""
        verdict = next((t.answer for t in reversed(self.turns) if t.reads == "verdict"), None)
        return verdict == "agree"


def last_execution(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return those of some turns that belong to the last execution of a step among them."""
    return tuple(t for t in turns if t.execution == turns[-1].execution)
