"""The words `debate_confidence` and `defer` of a method: what they mean, and what is told of wrong ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.core import BY_VOTES, DebateConfidence
from cortexdsl.plan.forecast.cost import rehearse_plan
from cortexdsl.plan.rehearsal.explain import explain, fixed_counts
from tests.language.sheets import SMALL, load_cells, problems
from tests.plan.specs import SPEC, plan

EXPERT = SMALL + "  expert: {protocol: cot, agents: [dee]}\n"


def handing(rule: str, more: str = "") -> str:
    return EXPERT.replace("full: {", f"full: {{defer: {rule}, {more}")


def grid(axis: str, values: str, text: str = SMALL) -> str:
    return f"{text}grid: {{full: {{{axis}: {values}}}}}\n"


def test_each_source_is_a_point_of_a_grid_and_the_default_is_the_method_itself(tmp_path: Path) -> None:
    text = grid("debate_confidence", "[votes, weighted]")
    by_name = {arm.name: arm.debate for arm in load_cells(tmp_path, text)}
    assert by_name["full[debate_confidence=votes]"] == by_name["full"]
    assert by_name["full"].debate_confidence == BY_VOTES
    assert by_name["full[debate_confidence=weighted]"].debate_confidence == DebateConfidence("weighted")


def test_a_method_hands_on_to_the_method_of_another_cell(tmp_path: Path) -> None:
    by_name = {arm.name: arm.debate for arm in load_cells(tmp_path, handing("{below: 0.7, to: expert}"))}
    rule = by_name["full"].defer
    assert rule is not None
    assert (rule.below, rule.to, rule.method) == (0.7, "expert", by_name["expert"])
    assert by_name["sparse"].defer is None


def test_the_threshold_is_an_axis_and_chains_are_followed(tmp_path: Path) -> None:
    """full hands on to sparse, and sparse to the expert."""
    text = handing("{below: 0.7, to: sparse}").replace("sparse: {", "sparse: {defer: {below: 0.5, to: expert}, ")
    found = {arm.name: arm.debate.defer for arm in load_cells(tmp_path, grid("defer.below", "[0.6, 0.9]", text))}
    assert [rule.below for rule in found.values() if rule is not None and rule.to == "sparse"] == [0.7, 0.6, 0.9]
    first = found["full[defer.below=0.9]"]
    assert first is not None
    assert first.method.defer is not None
    assert first.method.defer.to == "expert"


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (handing("{below: 0.7, to: exprt}"), "there is no method or cell exprt", "did you mean expert?"),
        (handing("{below: 0, to: expert}"), "below is 0", "more than 0"),
        (handing("{below: 1.2, to: expert}"), "below is 1.2", "at most 1"),
        (handing("{threshold: 0.7, to: expert}"), "threshold", "write below: and the confidence that is enough"),
        (handing("{to: expert}"), "one rule says which questions are handed on", "write below: or where:"),
        (handing("{below: 0.7, where: not consensus, to: expert}"), "one rule says", "write below: or where:"),
        (handing("{where: agreement, to: exprt}"), "there is no method or cell exprt", "did you mean expert?"),
        (handing("{where: confidence > 0.5, to: expert}"), "has a value for each agent", "say any(...)"),
        (handing("{below: 0.7, to: full}"), "questions are handed on in a circle: full to full", "name another method"),
        (
            handing("{below: 0.7, to: expert}").replace("expert: {", "expert: {defer: {below: 0.5, to: full}, "),
            "questions are handed on in a circle: full to expert to full",
            "name another method",
        ),
        (
            handing("{below: 0.7, to: other}") + "  other: {protocol: self-consistency, budget: calls(expert)}\n",
            "other is matched to a budget",
            "name a method without budget:",
        ),
        (
            EXPERT + "  other: {protocol: self-consistency, budget: calls(expert), defer: {below: 0.7, to: expert}}\n",
            "other is matched to a budget, which does not hold",
            "remove budget: or defer:",
        ),
        (grid("debate_confidence", "[guess]"), "debate_confidence is 'guess'", "votes, weighted"),
        (
            grid("debate_confidence", "[log_odds]"),
            "debate_confidence is 'log_odds'",
            "write debate_confidence: weighted",
        ),
        (
            grid("debate_confidence", "[{verifier: small}]"),
            "debate_confidence is ",
            "confidence: verifier(small), which measures",
        ),
    ],
)
def test_a_wrong_value_is_told_where_it_stands(tmp_path: Path, text: str, what: str, remedy: str) -> None:
    found = problems(tmp_path, text)
    assert any(what in one.what and remedy in one.remedy for one in found), [(one.what, one.remedy) for one in found]


def test_a_plan_counts_each_question_as_handed_on(tmp_path: Path) -> None:
    """3 agents in 2 rounds of 6 questions, twice: 72. The expert's three samples: the first is that of its opening in
    the debate, two more of 6 questions, twice, are 24.
    """
    text = SPEC.replace("methods:\n", "methods:\n  expert: {protocol: self-consistency, agents: [three], samples: 3}\n")
    found = plan(tmp_path, text.replace("grid:\n", "grid:\n  full:\n    defer: [{below: 0.7, to: expert}]\n"))
    cell = next(cell for cell in found.cells if cell.debate.defer is not None)
    _, by_cell = rehearse_plan(found)
    assert by_cell[cell.name].calls == 72 + 24
    text = explain(cell.debate)
    assert "defer:\n  below: 0.7\n  to: expert\n  method:\n    protocol: self-consistency\n" in text
    assert "calls: 9 at most (fewer if the debate is sure enough)" in text
    assert fixed_counts(cell) == {}


def test_only_cells_that_use_the_words_have_other_digests(tmp_path: Path) -> None:
    """Finished debates of other cells stay; the digest of a cell that hands on holds that of the other method."""
    plain = {cell.name: cell.digest for cell in plan(tmp_path, SPEC).cells}
    axis = "    debate_confidence: [votes, weighted]\n"
    more = plan(tmp_path, SPEC.replace("grid:\n", f"grid:\n  full:\n{axis}"))
    found = {cell.name: cell.digest for cell in more.cells}
    assert {name: found[name] for name in plain} == plain
    assert found["full[debate_confidence=weighted]"] not in plain.values()
