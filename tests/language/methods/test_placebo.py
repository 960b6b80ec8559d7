"""The word `placebo` of a method: the steps that it is for, and what is told of a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.plan.forecast.cost import rehearse_plan
from tests.language.sheets import SMALL, load_cells, place, problems
from tests.plan.specs import SPEC, plan


def grid(text: str, values: str) -> str:
    return f"{text}grid: {{full: {{placebo: {values}}}}}\n"


def test_each_value_is_a_point_of_a_grid_and_none_is_the_method_itself(tmp_path: Path) -> None:
    found = load_cells(tmp_path, grid(SMALL, "[none, other_question, own, shuffled, same_length, {revise: own}]"))
    by_name = {arm.name: arm.debate for arm in found}
    assert by_name["full[placebo=none]"] == by_name["full"]
    assert by_name["full[placebo=revise-own]"] == by_name["full[placebo=own]"]
    for kind in ("other_question", "own", "shuffled", "same_length"):
        steps = by_name[f"full[placebo={kind}]"].steps
        assert {name: step.placebo for name, step in steps.items()} == {"answer": "none", "revise": kind}


def test_every_protocol_in_which_debaters_hear_others_takes_one(tmp_path: Path) -> None:
    """The steps of judges and summarizers stay as they are."""
    text = SMALL.replace("protocol: multi-llm", "protocol: mad-summary")
    steps = load_cells(tmp_path, text.replace("full: {", "full: {placebo: own, "))[-1].debate.steps
    roles = {step.role: step.placebo for step in steps.values() if step.hears.key != "nobody"}
    assert roles["debater"] == "own"
    assert {kind for role, kind in roles.items() if role != "debater"} == {"none"}


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("other", "other_question"),
        ("{answer: own}", "step answer hears no other agent"),
        ("{revize: own}", "there is no step revize"),
    ],
)
def test_a_wrong_placebo_is_told_at_its_place(tmp_path: Path, value: str, what: str) -> None:
    (problem,) = problems(tmp_path, SMALL.replace("full: {", f"full: {{placebo: {value}, "))
    assert what in f"{problem.what} | {problem.remedy}"
    assert place(problem).startswith("14:")


def test_a_method_in_which_nobody_hears_another_has_no_placebo(tmp_path: Path) -> None:
    text = SMALL.replace("full: {protocol: multi-llm, rounds: 2}", "full: {protocol: voting, placebo: own}")
    (problem,) = problems(tmp_path, text)
    assert "no debater hears another one in voting" in problem.what


def test_the_estimate_counts_the_calls_that_make_placebos(tmp_path: Path) -> None:
    """Three agents and twelve questions: 36 calls of the method, and 72 openings that are the same calls again."""
    values = "[other_question, own, same_length]"
    text = SPEC.replace("grid:\n", f"grid:\n  full: {{placebo: {values}}}\n")
    _, by_cell = rehearse_plan(plan(tmp_path, text))
    assert by_cell["full"].calls == by_cell["full[placebo=own]"].calls == 72
    assert by_cell["full[placebo=same_length]"].calls == 72 + 12 * 3 * 2
    other = by_cell["full[placebo=other_question]"]
    assert (other.calls, other.shared_calls) == (72, 36)  # the other debates are those of the sample itself
