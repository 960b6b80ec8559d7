"""What a speaker sees: views of scripted debates, and text that notes when it is written."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cortexdsl.core import (
    Call,
    Choose,
    Everyone,
    Groups,
    Keep,
    Message,
    Method,
    OfRole,
    Reading,
    Repeat,
    Reply,
    Self,
    Sparse,
    TurnFilter,
)
from cortexdsl.engine.tracked_text import TrackedText
from tests.engine.stage import QUESTION, Stage, StagedReader, label, method, run


def views(of: Method, script: Mapping[str, str] | None = None) -> Mapping[str, Mapping[str, Any]]:
    """The variables of every prompt, by label."""
    stage = Stage(script or {})
    run(of, stage)
    return stage.views


def revising(**words: Any) -> Method:
    """An opening, and two rounds in which all hear all."""
    steps = {"answer": {}, "revise": {"hears": Everyone(), **words}}
    return method(steps, ["answer", Repeat(2, ("revise",))])


def lines(of: Method, label: str) -> str:
    """`turns heard | own turns` of one prompt."""
    stage = Stage()
    run(of, stage)
    return next(line for line in stage.trace() if line.startswith(label)).removeprefix(label).strip()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({}, "<- revise:b1 revise:c1"),
        ({"shows": ("all",)}, "<- answer:b0 answer:c0 revise:b1 revise:c1"),
        ({"shows": ("by_answer",)}, "<- revise:b1 revise:c1"),
        ({"shows": ("last", "evidence")}, "<- revise:b1 revise:c1"),
        ({"shows": ("evidence",)}, ""),
        ({"memory": "last"}, "<- revise:b1 revise:c1 | revise:a1"),
        ({"memory": "all"}, "<- revise:b1 revise:c1 | answer:a0 answer:b0 answer:c0 revise:a1"),
        ({"shows": ("all",), "memory": "all"}, "<- answer:b0 answer:c0 revise:b1 revise:c1 | answer:a0 revise:a1"),
        ({"hears": Self()}, "<- revise:a1"),
    ],
    ids=str,
)
def test_how_far_back_others_and_oneself_are_seen(words: dict[str, Any], expected: str) -> None:
    assert lines(revising(**words), "revise:a2") == expected


def test_one_after_the_other_hears_who_spoke_before_in_the_step() -> None:
    """b hears a's new words and c's old ones."""
    of = revising(order="sequential")
    assert [lines(of, f"revise:{name}1") for name in "abc"] == [
        "<- answer:b0 answer:c0",
        "<- revise:a1 answer:c0",
        "<- revise:a1 revise:b1",
    ]


def test_what_a_heard_turn_looks_like() -> None:
    """Whole but for its confidence line; its recalibrated confidence is a variable of its own."""
    seen = views(revising(), {"answer:b0": "41|0.9"})["revise:a1"]
    assert seen["heard"][0] == {
        "speaker": "b",
        "turn": 2,
        "number": 2,
        "is_mine": False,
        "round": 0,
        "reads": "answer",
        "text": "answer:b0|41",
        "answer": "41",
        "confidence": 0.9,
        "weight": None,
        "trust": None,
        "about": None,
        "is_own_group": False,
    }
    assert (seen["question"], seen["round"], seen["about"], seen["by_answer"], seen["evidence"]) == (
        QUESTION,
        1,
        None,
        [],
        [],
    )
    assert seen["agent"] == {"name": "a", "number": 1, "persona": None, "vars": {}}


def test_answers_alone_may_be_passed() -> None:
    """An unreadable one is said to be so, and never guessed."""
    steps = {"answer": {}, "revise": {"hears": Everyone()}}
    of = method(steps, ["answer", "revise"], quote="answer")
    seen = views(of, {"answer:b0": "41|0.9", "answer:c0": "-|0.9"})["revise:a1"]
    assert [turn["text"] for turn in seen["heard"]] == ["41", "(no readable answer)"]


def test_no_prompt_holds_a_confidence_line() -> None:
    """Neither another's nor one's own: the staged reader puts it after the last bar."""
    stage = Stage({f"answer:{name}0": "41|0.987" for name in "abc"})
    run(revising(memory="all", shows=("all",)), stage)
    assert not any("0.987" in prompt for prompt in stage.prompts())


def test_by_answer_groups_those_heard_the_most_supported_first() -> None:
    """c and d say 42, b says 41: 42 comes first with both; a's own answer is not among them."""
    of = method(
        {"answer": {}, "revise": {"hears": Everyone(), "shows": ("by_answer",)}}, ["answer", "revise"], "a b c d"
    )
    seen = views(of, {"answer:b0": "41|0.5", "answer:a0": "41|0.5"})
    grouped = [
        (group["answer"], [turn["speaker"] for turn in group["turns"]]) for group in seen["revise:a1"]["by_answer"]
    ]
    assert grouped == [("42", ["c", "d"]), ("41", ["b"])]
    grouped = [
        (group["answer"], [turn["speaker"] for turn in group["turns"]]) for group in seen["revise:c1"]["by_answer"]
    ]
    assert grouped == [("41", ["a", "b"]), ("42", ["d"])]


def test_material_is_a_variable_of_its_step_alone() -> None:
    of = method(
        {"answer": {"material": {"example": "2 + 2 = 4"}}, "revise": {"hears": Everyone()}}, ["answer", "revise"]
    )
    seen = views(of)
    assert seen["answer:a0"]["example"] == "2 + 2 = 4"
    assert "example" not in seen["revise:a1"]


REVIEWS = {
    "answer": {},
    "review": {"hears": Everyone(), "each": "edge", "reads": "review"},
    "revise": {"hears": Everyone(), "shows": ("about_me",), "memory": "last"},
}


def test_reviews_reach_those_they_are_about_and_nobody_else() -> None:
    stage = Stage({"review:b1>a": "poor|0.2"})
    run(method(REVIEWS, ["answer", Repeat(2, ("review", "revise"))]), stage)
    trace = stage.trace()
    assert trace[3] == "review:a1>b <- answer:b0"
    assert trace[9] == "revise:a1 <- review:b1>a review:c1>a | answer:a0"
    # a review of the second round is of the new answer, and no review is ever heard as talk
    assert trace[12] == "review:a2>b <- revise:b1"
    assert trace[18] == "revise:a2 <- review:b2>a review:c2>a | revise:a1"
    heard = stage.views["revise:a1"]["heard"][0]
    assert (heard["speaker"], heard["about"], heard["answer"], heard["confidence"]) == ("b", "a", "poor", 0.2)
    assert stage.views["review:a1>b"]["about"] == "b"


def test_all_that_was_said_about_one_may_be_remembered() -> None:
    """A conversation is kept whole: one's answers, and the reviews that one was shown when giving them."""
    steps = {**REVIEWS, "revise": {"hears": Everyone(), "shows": ("about_me",), "memory": "all"}}
    of = method(steps, ["answer", Repeat(2, ("review", "revise"))], "a b")
    assert lines(of, "revise:a2") == "<- review:b2>a | answer:a0 review:b1>a revise:a1"


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        (("last", "about_me"), "<- answer:b0 review:b1>a answer:c0 review:c1>a | answer:a0"),
        (("about_me", "last"), "<- answer:b0 review:b1>a answer:c0 review:c1>a | answer:a0"),
        (("all", "about_me"), "<- answer:b0 answer:c0 review:b1>a review:c1>a | answer:a0"),
    ],
)
def test_a_list_tells_all_that_its_words_say(shows: tuple[str, ...], expected: str) -> None:
    """Others' solutions, and their reviews of one's own: neither drops the other."""
    steps = {**REVIEWS, "revise": {"hears": Everyone(), "shows": shows, "memory": "last"}}
    assert lines(method(steps, ["answer", "review", "revise"]), "revise:a1") == expected


def test_an_agent_keeps_its_number_whoever_listens() -> None:
    """Numbers are places among those who debate, not places in a prompt; an extra role has none."""
    steps = {
        "answer": {},
        "sum": {"role": "summarizer", "hears": OfRole(("debater",)), "reads": "summary"},
        "revise": {"hears": OfRole(("debater", "summarizer")), "shows": ("all",), "memory": "all"},
    }
    seen = views(method(steps, ["answer", Repeat(2, ("sum", "revise"))], {"debater": "a b c", "summarizer": "s"}))
    for name in "abc":
        talk = seen[f"revise:{name}2"]["talk"]
        assert {turn["speaker"]: turn["number"] for turn in talk} == {"a": 1, "b": 2, "c": 3, "s": None}
        assert [turn["round"] for turn in talk] == [0, 0, 0, 1, 1, 1, 1, 2]
        assert {turn["speaker"] for turn in talk if turn["is_mine"]} == {name}


class Choosy(Stage):
    """A stage whose prompts show some of what is heard, as a template with a condition does."""

    def __init__(self, shows: Any) -> None:
        super().__init__({"answer:b0": "41|0.5"})
        self.shows = shows

    def render(self, prompt: str, view: Mapping[str, Any]) -> tuple[Message, ...]:
        said = self.shows(view) if prompt == "revise" else ""
        return ({"role": "user", "content": f"{label(prompt, view['agent']['name'], view['round'])}\n{said}"},)


@pytest.mark.parametrize(
    ("shows", "expected"),
    [
        (lambda view: "", []),
        (lambda view: [turn["text"] for turn in view["heard"] if turn["answer"] != "42"], [1]),
        (lambda view: view["heard"][1]["text"][:4].upper() + "...", [2]),
        (lambda view: "they say " + view["heard"][0]["text"], [1]),
        (lambda view: "{:>4}".format(view["heard"][0]["answer"]), [1]),
        (lambda view: f"{len(view['heard'][0]['text'])} letters", []),
        (lambda view: "".join(str(turn["text"]) for turn in view["heard"]), [1, 2]),
    ],
)
def test_heard_is_what_the_prompt_showed(shows: Any, expected: list[int]) -> None:
    """b alone differs from a: a prompt that shows a those who differ has shown b, and the record says so."""
    debate = run(method({"answer": {}, "revise": {"hears": Everyone()}}, ["answer", "revise"]), Choosy(shows))
    assert list(debate.turns[3].heard) == expected
    assert [k for k, kept in enumerate(debate.graphs[0].heard[:, 0]) if kept] == expected


def test_a_shown_answer_of_a_group_shows_all_who_gave_it() -> None:
    steps = {"answer": {}, "revise": {"hears": Everyone(), "shows": ("by_answer",)}}
    debate = run(method(steps, ["answer", "revise"]), Choosy(lambda view: str(view["by_answer"][0]["answer"])))
    assert debate.turns[4].heard == (0, 2)  # b is shown "42", which a and c say


def test_verdicts_and_selections_are_heard_by_nobody() -> None:
    steps = {
        "answer": {},
        "select": {"reads": "selection", "memory": "last"},
        "judge": {"role": "judge", "hears": OfRole(("debater",)), "reads": "verdict"},
        "revise": {"hears": Everyone(), "shows": ("all",), "memory": "all"},
        "listen": {"hears": OfRole(("judge",)), "shows": ("all",)},
    }
    of = method(steps, ["answer", "select", "judge", "revise", "listen"], {"debater": "a b", "judge": "j"})
    stage = Stage()
    run(of, stage)
    assert stage.trace() == [
        "answer:a0",
        "answer:b0",
        "select:a1 | answer:a0",
        "select:b1 | answer:b0",
        "judge:j1 <- answer:a0 answer:b0",
        "revise:a1 <- answer:b0 | answer:a0",
        "revise:b1 <- answer:a0 | answer:b0",
        "listen:a2",
        "listen:b2",
    ]


POOL = ("first", "second", "third")


def evidence(selection: str, own_pool: tuple[str, ...] = POOL) -> list[str]:
    """What a is shown after it selected from three passages."""
    steps = {
        "select": {"reads": "selection", "material": {"pool": POOL}},
        "answer": {"shows": ("evidence",), "material": {"pool": own_pool}},
    }
    shown: list[str] = views(method(steps, ["select", "answer"]), {"select:a0": selection})["answer:a0"]["evidence"]
    return shown


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ("1,3|-", ["first", "third"]),
        ("3, 1|-", ["third", "first"]),
        ("|-", []),  # none was chosen
        ("-|-", []),  # none could be read: none is guessed
        ("0,2,4,99|-", ["second"]),  # numbers that are no passage
        ("²,x,2|-", ["second"]),
    ],
)
def test_evidence_is_what_a_speaker_selected(selection: str, expected: list[str]) -> None:
    assert evidence(selection) == expected


def test_numbers_count_in_the_pool_that_was_shown_for_selection() -> None:
    assert evidence("2|-", own_pool=()) == ["second"]


def test_evidence_is_the_whole_pool_where_nobody_selects() -> None:
    of = method({"answer": {"shows": ("evidence",), "material": {"pool": POOL}}}, ["answer"])
    assert views(of)["answer:a0"]["evidence"] == ["first", "second", "third"]


def test_each_selects_for_itself_and_the_last_selection_counts() -> None:
    steps = {
        "select": {"reads": "selection", "material": {"pool": POOL}},
        "answer": {"shows": ("evidence",)},
    }
    script = {"select:a0": "1|-", "select:b0": "2|-", "select:c0": "3|-", "select:a1": "2,3|-"}
    seen = views(method(steps, [Repeat(2, ("select", "answer"))]), script)
    assert [seen[f"answer:{name}0"]["evidence"] for name in "abc"] == [["first"], ["second"], ["third"]]
    assert seen["answer:a1"]["evidence"] == ["second", "third"]


def test_a_group_knows_its_own_summary() -> None:
    """Each of four in two groups hears both summaries, one of which is its own group's."""
    steps = {
        "answer": {},
        "summarize": {"role": "summarizer", "hears": Groups(2), "each": "group", "reads": "summary"},
        "share": {"hears": OfRole(("summarizer",))},
    }
    of = method(steps, ["answer", "summarize", "share"], {"debater": "a b c d", "summarizer": "s"})
    stage = Stage()
    run(of, stage)
    for name in "abcd":
        heard = stage.views[f"share:{name}1"]["heard"]
        assert [turn["about"] for turn in heard] == ["group 1", "group 2"]
        own = next(turn["about"] for turn in heard if turn["is_own_group"])
        members = next(line for line in stage.trace() if line.startswith(f"summarize:s1>{own.replace(' ', '')}"))
        assert f"answer:{name}0" in members
        assert sum(turn["is_own_group"] for turn in heard) == 1


def test_several_draws_are_all_heard() -> None:
    """Two independent replies to one prompt: a listener hears both, in order."""
    of = method({"answer": {"samples": 2}, "revise": {"hears": Everyone()}}, ["answer", "revise"], "a b")
    assert lines(of, "revise:a1") == "<- answer:b0 answer:b0"


def test_a_turn_records_exactly_what_its_prompt_held() -> None:
    """The numbers of `heard` and `recalled` name the turns whose texts are in the prompt."""
    stage = Stage()
    debate = run(method(REVIEWS, ["answer", Repeat(2, ("review", "revise"))]), stage)
    for turn, prompt in zip(debate.turns, stage.prompts(), strict=True):
        texts = [f"heard {debate.turns[k].text.rpartition('|')[0]}" for k in turn.heard]
        texts += [f"own {debate.turns[k].text.rpartition('|')[0]}" for k in turn.recalled]
        assert prompt.splitlines()[1:] == texts


def thinking(call: Call) -> Reply:
    mine = call.messages[0]["content"].splitlines()[0]
    return Reply(f"key-{mine}", f"{mine}|42|0.5", "stop", 10, 10, reasoning=f"thought of {mine}", reasoning_tokens=4)


@pytest.mark.parametrize(
    ("quote", "heard"),
    [("whole", "answer:b0|42"), ("answer", "42")],
)
def test_what_a_model_thought_never_reaches_others(quote: Any, heard: str) -> None:
    steps: dict[str, Any] = {"answer": {}, "revise": {"hears": Everyone()}}
    stage = Stage({label("answer", "b", 0): thinking})
    debate = run(method(steps, ["answer", "revise"], quote=quote), stage)
    assert next(t["text"] for t in stage.views["revise:a1"]["heard"] if t["speaker"] == "b") == heard
    assert [(t.reasoning, t.reasoning_tokens) for t in debate.turns if t.reasoning] == [("thought of answer:b0", 4)]


def test_a_reply_that_its_model_did_not_end_says_how_it_ended() -> None:
    def ending(how: str | None) -> Any:
        return lambda call: Reply("key", "answer|42|0.5", how, 10, 10)

    ends = {label("answer", "b", 0): "length", label("answer", "c", 0): "tool_calls", label("revise", "a", 1): None}
    debate = run(revising(), Stage({mine: ending(how) for mine, how in ends.items()}))
    assert [turn.ended for turn in debate.turns[:4]] == [None, "length", "tool_calls", None]


def test_trust_is_a_share_of_what_is_positive() -> None:
    """Of weights 1 and -1 the first is all trust that there is; of -1 and -2 there is none to share."""
    steps = {"answer": {}, "revise": {"hears": Sparse("2 - position", Keep("all"))}}
    seen = views(method(steps, ["answer", "revise"], "a b c d"))
    trust = {name: [turn["trust"] for turn in seen[f"revise:{name}1"]["heard"]] for name in "abc"}
    assert trust == {"a": [None, None, None], "b": [1.0, 0.0, 0.0], "c": [1.0, 0.0, 0.0]}
    assert [turn["weight"] for turn in seen["revise:c1"]["heard"]] == [1.0, 0.0, -2.0]


def test_a_summary_is_passed_whole_where_answers_are_passed_alone() -> None:
    steps = {
        "answer": {},
        "sum": {"role": "summarizer", "hears": OfRole(("debater",)), "reads": "summary"},
        "revise": {"hears": OfRole(("debater", "summarizer"))},
    }
    of = method(steps, ["answer", "sum", "revise"], {"debater": "a b", "summarizer": "s"}, quote="answer")
    heard = views(of, {"sum:s1": "all say so|0.5"})["revise:a1"]["heard"]
    assert [turn["text"] for turn in heard] == ["42", "sum:s1|all say so"]


def test_an_empty_reply_is_heard_by_nobody_whatever_was_thought() -> None:
    """Nor is it one that answers alone would speak of."""

    def blank(call: Call) -> Reply:
        return Reply("key", "  ", "stop", 10, 10, reasoning="I wonder")

    class Lenient(StagedReader):
        def read(self, reads: Any, text: str) -> Reading:
            return super().read(reads, text) if text.strip() else Reading(None, "empty")

    class Forgiving(Stage):
        def ports(self) -> Any:
            return dataclasses.replace(super().ports(), reader=Lenient())

    steps: dict[str, Any] = {"answer": {}, "revise": {"hears": Everyone(), "memory": "last"}}
    for quote in ("whole", "answer"):
        stage = Forgiving({"answer:b0": blank})
        run(method(steps, ["answer", "revise"], "a b", quote=quote), stage)
        assert [len(stage.views[f"revise:{name}1"]["heard"]) for name in "ab"] == [0, 1]
        assert [len(stage.views[f"revise:{name}1"]["own"]) for name in "ab"] == [1, 0]


def test_the_last_two_of_oneself_and_all_about_one() -> None:
    """What one remembers may be named as what one is told: b's reviews of the last two rounds, of whatever kind."""
    steps = {**REVIEWS, "revise": {"memory": TurnFilter(last=2)}}
    assert lines(method(steps, ["answer", *["review", "revise"] * 3]), "revise:a3") == "| revise:a1 revise:a2"
    mine = {**REVIEWS, "review": {**REVIEWS["review"], "memory": TurnFilter(about_me=True, last=2)}}
    of = method(mine, ["answer", *["review", "revise"] * 3])
    assert lines(of, "review:a3>b") == "<- revise:b2 | review:a1>b review:a2>b"
    told = {**REVIEWS, "revise": {"hears": Everyone(), "shows": (TurnFilter(about_me=True, last=2),)}}
    of = method(told, ["answer", *["review", "revise"] * 3], "a b")
    assert lines(of, "revise:a3") == "<- review:b2>a review:b3>a"


def test_a_number_of_a_passage_that_is_just_outside_the_pool_is_none() -> None:
    assert evidence("0|-") == []
    assert evidence("1|-") == ["first"]
    assert evidence("3|-") == ["third"]
    assert evidence("4|-") == []


def test_three_summaries_know_whose_group_is_whose() -> None:
    steps = {
        "answer": {},
        "summarize": {"role": "summarizer", "hears": Groups(3), "each": "group", "reads": "summary"},
        "share": {"hears": OfRole(("summarizer",))},
    }
    stage = Stage()
    debate = run(method(steps, ["answer", "summarize", "share"], {"debater": "a b c", "summarizer": "s"}), stage)
    for turn in (turn for turn in debate.turns if turn.step == "summarize"):
        (member,) = (debate.turns[k].speaker for k in turn.heard)
        heard = stage.views[f"share:{member}1"]["heard"]
        assert [each["about"] for each in heard if each["is_own_group"]] == [turn.about]


def test_everybody_has_a_number_debaters_among_themselves_and_others_in_their_role() -> None:
    """a and b debate; x, y and a are experts: a keeps its number as a debater, y is the second expert all along."""
    steps = {"answer": {}, "advise": {"role": "expert", "hears": OfRole(("debater",)), "reads": "comment"}}
    role_agents = {"expert": "x y a", "debater": "a b", "judge": "j"}
    seen = views(method(steps, ["answer", Repeat(2, ("advise", "answer"))], role_agents))
    numbers = {(label.partition(":")[2][0], view["agent"]["number"]) for label, view in seen.items()}
    assert numbers == {("a", 1), ("b", 2), ("x", 1), ("y", 2)}
    assert [turn["number"] for turn in seen["answer:b1"]["heard"]] == []


def test_a_number_outlives_a_choice() -> None:
    """Of three proposers the last is chosen to conclude, and stays the third."""
    steps = {"answer": {}, "propose": {"role": "proposer"}, "end": {"role": "concluding"}}
    role_agents = {"debater": "a", "proposer": "x y z", "concluding": "x y z"}
    chosen = Choose("concluding", "debater", "1", Keep("all"))
    seen = views(method(steps, ["answer", "propose", chosen, "end"], role_agents, voters=("debater",)))
    assert {name: view["agent"]["number"] for name, view in seen.items()} == {
        "answer:a0": 1, "propose:x1": 1, "propose:y1": 2, "propose:z1": 3, "end:a1": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        (str, "a b"), (repr, "'a b'"), (lambda w: f"{w:>5}", "  a b"), (lambda w: "say " + w + "!", "say a b!"),
        (lambda w: w[2:], "b"), (lambda w: w * 2, "a ba b"), (lambda w: 2 * w, "a ba b"),
        (lambda w: w.upper(), "A B"), (lambda w: w.replace("a", "c"), "c b"), (lambda w: w.split()[1], "b"),
        (lambda w: w.splitlines()[0], "a b"), (lambda w: w.rsplit(" ", 1)[0], "a"), (lambda w: w.strip("a "), "b"),
    ],
)  # fmt: skip
def test_what_was_made_from_words_notes_that_it_is_written(use: Callable[[TrackedText], Any], expected: str) -> None:
    seen: list[bool] = []
    made = use(TrackedText("a b", lambda: seen.append(True)))
    assert str(made) == expected
    assert seen


@pytest.mark.parametrize(
    "use", [len, lambda w: w == "a b", lambda w: "a" in w, lambda w: w.find("b"), lambda w: w.startswith("a"), bool]
)
def test_looking_at_words_is_no_showing(use: Callable[[TrackedText], Any]) -> None:
    seen: list[bool] = []
    assert use(TrackedText("a b", lambda: seen.append(True)))
    assert not seen
