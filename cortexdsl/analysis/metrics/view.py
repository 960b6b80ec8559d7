"""A debate as metrics look at it: who the debaters are, what they answered in each round, what that was worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cortexdsl.records import Record
from cortexdsl.terms import Debate, Graph, Turn

RIGHT = 0.5
"""An answer is right when its score reaches this: exact for scores of 0 or 1, a convention for token F1."""

Grade: TypeAlias = Callable[[str, str | None], float]
"""(question id, answer) -> score in [0, 1]; an answer of None (unreadable) scores 0."""

GradeAll: TypeAlias = Callable[[Sequence[tuple[str, str | None]]], Sequence[float]]
"""Many at once, in their order."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A debate with its debaters, their answers by round, and the worth of every answer.

    Attributes
    ----------
    debate : Debate
    debaters : tuple of str
        The principal agents: those that speak in the first step that reads answers, and who answers beside them.
        All others (judges, summarizers, critics) are extra roles.
    answers : tuple of tuple of Turn
        Entry r holds the debaters' answers of round r, in the order they were spoken; entry 0 is the opening.
    worth : callable
        Answer -> score in [0, 1].
    """

    debate: Debate
    debaters: tuple[str, ...]
    answers: tuple[tuple[Turn, ...], ...]
    worth: Callable[[str | None], float]

    def is_right(self, answer: str | None) -> bool:
        """Say whether an answer counts as right."""
        return self.worth(answer) >= RIGHT

    def before(self, round_: int) -> dict[str, Turn]:
        """Return each debater's latest answer before a round."""
        return {turn.speaker: turn for turns in self.answers[:round_] for turn in turns}

    def graphs(self) -> tuple[Graph, ...]:
        """Return the graphs of debate: those in which debaters hear debaters and then answer anew."""
        steps = {(turn.round, turn.step) for turns in self.answers[1:] for turn in turns}
        debaters = set(self.debaters)
        return tuple(
            graph
            for graph in self.debate.graphs
            if (graph.round, graph.step) in steps and debaters.issuperset(graph.speakers + graph.listeners)
        )

    def edges(self, graph: Graph) -> tuple[tuple[str, str], ...]:
        """Return the kept edges (speaker, listener) of a graph between different agents."""
        return tuple(
            (speaker, listener)
            for s, speaker in enumerate(graph.speakers)
            for l, listener in enumerate(graph.listeners)  # noqa: E741 - [s, l], as everywhere
            if graph.heard[s, l] and speaker != listener
        )

    def revisions(self) -> tuple[tuple[Turn, Turn], ...]:
        """Return (previous, new) answers of the same debater, over all rounds after the opening.

        Where a debater answers several times in a round (independent draws), the last one counts.
        """
        pairs: list[tuple[Turn, Turn]] = []
        for round_ in range(1, len(self.answers)):
            before, now = self.before(round_), {turn.speaker: turn for turn in self.answers[round_]}
            pairs += [(before[name], turn) for name, turn in now.items() if name in before]
        return tuple(pairs)


def graded(debate: Debate, grade: Grade) -> Graded:
    """Look at a debate with a grade function; each different answer is graded once."""
    opening = next((turn.execution for turn in debate.turns if turn.reads == "answer"), None)
    first = {turn.speaker for turn in debate.turns if turn.execution == opening}
    # In transcripts of other programs a debater may be absent from the opening; it then speaks beside the others.
    theirs = {turn.execution for turn in debate.turns if turn.reads == "answer" and turn.speaker in first}
    debaters = tuple(dict.fromkeys(turn.speaker for turn in debate.turns if turn.execution in theirs))
    answers: list[list[Turn]] = [[] for _ in range(debate.rounds + 1)]
    for turn in debate.turns:
        # A conclusion that comes after the last round is no round of its own.
        if turn.reads == "answer" and turn.speaker in debaters and turn.round <= debate.rounds:
            answers[turn.round].append(turn)
    known: dict[str | None, float] = {None: 0.0}

    def worth(answer: str | None) -> float:
        if answer not in known:
            known[answer] = float(grade(debate.question_id, answer))
        return known[answer]

    return Graded(debate, debaters, tuple(map(tuple, answers)), worth)


def graded_at_once(records: Iterable[Record], grade_all: GradeAll) -> Grade:
    """Grade every different answer of some records in one call, and return the grades as a function.

    For graders that are quicker over many answers than over one (mathematical equivalence).
    """
    asked: dict[tuple[str, str | None], None] = {}
    for record in records:
        debate = record.debate
        for answer in [debate.answer, *(turn.answer for turn in debate.turns if turn.reads == "answer")]:
            if answer is not None:
                asked[(debate.question_id, answer)] = None
    known = dict(zip(asked, grade_all(list(asked)), strict=True))

    def grade(question_id: str, answer: str | None) -> float:
        return 0.0 if answer is None else known[(question_id, answer)]

    return grade
