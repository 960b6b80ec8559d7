"""Counterfactuals of a spec: what there is to leave out, what a debate cannot do without, and what they will cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from cortexdsl.errors import SpecError
from cortexdsl.plan.experiment import Plan
from cortexdsl.plan.forecast.cost import WHAT_IF, rehearse_plan
from tests.plan.specs import SPEC, plan


def asked(folder: Path, whatif: str) -> Plan:
    return plan(folder, f"{SPEC}whatif:\n  {whatif}\n")


def left_out(folder: Path, whatif: str) -> list[str]:
    (one,) = asked(folder, whatif).whatifs
    return [str(without) for without in one.without]


@pytest.mark.parametrize(
    ("whatif", "found"),
    [
        ("full: agent", ["agent=one", "agent=two", "agent=three"]),
        ("full: [round]", ["round=1"]),
        ("full: step", ["step=revise"]),
        ("full: turn", ["turn=one@1", "turn=two@1", "turn=three@1"]),
        ("full: turn=two@1", ["turn=two@1"]),
        ("full: ['agent=one,three', edge=one:two]", ["agent=one,three", "edge=one:two"]),
    ],
)  # fmt: skip
def test_what_is_left_out(tmp_path: Path, whatif: str, found: list[str]) -> None:
    assert left_out(tmp_path, whatif) == found


def test_along_edges_that_depend_on_weights_anybody_may_hear_anybody(tmp_path: Path) -> None:
    assert len(left_out(tmp_path, "sparse: edge")) == 6


@pytest.mark.parametrize(
    ("whatif", "place", "what"),
    [
        ("full: [agent=oen]", "27:10", "there is no agent oen in full\n    did you mean one?"),
        ("full: [agent, edge=one:fourth]", "27:17", "there is no agent fourth"),
        ("vote: agent", "27:9", "there is no cell 'vote'"),
        ("full: round=2", "27:9", "there is no round 2 in full\n    rounds: 1"),
        ("full: round=0", "27:9", "round 0 is the opening"),
        ("full: turn=one@0", "27:9", "round 0 is the opening"),
        ("full: turn=one@2", "27:9", "there is no turn one@2 in full\n    did you mean one@1?"),
        ("full: step=answer", "27:9", "step answer opens the debate"),
        ("full: [agents]", "27:10", "'agents' is nothing that can be left out\n    did you mean agent?"),
        ("full: 'agent=one,two,three'", "27:9", "nobody is left to debate as debater"),
        ("full: 'agent=one,one'", "27:9", "names one agent twice"),
        ("full: []", "27:9", "nothing is left out"),
        ("matched: agent", "27:12", "matched has no agent that it could do without"),
        ("matched: edge", "27:12", "matched has no edge that it could do without"),
    ],
)
def test_what_cannot_be_left_out_is_said_at_its_place(tmp_path: Path, whatif: str, place: str, what: str) -> None:
    with pytest.raises(SpecError) as refused:
        asked(tmp_path, whatif)
    assert f"specs/small.yaml:{place}: " in str(refused.value)
    assert what in str(refused.value)


def test_a_cell_that_grows_to_a_budget_is_refused(tmp_path: Path) -> None:
    """Without an agent it would debate longer, and the effect would be of both."""
    grown = SPEC.replace(
        "near:    {", "grown:   {protocol: multi-llm, budget: compute(full), grow: rounds}\n  near:    {"
    )
    what = "grown grows to the budget of full, which a debate without something would change"
    with pytest.raises(SpecError, match=f"whatif: {what}"):
        plan(tmp_path, f"{grown}whatif:\n  grown: agent\n")


def test_only_calls_whose_messages_change_are_counted(tmp_path: Path) -> None:
    """By hand, of each question: without one of three, two open as they did and answer anew.

    Without the round nothing is new. Along the edge that is left out `two` reads what it reads without `one`, so that
    the edge has one new call alone, and none beside the agent.
    """
    debates = 2 * 6
    for number, (left_out, calls, new) in enumerate((("agent=one", 4, 2), ("round=1", 3, 0), ("edge=one:two", 6, 1))):
        _, by_cell = rehearse_plan(asked(tmp_path / str(number), f"full: [{left_out}]"))
        cost = by_cell[WHAT_IF.format("full")]
        assert (cost.calls, cost.calls - cost.shared_calls) == (calls * debates, new * debates)
    total, by_cell = rehearse_plan(asked(tmp_path, "full: [agent=one, round=1, edge=one:two]"))
    cost = by_cell[WHAT_IF.format("full")]
    assert (cost.calls, cost.calls - cost.shared_calls) == (13 * debates, 2 * debates)
    assert total.calls == sum(one.calls for one in by_cell.values())


def test_a_spec_without_counterfactuals_means_what_it_meant(tmp_path: Path) -> None:
    with_them, without = asked(tmp_path / "a", "full: agent"), plan(tmp_path / "b")
    assert [cell.digest for cell in with_them.cells] == [cell.digest for cell in without.cells]
