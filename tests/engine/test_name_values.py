"""What the names of the expression language are worth in debates that were scripted: each value worked out by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from cortexdsl.core import (
    Ablation,
    Agent,
    Call,
    Choose,
    Debate,
    Everyone,
    Floats,
    Graph,
    Groups,
    Keep,
    Model,
    OfRole,
    Price,
    Reading,
    Repeat,
    Reply,
    SchedulePart,
    Sparse,
)
from cortexdsl.engine import formulas
from cortexdsl.engine.readings import reread_debate
from cortexdsl.engine.state import DebateState, turns_where
from tests.engine.stage import Stage, StagedReader, method, run

ALL = Keep("all")
TALK: dict[str, dict[str, Any]] = {"answer": {}, "revise": {"hears": Everyone()}}
CAST = {"debater": "a b c", "some": "a b c", "judge": "j", "other": "k"}


def worth(
    weight: str,
    schedule: list[SchedulePart],
    script: dict[str, Any] | None = None,
    steps: dict[str, dict[str, Any]] | None = None,
    stage: type[Stage] = Stage,
    **settings: Any,
) -> list[float]:
    """What an expression is worth for a, b and c, when a role is filled after a schedule."""
    chooses: list[Any] = [*schedule, Choose("some", "debater", weight, ALL), "answer"]
    debate = run(method({**TALK, **(steps or {})}, chooses, CAST, **settings), stage(script or {}))
    return list(debate.choices[-1].weight)


def weighed(graph: Graph) -> Floats:
    assert graph.weight is not None
    return graph.weight


def silent(call: Call) -> Reply:
    return Reply("key", "", None, 5, None, error="content filter")


# ---------------------------------------------------------------- before anybody has answered
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, [0.0] * 3) for name in (
            "confidence", "reliability", "mean_score", "support", "stability", "participation",
            "self_orientation", "mean(differs)", "mean(score)", "mean(same_group)", "mean(similarity)", "round",
            "agreement", "consensus", "approved",
        )),
        ("chosen", [1.0] * 3),
        ("mean(intimacy)", [1.0] * 3),
        ("position", [1.0, 2.0, 3.0]),
        ("n_agents", [3.0] * 3),
    ],
)  # fmt: skip
def test_before_the_opening_nothing_has_been_said(name: str, expected: list[float]) -> None:
    assert worth(name, []) == expected


# ---------------------------------------------------------------- answers
THREE: list[SchedulePart] = ["answer", Repeat(2, ("revise",))]
SAID = {
    "answer:a0": "41|0.2", "answer:b0": "42|0.8", "answer:c0": "40|-",
    "revise:a1": "42|0.4", "revise:b1": "42|-", "revise:c1": "-|0.9",
    "revise:a2": "42|0.9", "revise:b2": "41|0.5", "revise:c2": "42|0.1",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("confidence", [0.9, 0.5, 0.1]),
        ("reliability", [0.5, 0.65, 0.5]),  # (.2 + .4 + .9) / 3, (.8 + .5) / 2, (.9 + .1) / 2
        ("support", [2 / 3, 1 / 3, 2 / 3]),
        ("stability", [2 / 3, 2 / 3, 1 / 3]),  # 42 twice of three; 42 twice; 40 once, 42 once, once unreadable
        ("mean(differs)", [0.5, 1.0, 0.5]),
        ("agreement", [2 / 3] * 3),
        ("round", [3] * 3),
        ("participation", [4, 4, 4]),
        ("times_hearing", [4, 4, 4]),
        ("self_orientation", [0, 0, 0]),
    ],
)
def test_what_three_rounds_of_answers_are_worth(name: str, expected: list[float]) -> None:
    assert worth(name, THREE, SAID) == pytest.approx(expected)


def test_what_a_debate_has_spent_so_far() -> None:
    """Each of a, b and c has spoken three times before the choice, and the tokens are those of their turns."""
    debate = run(method({**TALK}, [*THREE, Choose("some", "debater", "tokens", ALL), "answer"], CAST), Stage(SAID))
    before = [turn for turn in debate.turns if turn.execution < 3]
    tokens = sum((turn.prompt_tokens or 0) + (turn.completion_tokens or 0) for turn in before)
    assert tokens > 0
    assert worth("tokens", THREE, SAID) == [tokens] * 3
    assert worth("calls", THREE, SAID) == [9] * 3


def test_dollars_are_those_of_the_prices_that_the_method_names() -> None:
    """Two dollars for each token of a prompt, and three for each of a reply."""
    played = method({**TALK}, [*THREE, Choose("some", "debater", "tokens", ALL), "answer"], CAST)
    before = [turn for turn in run(played, Stage(SAID)).turns if turn.execution < 3]
    expected = sum(2 * (turn.prompt_tokens or 0) + 3 * (turn.completion_tokens or 0) for turn in before)
    prices = {model.name: Price(2.0, 3.0) for model in played.models}
    assert expected > 0
    assert worth("dollars", THREE, SAID, charged=prices) == [expected] * 3


def test_entropy_is_in_bits_and_unreadable_answers_differ() -> None:
    """42, 41, 42; then three equal answers; then one answer and two that cannot be read."""
    assert worth("entropy", THREE, SAID) == pytest.approx([np.log2(3) - 2 / 3] * 3)
    assert worth("entropy", ["answer"], {}) == [0.0] * 3
    script = {"answer:b0": "-|-", "answer:c0": "-|-"}
    assert worth("entropy", ["answer"], script) == pytest.approx([np.log2(3)] * 3)


def test_length_counts_the_words_of_the_last_answer() -> None:
    debate = run(method({**TALK}, [*THREE, Choose("some", "debater", "length", ALL), "answer"], CAST), Stage(SAID))
    last = {turn.speaker: turn for turn in debate.turns if turn.execution < 3}
    assert worth("length", THREE, SAID) == [len(last[name].text.split()) for name in "abc"]


def test_an_unreadable_answer_has_no_support_and_is_no_constancy() -> None:
    """Two of three cannot be read: they are not two who agree. One whose answers never could be is not constant."""
    script = {"answer:b0": "-|-", "answer:c0": "-|-", "revise:b1": "-|-", "revise:c1": "42|-"}
    assert worth("support", ["answer"], script) == pytest.approx([1 / 3, 0, 0])
    assert worth("agreement", ["answer"], script) == pytest.approx([1 / 3] * 3)
    assert worth("stability", ["answer", "revise"], script) == [1.0, 0.0, 0.5]
    assert worth("confidence", ["answer"], script) == [0.5, 0.0, 0.0]


@pytest.mark.parametrize("answers", [("40", "41"), ("41", "40"), ("40", "-")])
def test_an_answer_that_changes_has_changed_whichever_stands_first_in_the_alphabet(answers: tuple[str, str]) -> None:
    script = {"answer:b0": f"{answers[0]}|0.5", "revise:b1": f"{answers[1]}|0.5"}
    assert worth("answer != before(answer)", ["answer", "revise"], script) == [0, 1, 0]
    assert worth("mean(differs)", ["answer"], script) == [0.5, 1.0, 0.5]


def test_who_was_silent_gave_no_other_answer() -> None:
    """a alone speaks again, and changes: the others have one answer each."""
    one = Choose("some", "debater", "position == 1", Keep("above", 0))
    steps = {"reply": {"role": "some", "hears": Everyone()}}
    script = {"reply:a1": "41|0.5", "reply:a2": "41|0.7"}
    schedule: list[SchedulePart] = ["answer", one, Repeat(2, ("reply",))]
    assert worth("stability", schedule, script, steps) == pytest.approx([2 / 3, 1, 1])
    assert worth("confidence", schedule, script, steps) == [0.7, 0.5, 0.5]
    assert worth("support", schedule, script, steps) == pytest.approx([1 / 3, 2 / 3, 2 / 3])


def test_several_draws_of_a_round_are_one_answer_the_last() -> None:
    class Draws(Stage):
        async def ask(self, call: Call) -> Reply:
            reply = await super().ask(call)
            return dataclasses.replace(reply, text=reply.text.replace("?", str(len(self.calls))))

    steps = {"answer": {"samples": 2}}
    script = {"answer:a0": "?|0.5", "revise:a1": "2|0.5"}
    assert worth("answer != before(answer)", ["answer", "revise"], script, steps, Draws) == [0, 0, 0]


# ---------------------------------------------------------------- reviews
REVIEW: dict[str, dict[str, Any]] = {"review": {"hears": Everyone(), "each": "edge", "reads": "review"}}


def test_a_score_is_the_listeners_last_review_of_the_speaker() -> None:
    """b thinks .2 of a, then .9; a thinks .3 of b, then nothing that could be read; of c nobody says how good it is."""
    script = {
        "review:b1>a": "x|0.2", "review:a1>b": "x|0.3", "review:c1>a": "x|0.7", "review:c1>b": "x|0.6",
        "review:a1>c": "x|-", "review:b1>c": "-|-",
    }  # fmt: skip
    steps = {**TALK, **REVIEW, "end": {"hears": Sparse("score", ALL)}}
    debate = run(method(steps, ["answer", "review", "end"], "a b c"), Stage(script))
    assert debate.graphs[-1].factors["score"].tolist() == [[0, 0.2, 0.7], [0.3, 0, 0.6], [0, 0, 0]]
    again = {**script, "review:b2>a": "x|0.9", "review:a2>b": "-|-"}
    of = method(steps, ["answer", "review", "revise", "review", "end"], "a b c")
    factors = run(of, Stage(again)).graphs[-1].factors["score"]
    assert (factors[0, 1], factors[1, 0]) == (0.9, 0.0)


def test_a_summary_about_an_agent_is_no_review_of_it() -> None:
    """However sure the scribe is of its words. The peers give a (.2 + .6) / 2."""
    steps = {
        **REVIEW,
        "sum": {"role": "judge", "hears": OfRole(("debater",)), "each": "listener", "reads": "summary"},
        "check": {"role": "judge", "hears": OfRole(("debater",)), "each": "listener", "reads": "comment"},
    }
    script = {"review:b1>a": "x|0.2", "review:c1>a": "x|0.6"}
    script |= {f"{step}:j1>{name}": "x|0.9" for step in ("sum", "check") for name in "abc"}
    assert worth("mean_score", ["answer", "review", "sum", "check"], script, steps) == pytest.approx([0.4, 0.5, 0.5])
    assert worth("mean(score)", ["answer", "review", "sum", "check"], script, steps)[1] == pytest.approx(0.35)


def test_peers_that_say_no_score_leave_an_agent_none() -> None:
    script = {"review:b1>a": "x|-", "review:c1>a": "x|-"}
    assert worth("mean_score", ["answer", "review"], script, REVIEW) == [0.0, 0.5, 0.5]


# ---------------------------------------------------------------- choices
class Chooses(StagedReader):
    """Reads the answer as a choice, too."""

    def read(self, reads: Any, text: str) -> Reading:
        reading = super().read(reads, text)
        return dataclasses.replace(reading, value=reading.value and reading.value.replace("+", ","))


class Judged(Stage):
    def ports(self) -> Any:
        return dataclasses.replace(super().ports(), reader=Chooses())


PICK: dict[str, dict[str, Any]] = {"pick": {"role": "both", "hears": OfRole(("debater",)), "reads": "choice"}}


def picked(script: dict[str, Any], schedule: list[Any]) -> list[float]:
    role_agents = {**CAST, "both": "j k"}
    of = method({**TALK, **PICK}, [*schedule, Choose("some", "debater", "chosen", ALL)], role_agents)
    return list(run(of, Judged(script)).choices[-1].weight)


def test_chosen_is_a_share_of_the_last_choices() -> None:
    """Of two judges one names a and one names b; then one names c, and the other nobody who could be read."""
    first = {"pick:j1": "1|-", "pick:k1": "2|-"}
    assert picked(first, ["answer", "pick"]) == [0.5, 0.5, 0.0]
    second = {**first, "pick:j2": "3|-", "pick:k2": "-|-"}
    assert picked(second, ["answer", "pick", "revise", "pick"]) == [0.0, 0.0, 1.0]
    both = {"pick:j1": "1+3|-", "pick:k1": "3|-"}
    assert picked(both, ["answer", "pick"]) == [0.5, 0.0, 1.0]


def test_who_was_not_shown_stood_in_no_choice() -> None:
    """b said nothing: no judge could have chosen it."""
    assert picked({"answer:b0": silent, "pick:j1": "1|-", "pick:k1": "1|-"}, ["answer", "pick"]) == [1.0, 1.0, 0.0]


def test_where_no_choice_could_be_read_nobody_is_out() -> None:
    assert picked({"pick:j1": "-|-", "pick:k1": "9|-"}, ["answer", "pick"]) == [1.0, 1.0, 1.0]


BALLOT: dict[str, Any] = {"hears": Everyone(), "reads": "choice", "memory": "last"}
BALLOTS = {"ballot:a1": "1|-", "ballot:b1": "1|-", "ballot:c1": "3|-"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, [2 / 3, 0, 1 / 3]),  # a and c name themselves, b names a
        (
            {"memory": "none"},
            [1.0, 1.0, 0.0],
        ),  # who is not shown its own answer names nobody by its number: b's choice is left
    ],
)
def test_who_is_shown_its_own_answer_may_choose_itself(words: dict[str, Any], expected: list[float]) -> None:
    of = method(
        {**TALK, "ballot": {**BALLOT, **words}}, ["answer", "ballot", Choose("some", "debater", "chosen", ALL)], CAST
    )
    debate = run(of, Judged(BALLOTS))
    assert list(debate.choices[-1].weight) == pytest.approx(expected)
    read = [turn.answer for turn in debate.turns if turn.step == "ballot"]
    assert read == (["a", "a", "c"] if not words else [None, "a", None])
    assert reread_debate(debate, of, Chooses(), seed=7, replicate=1) == debate


def test_who_is_asked_about_others_does_not_choose_itself() -> None:
    """One call a pair of the others: its own answer is in sight, and stands in none."""
    pairs = {"ballot:a1>bandc": "1|-", "ballot:b1>aandc": "1|-", "ballot:c1>aandb": "3|-"}
    of = method(
        {**TALK, "ballot": {**BALLOT, "each": "pair"}},
        ["answer", "ballot", Choose("some", "debater", "chosen", ALL)],
        CAST,
    )
    debate = run(of, Judged(pairs))
    assert [turn.answer for turn in debate.turns if turn.step == "ballot"] == [None, "a", None]
    assert list(debate.choices[-1].weight) == [1.0, 1.0, 0.0]


def test_of_turns_too_ones_own_stands_in_ones_choice() -> None:
    """`where: chosen` on turns: a and b name a, c names itself."""
    of = method({**TALK, "ballot": BALLOT}, ["answer", "ballot"], CAST)
    debate = run(of, Judged(BALLOTS))
    transcript = DebateState.of_turns(debate.turns, (0,), ("a", "b", "c"))

    def told(condition: str) -> list[str]:
        return [turn.speaker for turn in turns_where(condition, debate.turns[:3], transcript)]

    assert told("chosen >= 2 / 3") == ["a"]
    assert told("chosen > 0") == ["a", "c"]


TWO: dict[str, dict[str, Any]] = {
    **PICK,
    "again": {"role": "judge", "hears": OfRole(("debater",)), "reads": "choice"},
    "note": {"hears": OfRole(("judge",)), "reads": "comment"},
}
SCRIPT = {"pick:j1": "1|-", "pick:k1": "1+2|-", "again:j1": "3|-", "again:j2": "1|-"}


@pytest.mark.parametrize(
    ("schedule", "weight", "expected"),
    [
        (["answer", "pick", "again"], "chosen", [2 / 3, 1 / 3, 1 / 3]),  # two said 1, one 1 and 2, and one 3
        (["answer", "again", "pick"], "chosen", [2 / 3, 1 / 3, 1 / 3]),
        (["answer", "pick", "again"], "chosen(pick)", [1, 0.5, 0]),
        (["answer", "pick", "again"], "chosen(again)", [0, 0, 1]),
        (["answer", "pick", "again"], "chosen(pick, again)", [2 / 3, 1 / 3, 1 / 3]),
        (["answer", "again"], "chosen(pick)", [1, 1, 1]),  # in none of whose choices anybody stood
        (["answer", "pick", "note", "again"], "chosen", [2 / 3, 1 / 3, 1 / 3]),  # the answers stand
        (["answer", "pick", "pick", "again"], "chosen", [2 / 3, 1 / 3, 1 / 3]),  # the second time is said for the first
        (
            ["answer", "pick", "again", "revise"],
            "chosen",
            [2 / 3, 1 / 3, 1 / 3],
        ),  # nothing is said of the later answers
        (["answer", "pick", "revise", "again"], "chosen", [1, 0, 0]),  # of the later answers
        (["answer", "pick", "revise", "again"], "chosen(pick)", [1, 0.5, 0]),
    ],
)
def test_choices_of_two_steps_about_one_answer_count_together(
    schedule: list[Any], weight: str, expected: list[float]
) -> None:
    role_agents = {**CAST, "both": "j k"}
    of = method({**TALK, **TWO}, [*schedule, Choose("some", "debater", weight, ALL)], role_agents)
    assert list(run(of, Judged(SCRIPT)).choices[-1].weight) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean_score", [0.45, 0.5, 0.5]),  # of a .2 and .6 by its peers, .3 and .7 by the same a second way
        ("mean_score(review)", [0.4, 0.5, 0.5]),
        ("mean_score(probe)", [0.5, 0.5, 0.5]),
        ("mean(score)", [0.5, 0.375, 0.575]),
        ("mean(score(review))", [0.5, 0.35, 0.55]),
    ],
)
def test_reviews_of_two_steps_about_one_answer_count_together(name: str, expected: list[float]) -> None:
    """b gives a .2 and then .3, c .6 and then .7 (and each .5 to the other)."""
    steps = {**REVIEW, "probe": REVIEW["review"]}
    script = {"review:b1>a": "x|0.2", "review:c1>a": "x|0.6", "probe:b1>a": "x|0.3", "probe:c1>a": "x|0.7"}
    assert worth(name, ["answer", "review", "probe"], script, steps) == pytest.approx(expected)


def test_verdicts_of_one_step_are_asked_by_its_name() -> None:
    steps = {
        "rule": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "check": {"role": "other", "hears": OfRole(("debater",)), "reads": "verdict"},
    }
    script = {"rule:j1": "disagree|-", "check:k1": "agree|-"}
    names = ["approved", "approved(check)", "approved(rule)", "approved(rule, check)"]
    found = [worth(name, ["answer", "rule", "check"], script, steps)[0] for name in names]
    assert found == [1, 1, 0, 1]


# ---------------------------------------------------------------- edges
def test_an_edge_is_within_a_group_where_both_talk_in_it() -> None:
    steps = {"answer": {}, "talk": {"hears": Groups(2)}, "end": {"hears": Sparse("same_group", Keep("above", 0))}}
    talk, end = run(method(steps, ["answer", "talk", "end"], "a b c d e")).graphs
    assert talk.heard.sum() == 3 * 2 + 2 * 1
    assert (end.heard == talk.heard).all()


def test_the_previous_weight_is_that_of_the_same_step() -> None:
    """`argue` adds one each time to a first 1; `settle`, in between, has tenfold of its own."""
    steps = {
        "answer": {},
        "argue": {"hears": Sparse("before(weight) + 1", ALL)},
        "settle": {"hears": Sparse("before(weight) * 10", ALL)},
        "talk": {"hears": Everyone()},
    }
    loop = Repeat(3, ("argue", "talk", "settle"))
    graphs = run(method(steps, ["answer", loop], "a b")).graphs
    weights = {name: [weighed(graph)[0, 1] for graph in graphs if graph.step == name] for name in ("argue", "settle")}
    assert weights == {"argue": [2, 3, 4], "settle": [10, 100, 1000]}


def test_an_edge_keeps_its_weight_while_its_speaker_is_silent() -> None:
    """a has nothing to say in round 1, so that its edges have no weight in round 2: in round 3 they go on from 2."""
    of = method(
        {"answer": {}, "revise": {"hears": Sparse("before(weight) + 1", ALL)}}, ["answer", Repeat(3, ("revise",))]
    )
    weights = [weighed(graph) for graph in run(of, Stage({"revise:a1": silent})).graphs]
    assert [weight[0, 1] for weight in weights] == [2, pytest.approx(np.nan, nan_ok=True), 3]
    assert [weight[1, 2] for weight in weights] == [2, 3, 4]


def test_who_has_left_is_left_out_of_what_was_before() -> None:
    """b leaves after the first revision: a and c keep their edges' weight, their cosine and their participation."""
    leave = Choose("debater", "debater", "position != 2", Keep("above", 0))
    steps = {"answer": {}, "revise": {"hears": Sparse("before(weight) + similarity + 0 * participation", ALL)}}
    cosines = {("a", "b"): 0.5, ("a", "c"): 0.25, ("b", "c"): 0.75}

    def cosine(one: str, other: str) -> float:
        first, second = sorted(text.partition("|")[0].partition(":")[2][0] for text in (one, other))
        return cosines[first, second]

    debate = run(method(steps, ["answer", "revise", leave, "revise"], "a b c"), Stage({}, cosine))
    first, second = debate.graphs
    assert weighed(first)[0, 2] == pytest.approx(1.25)
    assert (second.speakers, second.listeners) == (("a", "c"), ("a", "c"))
    assert weighed(second)[0, 1] == pytest.approx(1.25 + 0.25)
    assert second.factors["similarity"] == pytest.approx(np.array([[1, 0.25], [0.25, 1]]))
    assert second.factors["participation"].tolist() == [1, 1], "what was said to b, and heard of it, is gone with it"


def test_a_number_drawn_for_an_agent_does_not_depend_on_who_else_is_there() -> None:
    of = method({"answer": {}, "revise": {"hears": Sparse("random", ALL)}}, ["answer", Repeat(2, ("revise",))])
    first, second = (weighed(graph) for graph in run(of).graphs)
    drawn = [first[0, 1], first[1, 0], first[2, 0]]
    assert len(set(drawn)) == 3
    assert all(0 <= each < 1 for each in drawn)
    assert first[0, 1] != second[0, 1], "drawn anew each time"
    fewer = weighed(run(of, ablation=Ablation(agents=("a",))).graphs[0])
    assert [fewer[0, 1], fewer[1, 0]] == [first[1, 2], first[2, 1]]


# ---------------------------------------------------------------- who took part
def test_hearing_a_role_that_debates_is_debate_and_hearing_another_is_none() -> None:
    steps = {
        "sum": {"role": "judge", "hears": OfRole(("debater",)), "reads": "summary"},
        "among": {"hears": OfRole(("debater",))},
        "outside": {"hears": OfRole(("judge",))},
    }
    assert worth("participation", ["answer", "among"], steps=steps) == [2, 2, 2]
    assert worth("participation", ["answer", "sum", "outside"], steps=steps) == [0, 0, 0]


def test_an_answer_of_some_counts_for_those_who_were_heard() -> None:
    """a alone revises: b and c speak to it, it speaks to nobody. Each spoke to 0, 1, 1 of two."""
    one = Choose("some", "debater", "position == 1", Keep("above", 0))
    steps = {"reply": {"role": "some", "hears": Everyone()}}
    assert worth("participation", ["answer", one, "reply"], steps=steps) == [0, 1, 1]
    assert worth("self_orientation", ["answer", one, "reply"], steps=steps) == [2, 1, 1]
    assert worth("times_hearing", ["answer", one, "reply"], steps=steps) == [2, 0, 0]


# ---------------------------------------------------------------- models
@pytest.mark.parametrize("lacks", [{"parameters": 7e9}, {"tokens": 2e12}])
def test_credibility_needs_both_sizes_of_every_model(lacks: dict[str, float]) -> None:
    """Where one is missing, a weight that names it is refused, and the record of any other shows none."""
    whole = Agent("a", Model("a", "fake/model", parameters=7e9, tokens=2e12))
    team = (whole, Agent("b", Model("b", "fake/model", **lacks)))  # type: ignore[arg-type]
    of = method({"answer": {}, "revise": {"hears": Sparse("confidence", ALL)}}, ["answer", "revise"])
    assert "credibility" not in run(dataclasses.replace(of, role_agents={"debater": team})).graphs[0].factors
    found = run(dataclasses.replace(of, role_agents={"debater": (whole, dataclasses.replace(whole, name="b"))}))
    assert found.graphs[0].factors["credibility"] == pytest.approx(list(formulas.credibility([7e9], [2e12])) * 2)


# ---------------------------------------------------------------- a similarity that is asked for
def asked(script: dict[str, Any]) -> Debate:
    """Two judges say of each pair how alike it is; one of them says so of all three at once, too."""
    steps = {
        "answer": {},
        "all": {"role": "one", "hears": OfRole(("debater",)), "reads": "similarity"},
        "compare": {"role": "both", "hears": OfRole(("debater",)), "each": "pair", "reads": "similarity"},
        "revise": {"hears": Sparse("similarity", ALL)},
    }
    role_agents = {"debater": "a b c", "one": "j", "both": "j k"}
    return run(method(steps, ["answer", "all", "compare", "revise"], role_agents, similarity="asked"), Stage(script))


def test_a_pair_that_two_were_asked_about_is_as_alike_as_they_say_on_average() -> None:
    """(.2 + .6) / 2; of a and c one could be read; of b and c none, which has the mean of the others, .55."""
    script = {
        "compare:j1>aandb": "x|0.2", "compare:k1>aandb": "x|0.6",
        "compare:j1>aandc": "x|0.7", "compare:k1>aandc": "-|-",
        "compare:j1>bandc": "-|-", "compare:k1>bandc": "-|-",
        "all:j1": "x|0.9",
    }  # fmt: skip
    found = asked(script).graphs[-1].factors["similarity"]
    assert found == pytest.approx(np.array([[1, 0.4, 0.7], [0.4, 1, 0.55], [0.7, 0.55, 1]]))


@pytest.mark.parametrize("embedding", ["Alibaba/gte", "asked-of-a-model", "ngram"])
def test_any_other_similarity_is_one_of_texts(embedding: str) -> None:
    """Also one whose name stands before or after `asked` in the alphabet."""
    of = method(
        {"answer": {}, "revise": {"hears": Sparse("similarity", ALL)}}, ["answer", "revise"], similarity=embedding
    )
    stage = Stage({}, lambda one, other: 0.25)
    assert weighed(run(of, stage).graphs[0])[0, 1] == 0.25
