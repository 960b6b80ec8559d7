"""GroupDebate's token model, worked out by hand from the formulas of its section 3.2."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cortexdsl.metrics.token_model import (
    Sizes,
    best_groups,
    group_tokens,
    mad_tokens,
    sizes_of,
    stages,
    talk_groups,
    token_table,
)
from cortexdsl.metrics.view import view_debate
from tests.stats.debates import grade, made, record

SIZES = Sizes(agents=4, rounds=3, question=100.0, reply=10.0)


def test_debate_of_everyone_with_everyone() -> None:
    assert mad_tokens(SIZES) == 4 * 3 * 100 + (16 * 3 + 4 * 9) * 10  # 2040


def test_debate_in_groups() -> None:
    # S = ceil(3 / 2) = 2: 1200 + (16 * 3 / 2 + 4 * 2 * 2) * 10
    assert group_tokens(SIZES, groups=2, rounds_per_stage=2) == 1200 + 400


def test_the_last_stage_may_be_cut_short() -> None:
    assert [stages(t, 2) for t in (1, 2, 3, 4)] == [1, 1, 2, 2]


def test_the_best_number_of_groups_is_where_the_model_is_least() -> None:
    # sqrt(16 * 4 / 1) = 8: M^2 T / N + M S N has its minimum there.
    assert best_groups(16, 4, 4) == 8.0
    sizes = Sizes(16, 4, 0.0, 1.0)
    costs = {n: group_tokens(sizes, n, 4) for n in range(1, 17)}
    assert min(costs, key=lambda n: costs[n]) == 8


def test_sizes_are_measured_on_debates() -> None:
    debate = made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b")]])
    assert sizes_of([view_debate(debate, grade)]) == Sizes(agents=2, rounds=2, question=10.0, reply=3.0)
    unknown = replace(debate, turns=(replace(debate.turns[0], prompt_tokens=None), *debate.turns[1:]))
    assert sizes_of([view_debate(unknown, grade)]) is None
    assert sizes_of([]) is None


@pytest.mark.parametrize(("groups", "per_stage"), [(0, 2), (5, 2), (2, 0)])
def test_sizes_that_cannot_be_are_refused(groups: int, per_stage: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        group_tokens(SIZES, groups, per_stage)


ROUND = {"a": "R", "b": "W", "c": "R", "d": "W"}
PAIRS = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]
EVERYONE = [(s, l) for s in "abcd" for l in "abcd" if s != l]  # noqa: E741


def test_groups_and_stages_are_seen_in_the_graphs() -> None:
    two = made([ROUND] * 3, [PAIRS, []])
    apart = replace(two, graphs=two.graphs[:1])  # in round 2 debaters hear summaries, not each other
    assert talk_groups(view_debate(apart, grade)) == (2, 2)
    assert talk_groups(view_debate(made([ROUND] * 3, [EVERYONE, EVERYONE]), grade)) == (1, 3)
    assert talk_groups(view_debate(made([ROUND]), grade)) == (1, 1)


def test_the_model_stands_beside_what_was_measured() -> None:
    # M = 4, T = 3, N = 2, S = ceil(3 / 2) = 2, Q = 10, C = 3; prompts: 12 of 10, and 4 that hear one turn of 5.
    two = made([ROUND] * 3, [PAIRS, []])
    found = token_table([record(replace(two, graphs=two.graphs[:1]), "groups"), record(made([ROUND] * 2, [EVERYONE]))])
    groups, everyone = found.to_dict("records")
    assert groups["measured"] == 12 * 10 + 4 * 5 + 12 * 3
    assert groups["debate_model"] == 4 * 3 * 10 + (16 * 3 + 4 * 9) * 3
    assert groups["group_model"] == 4 * 3 * 10 + (16 * 3 / 2 + 4 * 2 * 2) * 3
    assert groups["best_groups"] == pytest.approx(6**0.5)
    assert (everyone["groups"], everyone["stages"]) == (1, 1)
    assert everyone["group_model"] != everyone["group_model"]


def test_cells_whose_tokens_nobody_counted_are_left_out() -> None:
    debate = made([ROUND])
    unknown = replace(debate, turns=tuple(replace(turn, completion_tokens=None) for turn in debate.turns))
    assert token_table([record(unknown)]).empty
