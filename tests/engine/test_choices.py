"""Who speaks, who stays, what a vote weighs and when a loop ends, decided during a debate: worked out by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import (
    Ablation,
    Choose,
    Debate,
    Decide,
    Everyone,
    Keep,
    OfRole,
    Reading,
    Repeat,
    Reply,
    Sparse,
    TurnFilter,
)
from cortexdsl.engine.readings import reread_debate
from cortexdsl.errors import DebateError
from cortexdsl.metrics.outcome import consensus, gain, opening_score
from cortexdsl.metrics.view import view_debate
from cortexdsl.records import Header, debate_to_json, record_from_json
from tests.engine.stage import Stage, StagedReader, method, name_of, run

MET = Keep("above", 0.0)
HEADER = Header("tried", "sums", "cell", 1)
REVISE = {"role": "unsure", "hears": Everyone()}
UNSURE = Choose("unsure", "debater", "any(differs)", MET)
EVERYBODY = {"debater": "a b c", "unsure": "a b c", "judge": "j"}


def spoke(debate: Debate) -> list[str]:
    return [name_of(turn) for turn in debate.turns]


class Reads(StagedReader):
    """Reads `label|answer|confidence|verdict|choice`."""

    def read(self, reads: str, text: str) -> Reading:  # type: ignore[override]
        parts = text.split("|")
        if reads in ("verdict", "choice") and len(parts) == 5:
            return Reading(parts[3 if reads == "verdict" else 4])
        return super().read(reads, "|".join(parts[:3]))  # type: ignore[arg-type]


class Judged(Stage):
    """A stage whose replies may hold a verdict and a choice."""

    def ports(self) -> Any:
        return dataclasses.replace(super().ports(), reader=Reads())


# ---------------------------------------------------------------- who speaks
def test_only_who_meets_another_answer_speaks_and_the_silent_keep_their_vote() -> None:
    """b is alone with 41 and goes over: all three differ from somebody, all speak once; then nobody speaks again."""
    of = method({"answer": {}, "revise": REVISE}, ["answer", Repeat(3, (UNSURE, "revise"))], EVERYBODY)
    debate = run(of, Stage({"answer:b0": "41|0.5"}))
    assert spoke(debate) == ["answer:a0", "answer:b0", "answer:c0", "revise:a1", "revise:b1", "revise:c1"]
    assert [choice.chosen for choice in debate.choices] == [("a", "b", "c"), (), ()]
    assert (debate.answer, dict(debate.votes), debate.rounds) == ("42", {"42": 3.0}, 1)


def test_a_silent_debaters_last_answer_stands_is_heard_and_votes() -> None:
    """Only b, who is not sure, speaks again: it hears a and c, and their openings vote beside its revision."""
    rule = Choose("unsure", "debater", "confidence < 0.5", MET)
    of = method({"answer": {}, "revise": REVISE}, ["answer", rule, "revise"], EVERYBODY)
    stage = Stage({"answer:b0": "41|0.2", "revise:b1": "41|0.9"})
    debate = run(of, stage)
    assert stage.trace() == ["answer:a0", "answer:b0", "answer:c0", "revise:b1 <- answer:a0 answer:c0"]
    assert dict(debate.votes) == {"42": 2.0, "41": 1.0}
    assert debate.standing == ((0, 1, 2), (0, 2, 3))
    view = view_debate(debate, lambda question, answer: float(answer == "42"))
    assert [[turn.turn for turn in turns] for turns in view.answers] == [[0, 1, 2], [0, 2, 3]]
    assert [(old.turn, new.turn) for old, new in view.revisions()] == [(1, 3)]
    assert consensus(view) == 0.0


def test_who_leaves_gives_up_voice_and_vote() -> None:
    """The least confident leaves after the opening: it is neither asked nor heard again, and two votes are counted."""
    leave = Choose("debater", "debater", "confidence", Keep("drop_bottom", 1))
    of = method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", leave, "revise"], "a b c")
    stage = Stage({"answer:b0": "41|0.2", "answer:a0": "42|0.9"})
    debate = run(of, stage)
    assert stage.trace()[3:] == ["revise:a1 <- answer:c0", "revise:c1 <- answer:a0"]
    assert dict(debate.votes) == {"42": 2.0}
    assert debate.choices[0].weight == (0.9, 0.2, 0.5)
    assert debate.standing == ((0, 1, 2), (3, 4))


def test_a_choice_is_kept_in_the_record_and_read_again() -> None:
    leave = Choose("debater", "debater", "confidence", Keep("drop_bottom", 1))
    of = method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", leave, "revise"], "a b c")
    debate = run(of, Stage({"answer:b0": "41|0.2"}))
    line = debate_to_json(debate, HEADER)
    assert '"schema_version":4' in line
    assert debate_to_json(record_from_json(line).debate, HEADER) == line
    again = reread_debate(debate, of, StagedReader(), seed=7, replicate=1)
    assert debate_to_json(again, HEADER) == line


def test_a_debate_that_says_nothing_new_is_written_as_before() -> None:
    of = method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"], "a b c")
    line = debate_to_json(run(of), HEADER)
    assert '"schema_version":3' in line
    assert "standing" not in line
    assert "choices" not in line


def test_nobody_left_is_no_answer() -> None:
    nobody = Choose("debater", "debater", "confidence > 1", MET)
    debate = run(method({"answer": {}, "revise": {}}, ["answer", nobody, "revise"], "a b"))
    assert (debate.answer, len(debate.turns)) == (None, 2)


# ---------------------------------------------------------------- winners go on
def test_winners_go_on_until_one_is_left() -> None:
    """Four stand: a beats b, d beats c, d beats a; the judge is shown the two of each match alone."""
    steps = {
        "answer": {},
        "compare": {"role": "judge", "hears": OfRole(("debater",)), "each": "match", "reads": "choice"},
    }
    win = Choose("debater", "debater", "chosen", Keep("above", 0.5))
    of = method(
        steps, ["answer", Repeat(9, ("compare", win), until="n_agents == 1")], {"debater": "a b c d", "judge": "j"}
    )
    said = {f"answer:{name}0": f"{k}|0.5" for k, name in enumerate("abcd", 1)}
    said |= {"compare:j1>aandb": "-|-|-|1", "compare:j1>candd": "-|-|-|4", "compare:j1>aandd": "-|-|-|4"}
    stage = Judged(said)
    debate = run(of, stage)
    assert stage.trace()[4:] == [
        "compare:j1>aandb <- answer:a0 answer:b0",
        "compare:j1>candd <- answer:c0 answer:d0",
        "compare:j1>aandd <- answer:a0 answer:d0",
    ]
    assert [choice.chosen for choice in debate.choices] == [("a", "d"), ("d",)]
    view = view_debate(debate, lambda question, answer: float(answer == "4"))
    assert (opening_score(view), gain(view)) == (0.25, 0.75)  # one of four openings was right, and a draw would decide
    assert (debate.answer, debate.stop) == ("4", "condition")


def test_a_choice_of_nobody_who_was_there_cannot_be_read_and_keeps_both() -> None:
    steps = {
        "answer": {},
        "compare": {"role": "judge", "hears": OfRole(("debater",)), "each": "match", "reads": "choice"},
    }
    win = Choose("debater", "debater", "chosen", Keep("above", 0.5))
    of = method(steps, ["answer", "compare", win], {"debater": "a b", "judge": "j"})
    debate = run(of, Judged({"compare:j1>aandb": "-|-|-|7"}))
    assert debate.turns[-1].unparsed == "no agent 7 was there to choose"
    assert debate.choices[0].chosen == ("a", "b")


# ---------------------------------------------------------------- what is read and told
def test_a_judge_reads_an_answer_and_a_verdict_at_once() -> None:
    steps = {
        "open": {"role": "pro"},
        "oppose": {"role": "con", "hears": OfRole(("pro",))},
        "judge": {"role": "judge", "hears": OfRole(("pro", "con")), "beside": ("verdict",)},
    }
    role_agents = {"pro": "a", "con": "b", "judge": "j"}
    of = method(
        steps, [Repeat(3, ("open", "oppose", "judge"), until="approved")], role_agents,
        decide=Decide("last", "judge"), voters=("pro", "con"),
    )  # fmt: skip
    said = {"judge:j2": "40|0.5|disagree|-", "judge:j4": "41|0.5|agree|-", "oppose:b1": "41|0.5"}
    debate = run(of, Judged(said))
    assert spoke(debate) == ["open:a0", "oppose:b1", "judge:j2", "open:a2", "oppose:b3", "judge:j4"]
    assert [turn.beside for turn in debate.turns if turn.step == "judge"] == [
        {"verdict": "disagree"},
        {"verdict": "agree"},
    ]
    assert (debate.answer, debate.stop, debate.rounds) == ("41", "agreed", 3)
    view = view_debate(debate, lambda question, answer: 0.0)
    assert view.debaters == ("a", "b")
    assert debate_to_json(record_from_json(debate_to_json(debate, HEADER)).debate, HEADER) == debate_to_json(
        debate, HEADER
    )


def test_steps_are_told_by_name_and_by_whom_they_are_about() -> None:
    """c hears a's opening though a has spoken since, a's review of c, and the judge's verdict, which is no talk."""
    steps = {
        "answer": {},
        "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
        "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "revise": {"hears": Everyone()},
        "close": {
            "role": "judge",
            "hears": OfRole(("debater", "judge")),
            "shows": (TurnFilter(("answer",)), TurnFilter(("rule",))),
            "memory": TurnFilter(("rule",)),
        },
        "end": {"hears": Everyone(), "shows": (TurnFilter(("answer",)), TurnFilter(("review",), about_me=True))},
    }
    of = method(
        steps, ["answer", "review", "rule", "revise", "close", "end"], {"debater": "a b", "judge": "j"},
        decide=Decide("last", "debater"),
    )  # fmt: skip
    stage = Stage()
    run(of, stage)
    assert stage.trace()[-3:] == [
        "close:j2 <- answer:a0 answer:b0 | rule:j1",
        "end:a2 <- answer:b0 review:b1>a",
        "end:b2 <- answer:a0 review:a1>b",
    ]


def test_the_last_two_times_and_all_of_them() -> None:
    steps = {
        "answer": {},
        "revise": {"hears": Everyone(), "shows": (TurnFilter(("answer", "revise"), last=2),)},
        "end": {"hears": Everyone(), "shows": (TurnFilter(("revise",), last=None),)},
    }
    stage = Stage()
    run(method(steps, ["answer", Repeat(2, ("revise",)), "end"], "a b"), stage)
    assert stage.trace()[4] == "revise:a2 <- answer:b0 revise:b1"
    assert stage.trace()[6] == "end:a3 <- revise:b1 revise:b2"


# ---------------------------------------------------------------- who hears whom
def test_a_relay_is_a_condition_on_places() -> None:
    before = Sparse("(mine(position) - position) % n_agents == 1", MET)
    stage = Stage()
    run(method({"answer": {}, "revise": {"hears": before}}, ["answer", "revise"], "a b c"), stage)
    assert stage.trace()[3:] == ["revise:a1 <- answer:c0", "revise:b1 <- answer:a0", "revise:c1 <- answer:b0"]


def test_only_another_answer_is_heard_and_the_record_says_so() -> None:
    stage = Stage({"answer:b0": "41|0.5"})
    of = method({"answer": {}, "revise": {"hears": Sparse("differs", MET)}}, ["answer", "revise"], "a b c")
    debate = run(of, stage)
    assert stage.trace()[3:] == ["revise:a1 <- answer:b0", "revise:b1 <- answer:a0 answer:c0", "revise:c1 <- answer:b0"]
    assert debate.graphs[0].heard.sum() == 4


def test_trust_learns_from_round_to_round() -> None:
    """Half of what it was and half of whether both agreed: b alone says 41, so 1/2 after one round, 1/4 after two."""
    trust = Sparse("before(weight) / 2 + (1 - differs) / 2", Keep("all"))
    script = dict.fromkeys(("answer:b0", "revise:b1"), "41|0.5")
    of = method({"answer": {}, "revise": {"hears": trust}}, ["answer", Repeat(2, ("revise",))], "a b c")
    graphs = run(of, Stage(script)).graphs
    weights = [graph.weight for graph in graphs]
    assert weights[0] is not None
    assert weights[1] is not None
    assert (weights[0][0, 1], weights[0][0, 2]) == (0.5, 1.0)
    assert (weights[1][0, 1], weights[1][0, 2]) == (0.25, 1.0)


# ---------------------------------------------------------------- when it ends, what counts
@pytest.mark.parametrize(
    ("until", "rounds", "stop"),
    [
        ("agreement >= 2 / 3", 1, "condition"),
        ("agreement >= 2 / 3 and round >= 3", 2, "condition"),  # the round to come: three have been
        ("agreement > 2 / 3", 3, "rounds"),
        ("mean(answer != before(answer)) == 0", 1, "condition"),
        ("consensus or round > 2", 2, "condition"),
        ("consensus", 3, "rounds"),
    ],
)
def test_a_loop_ends_on_any_condition(until: str, rounds: int, stop: str) -> None:
    """b says 41 throughout, the others 42."""
    script = {f"revise:b{k}": "41|0.5" for k in range(1, 4)} | {"answer:b0": "41|0.5"}
    of = method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", Repeat(3, ("revise",), until=until)])
    debate = run(of, Stage(script))
    assert (debate.rounds, debate.stop) == (rounds, stop)


def test_a_vote_over_all_answers_of_all_rounds() -> None:
    """Free-MAD's kind of score: 20 for an opening, 20 for an answer that stays and 30 for a new one, -25 for one left.

    Each divided by the round's number. a and c stay with 42 (20 + 20 / 2 each); b leaves 41 (20 - 25 / 2) for 42
    (30 / 2).
    """
    weight = "(20 + 10 * (answer != before(answer))) / (round + 1) - 25 * abandoned / (round + 2)"
    of = method(
        {"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"], decide=Decide("vote", weight=weight)
    )
    debate = run(of, Stage({"answer:b0": "41|0.5"}))
    assert dict(debate.votes) == {"42": pytest.approx(75.0), "41": pytest.approx(7.5)}
    assert debate.answer == "42"


@pytest.mark.parametrize(
    ("weight", "votes"),
    [
        ("last", {"42": 2.0, "41": 1.0}),  # a majority
        ("last * confidence", {"42": 1.0, "41": 0.9}),  # a weighted one
        ("last * (1 + (stability == 1) * support)", {"42": pytest.approx(2 + 4 / 3), "41": pytest.approx(1.0)}),
        ("last * (stability < 1)", {"42": 0.0, "41": 1.0}),
    ],
)
def test_votes_that_have_names_are_expressions_too(weight: str, votes: dict[str, float]) -> None:
    of = method(
        {"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"], decide=Decide("vote", weight=weight)
    )
    debate = run(of, Stage({"answer:b0": "40|0.5", "revise:b1": "41|0.9"}))
    assert {answer: debate.votes[answer] for answer in votes} == votes


@pytest.mark.parametrize(
    ("weight", "votes"),
    [
        ("confidence", {"40": 0.7, "41": 0.5, "42": 0.9}),  # of each answer, nothing where none was stated
        ("n_agents", {"40": 6.0, "41": 3.0, "42": 6.0}),
        ("round", {"40": 1.0, "41": 1.0, "42": 0.0}),
        ("last", {"40": 1.0, "41": 1.0, "42": 0.0}),
        (
            "answer != before(answer)",
            {"40": 1.0, "41": 1.0, "42": 0.0},
        ),  # c's second could not be read: another, and of no weight
        ("abandoned", {"40": 1.0, "41": 0.0, "42": 2.0}),
    ],
)
def test_what_an_answer_of_two_rounds_weighs(weight: str, votes: dict[str, float]) -> None:
    """42, 42, 40, then 40, 41 and what nobody could read."""
    script = {
        "answer:a0": "42|0.2", "answer:b0": "42|0.7", "answer:c0": "40|-",
        "revise:a1": "40|0.7", "revise:b1": "41|0.5", "revise:c1": "-|0.9",
    }  # fmt: skip
    of = method(
        {"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"], decide=Decide("vote", weight=weight)
    )
    assert run(of, Stage(script)).votes == pytest.approx(votes)


def test_of_several_draws_the_last_is_followed_by_the_next_round() -> None:
    """a draws 1, then 2, and stays with 2: it dropped nothing, and its 1 was neither changed nor dropped."""

    class Draws(Stage):
        async def ask(self, call: Any) -> Any:
            reply = await super().ask(call)
            return dataclasses.replace(reply, text=reply.text.replace("?", str(len(self.calls))))

    votes = {}
    changed = "answer != before(answer)"
    for weight in ("abandoned", changed, "last"):
        steps = {"answer": {"samples": 2}, "revise": {"memory": "last"}}
        of = method(steps, ["answer", "revise"], "a", decide=Decide("vote", weight=weight))
        votes[weight] = dict(run(of, Draws({"answer:a0": "?|0.5", "revise:a1": "2|0.5"})).votes)
    assert votes == {"abandoned": {"1": 0, "2": 0}, changed: {"1": 0, "2": 0}, "last": {"1": 0, "2": 1}}


def test_what_is_no_number_is_told() -> None:
    """By the first whose weight it is, and by the round."""
    steps = {"answer": {}, "revise": {"hears": Everyone()}}
    of = method(steps, ["answer", "revise"], decide=Decide("vote", weight="1 / (1 - round * confidence * 2)"))
    told = r"^round 1: the vote of agent 'b' is not a finite number: 1 / \(1 - round \* confidence \* 2\)\n"
    with pytest.raises(DebateError, match=told):
        run(of, Stage({"revise:a1": "42|0.4"}))
    with pytest.raises(DebateError, match=r"^round 1: the condition '1 / \(round - 1\)' has no value$"):
        run(method({"answer": {}}, ["answer", Repeat(1, ("answer",), unless="1 / (round - 1)")]))
    chosen = Choose("debater", "debater", "1 / (position - 1)", Keep("mean"))
    with pytest.raises(
        DebateError, match=r"^round 1: the weight of agent 'b' is not a finite number: 1 / \(position - 1\)"
    ):
        run(method({"answer": {}}, ["answer", chosen], "d a b c"), ablation=Ablation(agents=("d", "a")))
    by_place = Sparse("1 / max(2 - position, 0)", Keep("all"))
    with pytest.raises(DebateError, match=r"^round 2: the weight of agent 'b' is not a finite number"):
        run(method({"answer": {}, "revise": {}, "end": {"hears": by_place}}, ["answer", "revise", "end"]))


@pytest.mark.parametrize("condition", ["confidence", "differs"])
def test_a_condition_has_one_value_for_the_debate(condition: str) -> None:
    with pytest.raises(DebateError, match=rf"^round 1: the condition '{condition}' has no value$"):
        run(method({"answer": {}}, ["answer", Repeat(1, ("answer",), unless=condition)]))


def test_a_choice_among_nobody_chooses_nobody() -> None:
    nobody = Choose("debater", "debater", "confidence > 1", MET)
    then = Choose("unsure", "debater", "confidence", Keep("mean"))
    debate = run(method({"answer": {}, "revise": REVISE}, ["answer", nobody, then, "revise"], EVERYBODY))
    last = debate.choices[-1]
    assert (last.turn, last.round, last.role) == (3, 1, "unsure")
    assert last.candidates == last.weight == last.chosen == ()
    assert debate.answer is None


def test_a_role_is_filled_by_those_of_another_who_still_debate() -> None:
    """a and c are unsure; a leaves: of the unsure c alone is a candidate."""
    fill = Choose("unsure", "debater", "position != 2", MET)
    leave = Choose("debater", "debater", "position > 1", MET)
    again = Choose("unsure", "unsure", "1", Keep("all"))
    debate = run(method({"answer": {}, "revise": REVISE}, ["answer", fill, leave, again, "revise"], EVERYBODY))
    assert debate.choices[2].candidates == ("c",)
    assert spoke(debate)[3:] == ["revise:c1"]


def test_a_role_that_is_chosen_from_a_chosen_one_debates_too() -> None:
    """From all some, of these one: its answer makes a round."""
    some = Choose("unsure", "debater", "position <= 2", MET)
    one = Choose("least", "unsure", "position == 2", MET)
    steps = {"answer": {}, "revise": {"role": "least", "hears": Everyone()}}
    debate = run(method(steps, ["answer", some, one, "revise"], {**EVERYBODY, "least": "a"}))
    assert spoke(debate)[3:] == ["revise:b1"]
    assert debate.rounds == 1


def test_some_who_weigh_what_belongs_to_pairs_have_a_column_each() -> None:
    """a and c of three listen: column by column whether b, who says 41, differs from them."""
    some = Choose("unsure", "debater", "position != 2", MET)
    steps = {"answer": {}, "revise": {"role": "unsure", "hears": Sparse("differs + position", Keep("all"))}}
    graph = run(method(steps, ["answer", some, "revise"], EVERYBODY), Stage({"answer:b0": "41|0.5"})).graphs[0]
    assert (graph.speakers, graph.listeners) == (("a", "b", "c"), ("a", "c"))
    assert graph.factors["differs"].tolist() == [[0, 0], [1, 1], [0, 0]]
    assert graph.factors["position"].tolist() == [1, 2, 3]
    assert graph.weight == pytest.approx(np.array([[np.nan, 1], [3, 3], [3, np.nan]]), nan_ok=True)


def test_who_was_silent_last_is_no_candidate_whatever_it_said_before() -> None:
    """b says nothing first, c nothing second: in round 1 b has no weight, in round 2 c has none."""

    def refused(call: Any) -> Reply:
        return Reply("key", "", None, 5, None, error="content filter")

    of = method({"answer": {}, "revise": {"hears": Sparse("confidence", Keep("all"))}}, ["answer", *["revise"] * 3])
    graphs = run(of, Stage({"answer:b0": refused, "revise:c1": refused})).graphs
    heard = [[name for name, row in zip("abc", graph.heard, strict=True) if row.any()] for graph in graphs]
    assert heard == [["a", "c"], ["a", "b"], ["a", "b", "c"]]


def test_places_of_a_knockout_close_up_as_agents_leave() -> None:
    """Eight are paired by place, and the first of each pair goes on: in each round everybody meets its partner.

    Worked by hand: a c e g are the first of their pairs, then a e, then a. If places kept their gaps, a and c would be
    1 and 3 and hear nobody.
    """
    pairs = Sparse("floor((position - 1) / 2) == floor((mine(position) - 1) / 2)", Keep("above", 0.0))
    first = Choose("debater", "debater", "position % 2 == 1", MET)
    steps = {"answer": {}, "meet": {"hears": pairs}}
    debate = run(method(steps, ["answer", Repeat(3, ("meet", first))], "a b c d e f g h"))
    assert [choice.chosen for choice in debate.choices] == [("a", "c", "e", "g"), ("a", "e"), ("a",)]
    met = [[(turn.speaker, len(turn.heard)) for turn in debate.turns if turn.round == k] for k in (1, 2, 3)]
    assert met == [[(name, 1) for name in names] for names in ("abcdefgh", "aceg", "ae")]
