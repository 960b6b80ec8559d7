"""A protocol explained, and the counts that it fixes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from cortexdsl.core import (
    Cell,
    Choose,
    Decide,
    Everyone,
    Groups,
    Keep,
    Method,
    Model,
    OfRole,
    Repeat,
    Ring,
    SchedulePart,
    Sparse,
    Topology,
    TurnFilter,
)
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import builtin_names, load_protocol, protocol_of
from cortexdsl.language.reader import parse
from cortexdsl.plan.record import PlanRecord, parse_plan
from cortexdsl.plan.rehearsal.explain import LEGEND, explain, fixed_counts, method_values, rehearse_example
from cortexdsl.templates.templates import Templates
from tests.engine.stage import agents, method
from tests.plan import specs

MET = Keep("above", 0.0)
STEPS = {
    "first": {"role": "initial"},
    "answer": {"role": "others", "hears": OfRole(("initial",))},
    "revise": {"hears": Everyone()},
}
CAST = {"debater": "a b c", "initial": "a b c", "others": "a b c"}


def when_needed(*before: SchedulePart) -> Method:
    """One begins; the others join where it is not sure; all debate once."""
    join: list[SchedulePart] = [Choose("others", "debater", "position > 1", MET), "answer", "revise"]
    schedule = [*before, Choose("initial", "debater", "position == 1", MET), "first"]
    return method(STEPS, [*schedule, Repeat(1, tuple(join), unless="any(confidence > 0.9)")], CAST,
                  voters=("debater",))  # fmt: skip


def test_a_choice_by_place_is_made_as_in_a_debate() -> None:
    """One opens, two join, three revise: six calls, where all in every step would be nine."""
    said = explain(when_needed())
    assert "calls: 6 at most (fewer if a loop ends early)" in said
    assert [turn.speaker for turn in rehearse_example(when_needed()).turns] == ["a", "b", "c", "a", "b", "c"]
    lines = [line.strip() for line in said.splitlines()]
    assert "round 0, first (silent: b, c): a, alone" in lines
    assert "round 1, answer (silent: a)" in lines
    assert "round 2, revise    1 2 3" in lines


def test_who_hears_whom_is_a_matrix() -> None:
    """A ring: each hears its neighbours, a judge all, and later executions that are alike are drawn once."""
    steps = {
        "answer": {},
        "revise": {"hears": Ring(1), "memory": "last"},
        "judge": {"role": "judge", "hears": OfRole(("debater",))},
    }
    of = method(
        steps, ["answer", Repeat(2, ("revise",)), "judge"], {"debater": "a b c d", "judge": "j"}, voters=("debater",)
    )
    assert explain(of).partition(LEGEND + "\n")[2].splitlines() == [
        "round 0, answer: a, b, c, d, each alone",
        "round 1, revise    1 2 3 4 5",
        "  1 a              o # . # .",
        "  2 b              # o # . .",
        "  3 c              . # o # .",
        "  4 d              # . # o .",
        "round 2, revise: as in round 1, revise",
        "round 3, judge    1 2 3 4 5",
        "  5 j             # # # # .",
    ]


def test_a_choice_by_what_is_said_silences_nobody() -> None:
    """Who is sure cannot be known before: all speak, and the text says that there may be fewer."""
    unsure = Choose("others", "debater", "confidence < 0.5", MET)
    said = explain(method(STEPS, ["first", unsure, "answer"], CAST, voters=("debater",)))
    assert "calls: 6 at most (fewer if fewer agents are chosen)" in said
    assert "silent" not in said.split("who hears whom")[1]
    assert "- {choose: others, from: debater, where: confidence < 0.5}" in said


def test_places_are_not_known_once_somebody_may_have_left() -> None:
    """Were a gone, b would be the first and c the second: then one joins and not two. At most, nobody has left."""
    leave = Choose("debater", "debater", "random < 0.5", MET)
    steps = STEPS | {"first": {"role": "debater"}, "answer": {"role": "others"}}
    schedule: list[SchedulePart] = ["first", leave, Choose("others", "debater", "position == n_agents", MET), "answer"]
    staged = method(steps, schedule, CAST, voters=("debater",))
    assert "calls: 6 at most" in explain(staged)


def test_a_last_choice_silences_nobody() -> None:
    """Who counts is chosen when all is said."""
    best = Choose("debater", "debater", "confidence", Keep("top", 1))
    assert "calls: 3 at most\n" in explain(method({"answer": {}}, ["answer", best]))
    assert "fewer agents are chosen" in explain(method({"answer": {}}, ["answer", best, "answer"]))
    assert "fewer agents are chosen" in explain(method({"answer": {}}, [Repeat(2, ("answer", best))]))


def test_a_choice_of_everybody_silences_nobody() -> None:
    everybody = Choose("debater", "debater", "confidence", Keep("all"))
    said = explain(method({"answer": {}}, ["answer", everybody, "answer"]))
    assert "calls: 6 at most" in said.splitlines()


def test_who_weighs_alike_is_kept_together() -> None:
    """Three who are equally sure are all the surest one, so that all may speak again; of three by chance one does."""
    for weight, calls in (("confidence", 6), ("confidence + random / 1000", 4)):
        best = Choose("debater", "debater", weight, Keep("top", 1))
        assert f"calls: {calls} at most" in explain(method({"answer": {}}, ["answer", best, "answer"]))


def test_a_role_that_is_heard_alone_silences_nobody() -> None:
    """The best are chosen to be heard; all speak."""
    best = Choose("initial", "debater", "confidence", Keep("top", 1))
    steps = {"open": {}, "answer": {"hears": OfRole(("initial",))}}
    staged = method(steps, ["open", best, "answer"], {"debater": "a b c", "initial": "a b c"})
    assert "calls: 6 at most" in explain(staged).splitlines()


def shipped(name: str) -> list[str]:
    """Each line that `explain` says of a built-in protocol with four agents."""
    of = resolve(load_protocol(name), MethodChoice("methods.tried", parse("{}", "tried.yaml"), agents("a b c d")))
    return [line.strip() for line in explain(of).splitlines()]


def test_a_draw_from_a_pool_names_who_is_not_drawn() -> None:
    """Three of four debate in each of three rounds, whoever they are: nine calls, never fewer."""
    said = shipped("heter-mad")
    assert "weight: random" in said
    assert "keep: {top: 3}" in said
    assert "calls: 9 at most" in said
    (opening,) = (line for line in said if line.startswith("round 0, answer"))
    assert opening.startswith("round 0, answer (not in the debate: ")


def test_agents_that_take_over_an_answer_hear_only_what_they_repeat(repository: Path) -> None:
    """No made-up answers agree, so a follower repeats its own; its template reads the texts of no others."""
    said = shipped("follower")
    assert "- {choose: follower, from: debater, where: random < 0.3}" in said
    assert "calls: 16 at most" in said
    assert "follower: {say: follower/follow.j2}" in said


def test_turns_that_a_template_leaves_out_are_not_heard(tmp_path: Path) -> None:
    """By the templates themselves; without them, all that a step tells."""
    (tmp_path / "revise.j2").write_text("{{ question.text }} {{ heard[0].text }} {{ answer_format }}")
    steps = {"answer": {"prompt": "common/answer.j2"}, "revise": {"prompt": "revise.j2", "hears": Everyone()}}
    of = method(steps, ["answer", "revise"])
    assert explain(of).splitlines()[-1].split() == ["3", "c", "#", "#", "."]
    assert explain(of, templates=Templates([tmp_path])).splitlines()[-1].split() == ["3", "c", "#", ".", "."]


def test_a_vote_is_shown_with_its_fallback() -> None:
    assert "\ndecide: majority\n" in explain(method({"answer": {}}, ["answer"]))
    said = explain(method({"answer": {}}, ["answer"], decide=Decide("majority", tie="none")))
    assert "\ndecide: [majority, none]\n" in said


@pytest.mark.parametrize(
    ("hears", "value"),
    [
        (Everyone(), "everyone"),
        (OfRole(("judge",)), ["judge"]),
        (Ring(2), {"ring": 2}),
        (Groups(2), {"groups": 2}),
        (Groups(2, (3, 1)), {"groups": {"count": 2, "sizes": [3, 1]}}),
        (Sparse("differs", MET, Groups(2)), {"where": "differs", "topology": {"groups": 2}}),
        (Sparse("confidence", Keep("mean")), {"weight": "confidence", "keep": "mean"}),
        (Sparse("confidence", Keep("top", 1)), {"weight": "confidence", "keep": {"top": 1}}),
        (Sparse("(2) * before(weight)", Keep("above", 0.7)), {"weight": "2 * before(weight)", "keep": {"above": 0.7}}),
    ],
)
def test_a_topology_is_shown_in_words_of_the_language(hears: Topology, value: object) -> None:
    values = method_values(method({"answer": {}, "revise": {"hears": hears}}, ["answer", "revise"], "a b c d"))
    assert values["steps"]["revise"].get("hears") == value


def test_loops_that_do_not_run_are_not_shown() -> None:
    """Settings make them: `group` with one round of discussion has a loop of none around the others."""
    schedule: tuple[SchedulePart, ...] = (
        "answer",
        Repeat(0, ("revise",)),
        Repeat(2, ("revise", Repeat(0, ("answer",)))),
    )
    choice = MethodChoice("methods.tried", parse("{}", "tried.yaml"), agents("a b c d"))
    shown = method_values(replace(resolve(load_protocol("group"), choice), schedule=schedule))
    assert shown["schedule"] == ["answer", {"repeat": 2, "do": ["revise"]}]
    assert "repeat: 0" not in explain(resolve(load_protocol("group"), choice))


def test_what_a_step_reads_beside_and_tells_is_shown() -> None:
    told = (TurnFilter(("first",), last=None, where="confidence > (0.5)"),)
    steps = {"first": {}, "second": {"hears": Everyone(), "shows": told, "beside": ("verdict",)}}
    second = method_values(method(steps, ["first", "second"]))["steps"]["second"]
    assert second["shows"] == [{"step": ["first"], "last": "all", "where": "confidence > 0.5"}]
    assert second["reads"] == ["answer", "verdict"]


@pytest.mark.parametrize("name", builtin_names())
def test_every_built_in_protocol_is_shown_as_yaml(name: str) -> None:
    tools = {"library": Model("library", "tool/search")}
    choice = MethodChoice("methods.tried", parse("{}", "tried.yaml"), agents("a b c d", parameters=7e9, tokens=2e12),
                          tools=tools)  # fmt: skip
    of = resolve(load_protocol(name), choice)
    text, _, graph = explain(of, templates=Templates()).partition("\ncalls: ")
    assert yaml.safe_load(text)["steps"].keys() == of.steps.keys()
    assert "who hears whom" in graph


FIXED_STEPS = {"answer": {}, "revise": {"hears": Everyone()}}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cell:
    return specs.plan(tmp_path_factory.mktemp("fixed")).cells[0]


def test_a_loop_that_never_ends_early_has_one_number_of_rounds_and_calls(cell: Cell) -> None:
    """Three answer, then three revise twice: two rounds after the opening, nine calls, three one after another."""
    for loop, expected in (
        (Repeat(2, ("revise",)), {"rounds": 2.0, "calls": 9.0, "depth": 3.0}),
        (Repeat(2, ("revise",), until="consensus"), {}),
        (Repeat(2, ("revise",), unless="agreement > 0.9"), {}),
    ):
        debate = method(FIXED_STEPS, ["answer", loop], {"debater": "a b c"})
        assert fixed_counts(replace(cell, debate=debate, match=None)) == expected


def test_draws_matched_to_another_cell_are_not_fixed(tmp_path: Path) -> None:
    """How many draws there are follows from what the other cell's records hold."""
    found = {cell.name: fixed_counts(cell) for cell in specs.plan(tmp_path).cells}
    assert found["matched"] == {}


def test_records_of_earlier_plans_fix_nothing() -> None:
    record = {"cells": [{"cell": "a"}, {"cell": "b", "fixed": {}}, {"cell": "c", "fixed": {"rounds": 2.0}}]}
    assert parse_plan(record).fixed == {"c": {"rounds": 2.0}}
    assert parse_plan(json.loads(json.dumps(record))).fixed == {"c": {"rounds": 2.0}}
    assert PlanRecord().fixed == {}


_NORMALIZED = ("dylan", "follower", "group")
"""Their expressions are printed without needless parentheses, or a loop of no rounds is left out."""


@pytest.mark.parametrize("name", [name for name in builtin_names() if name != "comm"])
def test_what_is_printed_is_a_protocol_that_means_the_same(name: str) -> None:
    """All but `comm`: one of its loops has no rounds and is left out, and `check` refuses its step as never spoken."""
    team = agents("a b c d", parameters=7e9, tokens=2e12)
    choice = MethodChoice("methods.tried", parse("{}", "tried.yaml"), team,
                          tools={"library": Model("library", "tool/search")})  # fmt: skip
    choice = replace(choice, models={agent.model.name: agent.model for agent in team})
    of = resolve(load_protocol(name), choice)
    printed = {word: value for word, value in method_values(of).items() if word != "protocol"}
    again = resolve(protocol_of(name, parse(yaml.safe_dump(printed, sort_keys=False), "printed.yaml")), choice)
    assert method_values(again) == method_values(of)
    assert again == of or (name in _NORMALIZED and replace(again, schedule=of.schedule) == of)
