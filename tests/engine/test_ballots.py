"""Ranked ballots: read, refused, partial, tied; Borda counts and instant runoffs, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cortexdsl.core import Choose, Debate, Decide, Everyone, Keep, Method, OfRole
from cortexdsl.engine.ballots import RankedBallot, among_all, borda, runoff
from cortexdsl.engine.readings import reread_debate
from cortexdsl.metrics.replies import partial_rankings, rankings
from cortexdsl.metrics.view import view_debate
from cortexdsl.records import Header, debate_to_json, record_from_json
from cortexdsl.tasks.reading.choice import ChoiceKind
from cortexdsl.tasks.reading.kinds import TextKind
from cortexdsl.tasks.reading.number import NumberKind
from cortexdsl.tasks.reading.reader import AnswerReader
from cortexdsl.tasks.reading.statements import read_ranking
from tests.engine.stage import QUESTION, Stage, method, run

HEADER = Header("tried", "sums", "cell", 1)
OPTIONS = ChoiceKind((("A", "one"), ("B", "two"), ("C", "three")))


def ballots(*lines: str) -> list[RankedBallot]:
    return among_all([RankedBallot(tuple(line), frozenset(line)) for line in lines])


# ---------------------------------------------------------------- counting
def test_points_fall_by_place() -> None:
    """Four candidates: 3, 2, 1, 0 points. abcd, abcd, bcda: a has 6, b 7, c 4, d 1."""
    assert borda(ballots("abcd", "abcd", "bcda")) == {"a": 6.0, "b": 7.0, "c": 4.0, "d": 1.0}


def test_a_partial_ballot_shares_what_is_left() -> None:
    """A ballot for a alone, of three: a has 2 points, b and c the mean of 1 and 0."""
    assert borda([*ballots("abc")[:0], RankedBallot(("a",), frozenset("abc"))]) == {"a": 2.0, "b": 0.5, "c": 0.5}


def test_the_majority_and_the_points_may_disagree() -> None:
    """Three of five put a first and last is never b: a wins the runoff at once, b has more points (7 against 6)."""
    said = ballots("abc", "abc", "abc", "bca", "bca")
    assert runoff(said) == (["a"], {"a": 3.0, "b": 2.0, "c": 0.0})
    assert max(borda(said), key=borda(said).__getitem__) == "b"


def test_votes_move_to_the_next_candidate() -> None:
    """4 abc, 3 bca, 2 cba: c is out first, and its two votes make b win by 5 to 4."""
    assert runoff(ballots(*["abc"] * 4, *["bca"] * 3, *["cba"] * 2)) == (["b"], {"a": 4.0, "b": 5.0})


def test_of_equally_few_votes_the_fewer_points_are_out() -> None:
    """a, b and c have a vote each; points a 4, b 3, c 2: c is out, and its ballot goes to a."""
    assert runoff(ballots("abc", "bac", "cab")) == (["a"], {"a": 2.0, "b": 1.0})


def test_a_cycle_is_a_tie() -> None:
    assert runoff(ballots("abc", "bca", "cab")) == (["a", "b", "c"], {"a": 1.0, "b": 1.0, "c": 1.0})


def test_a_ballot_without_candidates_left_no_longer_counts() -> None:
    """Two for a alone, two for b alone, one for c alone: c is out, and a and b are tied by votes and points."""
    said = [RankedBallot((name,), frozenset("abc")) for name in "aabbc"]
    assert runoff(said) == (["a", "b"], {"a": 2.0, "b": 2.0})


def test_nobody_voted() -> None:
    assert (borda([]), runoff([])) == ({}, ([], {}))


# ---------------------------------------------------------------- reading
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Ranking: 2 > 1 > 3", "2 > 1 > 3"),
        ("**Ranking:** Agent 2 > agent 1", "2 > 1"),
        ("Ranking: [B] > (A)\nRanking: C, A, B.", "C > A > B"),
        ("ranking: 1", "1"),
        ("Ranking: .5 > **-3.** > 2.", ".5 > -3 > 2"),
        ("Ranking:\nB > A\n\nBecause B is right.", "B > A"),
    ],
)
def test_rankings_are_read(text: str, value: str) -> None:
    assert read_ranking(text).value == value


@pytest.mark.parametrize("text", ["I like 2.", "", "Ranking: 2 > > 1", "Ranking: >", "Ranking:\nB\nA\nC"])
def test_other_texts_are_not(text: str) -> None:
    assert read_ranking(text).value is None


def test_a_thousand_candidates_are_ranked() -> None:
    ranking = " > ".join(map(str, range(1000, 0, -1)))
    assert read_ranking(f"Ranking: {ranking}").value == ranking


def test_a_copied_form_is_no_ranking() -> None:
    form = "Ranking: <the numbers of the agents, the best first, separated by commas>"
    assert AnswerReader(NumberKind()).read("ranking", form).value is None


# ---------------------------------------------------------------- in debates
class Real(Stage):
    """A stage that reads replies as a task does."""

    def __init__(self, script: dict[str, str], kind: Any) -> None:
        super().__init__({name: self._said(said) for name, said in script.items()})
        self.reader = AnswerReader(kind)

    @staticmethod
    def _said(said: str) -> Any:
        from cortexdsl.core import Reply

        return lambda call: Reply(f"{call.seed}", said, "stop", 1, 1)

    def ports(self) -> Any:
        from dataclasses import replace

        return replace(super().ports(), reader=self.reader)


def election(rule: str, **words: Any) -> Method:
    """Three candidates answer, and a voter of its own ranks them."""
    vote = {"role": "voter", "hears": OfRole(("debater",)), "reads": "ranking", **words}
    roles = {"debater": "a b c", "voter": "u v w"}
    return method({"answer": {}, "vote": vote}, ["answer", "vote"], roles, Decide(rule))


def elect(rule: str, *votes: str, answers: str = "1 2 3", **words: Any) -> Debate:
    script = {f"answer:{who}0": f"Answer: {said}" for who, said in zip("abc", answers.split(), strict=True)}
    script |= {f"vote:{who}1": said for who, said in zip("uvw", votes, strict=True)}
    of = election(rule, **words)
    stage = Real(script, NumberKind())
    debate = run(of, stage)
    again = reread_debate(debate, of, stage.reader, seed=7, replicate=1)
    line = debate_to_json(debate, HEADER)
    assert debate_to_json(again, HEADER) == line
    assert debate_to_json(record_from_json(line).debate, HEADER) == line
    return debate


def test_the_count_of_points_decides() -> None:
    debate = elect("borda", "Ranking: 2 > 1 > 3", "Ranking: 3 > 2 > 1", "Ranking: 1 > 2 > 3")
    assert (debate.answer, dict(debate.votes)) == ("2", {"1": 3.0, "2": 4.0, "3": 2.0})
    assert debate.turns[3].answer == "b > a > c"


def test_the_runoff_decides() -> None:
    debate = elect("runoff", "Ranking: 1 > 2 > 3", "Ranking: 1 > 3 > 2", "Ranking: 3 > 2 > 1")
    assert (debate.answer, dict(debate.votes), debate.was_tied) == ("1", {"1": 2.0, "2": 0.0, "3": 1.0}, False)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("Ranking: 2 > 2 > 1", "the agent 2 is ranked twice"),
        ("Ranking: 2 > 7 > 1", "no agent 7 was there to rank"),
        ("Ranking: 2 = 1 > 3", "no agent 2 = 1 was there to rank"),
        ("I cannot decide.", "no ranking"),
    ],
)
def test_a_bad_ballot_is_unreadable_and_does_not_count(said: str, why: str) -> None:
    debate = elect("borda", said, "Ranking: 3 > 2 > 1", "Ranking: 3 > 2 > 1")
    assert (debate.turns[3].unparsed, debate.answer) == (why, "3")
    assert dict(debate.votes) == {"1": 0.0, "2": 2.0, "3": 4.0}


def test_an_incomplete_ballot_is_recorded_as_such_and_counts() -> None:
    debate = elect("borda", "Ranking: 2", "Ranking: 3 > 2 > 1", "nothing")
    assert debate.turns[3].answer == "b > (others)"
    assert dict(debate.votes) == {"1": 0.5, "2": 3.0, "3": 2.5}


def test_a_tie_is_recorded_and_goes_to_the_confidence() -> None:
    debate = elect("borda", "Ranking: 1 > 2 > 3", "Ranking: 2 > 1 > 3", "nothing")
    assert debate.was_tied
    assert debate.answer in ("1", "2")


def test_without_a_readable_ballot_there_is_no_answer() -> None:
    assert elect("runoff", "no", "none", "nothing").answer is None


@pytest.mark.parametrize("rule", ["borda", "runoff"])
def test_ballots_on_agents_without_answers_decide_nothing(rule: str) -> None:
    debate = elect(rule, *["Ranking: 2 > 1 > 3"] * 3, answers="unsure unsure unsure")
    assert (debate.turns[3].answer, debate.answer, dict(debate.votes)) == ("b > a > c", None, {})


def test_agents_with_one_answer_are_one_candidate() -> None:
    """a and b both say 1: their best place counts, and two candidates are left."""
    debate = elect("borda", "Ranking: 1 > 3 > 2", "Ranking: 3 > 2 > 1", "Ranking: 3 > 1 > 2", answers="1 1 3")
    assert (debate.answer, dict(debate.votes)) == ("3", {"1": 1.0, "3": 2.0})


def test_answers_are_ranked_among_those_shown() -> None:
    debate = elect("borda", "Ranking: 2 > 1.0 > 3", "Ranking: 5 > 1", "Ranking: 2", chooses="answers")
    assert [turn.answer for turn in debate.turns[3:]] == ["2 > 1 > 3", None, "2 > (others)"]
    view = view_debate(debate, lambda question, answer: 0.0)
    assert (rankings(view), partial_rankings(view)) == (2, 1)  # the unreadable one is counted elsewhere
    assert debate.turns[4].unparsed == "no answer 5 was there to rank"


def test_an_answer_with_the_mark_of_rankings_is_never_split() -> None:
    """`x > y` is one answer, which `x y` also means, and no two candidates."""
    vote = {"role": "voter", "hears": OfRole(("debater",)), "reads": "ranking", "chooses": "answers"}
    of = method({"answer": {}, "vote": vote}, ["answer", "vote"], {"debater": "a b", "voter": "u"}, Decide("borda"))
    script = {"answer:a0": "Answer: x > y", "answer:b0": "Answer: c", "vote:u1": "Ranking: x y > c"}
    stage = Real(script, TextKind())
    stage.reader = AnswerReader(TextKind(), equal=lambda one, other: one.replace("> ", "") == other.replace("> ", ""))
    debate = run(of, stage)
    assert (debate.turns[2].answer, debate.answer) == (None, None)
    assert debate.turns[2].unparsed == "a ranking cannot hold the answer x > y"


def test_options_that_nobody_gave_can_win() -> None:
    """Two of three voters would settle for C, which is no first choice: 4 points against 3 and 2."""
    steps = {"vote": {"reads": "answer", "beside": ("ranking",), "chooses": "answers"}}
    said = {
        "a": "Answer: A\nRanking: A > C > B",
        "b": "Answer: B\nRanking: B > C > A",
        "c": "Answer: A\nRanking: C > A",
    }
    stage = Real({f"vote:{who}0": text for who, text in said.items()}, OPTIONS)
    debate = run(method(steps, ["vote"], "a b c", Decide("borda")), stage, question=QUESTION)
    assert [turn.beside["ranking"] for turn in debate.turns] == ["A > C > B", "B > C > A", "C > A"]
    assert (debate.answer, dict(debate.votes)) == ("C", {"A": 3.0, "B": 2.0, "C": 4.0})


@pytest.mark.parametrize(("weight", "chosen", "weights"), [
    ("borda", ("b",), (0.5, 2 / 3, 1 / 3)), ("runoff", ("b",), (0.0, 1.0, 0.0)),
])  # fmt: skip
def test_agents_are_chosen_by_ballots(weight: str, chosen: tuple[str, ...], weights: tuple[float, ...]) -> None:
    """Ballots bac, cba, abc: points 3, 4, 2 of at most 6; c falls, and b has two votes."""
    roles = {"debater": "a b c", "voter": "u v w", "leader": "a b c"}
    steps: dict[str, Any] = {
        "answer": {},
        "vote": {"role": "voter", "hears": OfRole(("debater",)), "reads": "ranking"},
        "lead": {"role": "leader", "hears": Everyone()},
    }
    rule = Choose("leader", "debater", weight, Keep("top", 1))
    script = {f"answer:{who}0": f"Answer: {k}" for k, who in enumerate("abc", 1)} | {"lead:b1": "Answer: 2"}
    votes = zip("uvw", ("Ranking: 2 > 1 > 3", "Ranking: 3 > 2 > 1", "Ranking: 1 > 2 > 3"), strict=True)
    stage = Real(script | {f"vote:{who}1": said for who, said in votes}, NumberKind())
    debate = run(method(steps, ["answer", "vote", rule, "lead"], roles), stage)
    assert debate.choices[0].weight == pytest.approx(weights)
    assert set(debate.choices[0].chosen) == set(chosen)
