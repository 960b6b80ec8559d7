"""A debate as metrics read it: its debaters, their answers in each round, and the grade of each answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TypeAlias

from cortexdsl.core import NO_COSTS, Bools, Debate, DebateCosts, Turn
from cortexdsl.core.metrics import RIGHT
from cortexdsl.engine.decisions import Decision
from cortexdsl.records import Record

Grade: TypeAlias = Callable[[str, str | None], float]
"""(question id, answer) -> score in [0, 1]; an answer of None (unreadable) scores 0."""

DecidedAfter: TypeAlias = Callable[[int], Decision | None]
"""Round -> decision by the rule of the debate's method; None if it is not defined there."""

GradeAll: TypeAlias = Callable[[Sequence[tuple[str, str | None]]], Sequence[float]]
"""Many at once, in their order."""


@dataclass(frozen=True, slots=True, eq=False)
class Talk:
    """The edges of one round: which answers each debater heard.

    Attributes
    ----------
    round : int
    speakers : tuple of str
        Agents whose answers could be heard: debaters, and others that answer (such as an adversary from outside).
        Summarizers and critics are not included, because they give no answer of their own.
    listeners : tuple of str
        Debaters, who then answer again.
    heard : (S, L) bool array
        Nobody hears itself.
    """

    round: int
    speakers: tuple[str, ...]
    listeners: tuple[str, ...]
    heard: Bools

    @property
    def possible(self) -> int:
        """Number of possible edges, without self-edges."""
        return self.heard.size - len(set(self.speakers) & set(self.listeners))


@dataclass(frozen=True, slots=True, eq=False)
class DebateView:
    """A debate with its debaters, their answers by round, and the worth of every answer.

    Attributes
    ----------
    debate : Debate
    debaters : tuple of str
        The principal agents: those whose answers make the rounds. All others (judges, summarizers, critics) are extra
        roles; an agent that plays both is a debater.
    answers : tuple of tuple of Turn
        Entry r holds the debaters' answers at the end of round r, in the order they were spoken; entry 0 is the
        opening. The answer of a debater who was silent in a round stands, and is in that entry again.
    talks : tuple of Talk
        The rounds in which debaters could hear others' answers before they answered again.
    worth : callable
        Answer -> score in [0, 1].
    costs : DebateCosts
        What is known of its calls besides the record.
    decided : callable or None
        Round -> what the debate would have answered after it; None if its method is unknown (an imported transcript).
    """

    debate: Debate
    debaters: tuple[str, ...]
    answers: tuple[tuple[Turn, ...], ...]
    talks: tuple[Talk, ...]
    worth: Callable[[str | None], float]
    costs: DebateCosts = NO_COSTS
    decided: DecidedAfter | None = None

    def is_right(self, answer: str | None) -> bool:
        """Say whether an answer counts as right."""
        return self.worth(answer) >= RIGHT

    def before(self, round_: int) -> dict[str, Turn]:
        """Return each debater's latest answer before a round."""
        return {turn.speaker: turn for turns in self.answers[:round_] for turn in turns}

    def given(self) -> tuple[Turn, ...]:
        """Return all answers of the debaters, each once, in the order they were spoken."""
        return _given(self)

    def revisions(self) -> tuple[tuple[Turn, Turn], ...]:
        """Return (previous, new) answers of the same debater, over all rounds after the opening.

        If a debater answers several times in a round (independent draws), the last answer counts.
        """
        return _revisions(self)


Measure: TypeAlias = Callable[[DebateView], float | None]


def by_column(*measures: Measure) -> Mapping[str, Measure]:
    """Return measures by the columns that they fill: each has the name of its column."""
    return MappingProxyType({measure.__name__: measure for measure in measures})


# Dozens of measures read one debate before the next.
@lru_cache(maxsize=1)
def _given(view: DebateView) -> tuple[Turn, ...]:
    return tuple({turn.turn: turn for turns in view.answers for turn in turns}.values())


@lru_cache(maxsize=1)
def _revisions(view: DebateView) -> tuple[tuple[Turn, Turn], ...]:
    pairs: list[tuple[Turn, Turn]] = []
    last: dict[str, Turn] = {}
    for turns in view.answers:
        now = {turn.speaker: turn for turn in turns}
        pairs += [(last[name], turn) for name, turn in now.items() if name in last and turn is not last[name]]
        last |= now
    return tuple(pairs)


def view_debate(
    debate: Debate, grade: Grade, costs: DebateCosts = NO_COSTS, decided: DecidedAfter | None = None
) -> DebateView:
    """Return the view of a debate under a grade function; each different answer is graded once."""
    answers = _answers(debate)
    debaters = tuple(dict.fromkeys(turn.speaker for turns in answers for turn in turns))
    known: dict[str | None, float] = {None: 0.0}

    def worth(answer: str | None) -> float:
        if answer not in known:
            known[answer] = float(grade(debate.question_id, answer))
        return known[answer]

    return DebateView(
        debate, debaters, tuple(map(tuple, answers)), tuple(_talks(debate, debaters, answers)), worth, costs, decided
    )


def _answers(debate: Debate) -> list[list[Turn]]:
    """Return the debaters' answers at the end of each round; of who was silent in it, those that stand.

    Where the record does not say which they are, all debaters answered in every round. A round ends with that, so
    their answers are the last ones given in it; what others answered on the way (a proposer, an aggregator), or after
    the last round (a conclusion), makes no round.
    """
    if debate.standing:
        return [[debate.turns[number] for number in numbers] for numbers in debate.standing]
    last = {turn.round: turn.execution for turn in debate.turns if turn.reads == "answer"}
    rounds = {last[number]: number for number in range(debate.rounds + 1) if number in last}
    answers: list[list[Turn]] = [[] for _ in range(debate.rounds + 1)]
    for turn in debate.turns:
        if turn.execution in rounds:
            answers[rounds[turn.execution]].append(turn)
    return answers


def last_answers(debate: Debate) -> tuple[Turn, ...]:
    """Return the debaters' answers at the end of a debate."""
    return tuple(_answers(debate)[-1])


def _talks(debate: Debate, debaters: Sequence[str], answers: Sequence[Sequence[Turn]]) -> Iterator[Talk]:
    steps = {(turn.round, turn.step) for r, turns in enumerate(answers) for turn in turns if r == turn.round > 0}
    listening = set(debaters)
    could_answer = {turn.speaker for turn in debate.turns if turn.reads == "answer"}
    for graph in debate.graphs:
        if (graph.round, graph.step) in steps:
            rows = [k for k, name in enumerate(graph.speakers) if name in could_answer]
            columns = [k for k, name in enumerate(graph.listeners) if name in listening]
            if rows and columns:
                speakers = tuple(graph.speakers[k] for k in rows)
                listeners = tuple(graph.listeners[k] for k in columns)
                place = {name: k for k, name in enumerate(listeners)}
                heard = graph.heard[rows][:, columns]
                for row, name in enumerate(speakers):
                    if name in place:
                        heard[row, place[name]] = False
                yield Talk(graph.round, speakers, listeners, heard)


def grade_together(records: Iterable[Record], grade_all: GradeAll) -> Grade:
    """Grade every different answer of some records in one call, and return the grades as a function.

    For graders that are faster on many answers at once (mathematical equivalence).
    """
    asked: dict[tuple[str, str | None], None] = {}
    for record in records:
        debate = record.debate
        decided = [answer for stage in debate.stages for answer in (stage.answer, stage.own_answer)]
        for answer in [*decided, *(turn.answer for turn in debate.all_turns if turn.reads == "answer")]:
            if answer is not None:
                asked[(debate.question_id, answer)] = None
    known = dict(zip(asked, grade_all(list(asked)), strict=True))

    def grade(question_id: str, answer: str | None) -> float:
        if answer is None:
            return 0.0
        key = (question_id, answer)
        if key not in known:  # a mean or median of an earlier round, which nobody gave
            known[key] = grade_all([key])[0]
        return known[key]

    return grade
