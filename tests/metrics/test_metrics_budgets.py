"""Budgets of small debates, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cortexdsl.core import Agent, CallCost, Debate, DebateCosts, Measured, Model, ProbeCall, Turn, of_step
from cortexdsl.core.metrics import BUDGETS, METRICS
from cortexdsl.metrics import budgets
from cortexdsl.metrics.scores import score_rows
from cortexdsl.metrics.view import DebateView, view_debate
from cortexdsl.models.known_models import parameters_per_token
from tests.stats.debates import grade, made, record

# Two agents answer (10 prompt tokens, 3 of reply), then b hears a (15 and 3) and a hears nobody (10 and 3).
DEBATE = made([{"a": "R", "b": "W"}, {"a": "R", "b": "R"}], [[("a", "b")]])
SECONDS = {"call0": 2.0, "call1": 5.0, "call2": 1.0, "call3": 4.0}


def costs(dollars: float | None = 0.01, cached: int | None = 4) -> DebateCosts:
    return DebateCosts({key: CallCost(seconds, dollars, cached) for key, seconds in SECONDS.items()})


def view(debate: Debate, known: DebateCosts | None = None, **parameters: float | None) -> DebateView:
    """A debate whose agents have models of these sizes."""
    agents = tuple(Agent(name, Model("m", "openai/m", parameters=parameters.get(name, 1e9))) for name in ("a", "b"))
    return view_debate(replace(debate, agents=agents), grade, known or costs())


def test_compute_is_two_operations_a_parameter_and_token() -> None:
    """a: 13 + 13 tokens at 1e9 parameters, b: 13 + 18 at 2e9; twice 26e9 + 62e9 = 176e9."""
    assert budgets.compute(view(DEBATE, b=2e9)) == 176e9


def test_a_mixture_computes_with_the_parameters_that_a_token_uses() -> None:
    """The plan says 3e9 of b's 30e9: twice 26e9 + 31 * 3e9 = 238e9; a tool computes nothing."""
    mixture = DebateCosts(parameters={"b": 3e9})
    assert budgets.compute(view(DEBATE, mixture, b=30e9)) == 238e9
    tools = tuple(Agent(name, Model(name, "tool/calculator")) for name in "ab")
    assert budgets.compute(view_debate(replace(DEBATE, agents=tools), grade)) == 0.0


def test_cached_prompt_tokens_are_counted_apart() -> None:
    """Four calls with 4 cached tokens each: 2 x 4 x (1 + 2 + 1 + 2) x 1e9 = 48e9; compute itself does not change."""
    assert budgets.cached_compute(view(DEBATE, b=2e9)) == 48e9
    assert budgets.compute(view(DEBATE, costs(cached=None), b=2e9)) == 176e9
    assert budgets.cached_compute(view(DEBATE, costs(cached=None))) is None


def test_unknown_sizes_tokens_and_prices_are_not_zero() -> None:
    turns = (replace(DEBATE.turns[0], prompt_tokens=None), *DEBATE.turns[1:])
    assert budgets.compute(view(replace(DEBATE, turns=turns))) is None
    assert budgets.compute(view(DEBATE, b=None)) is None
    assert budgets.dollars(view(DEBATE, costs(dollars=None))) is None
    assert budgets.critical_path(view(DEBATE, DebateCosts())) is None


def test_the_size_of_a_published_mixture_is_known() -> None:
    """Qwen3-30B-A3B uses 3.3e9 of its 30.5e9 parameters for a token; an entry goes before what is published."""
    model = Model("m", "openai/Qwen3-30B-A3B")
    known = parameters_per_token(model)
    assert known is not None
    assert known < 4e9
    assert parameters_per_token(replace(model, active_parameters=1e9)) == 1e9
    assert parameters_per_token(replace(model, parameters=7e9)) == 7e9
    assert parameters_per_token(Model("m", "openai/nobody-knows-it")) is None


def test_dollars_add_up() -> None:
    assert budgets.dollars(view(DEBATE)) == pytest.approx(0.04)


def test_the_longest_chain_waits_for_the_slowest_of_each_step() -> None:
    """The opening takes 5 s (b), the revision 4 s (b): nine seconds, two calls one after the other."""
    assert budgets.critical_path(view(DEBATE)) == 9.0
    assert budgets.depth(view(DEBATE)) == 2.0


def test_within_a_step_a_call_waits_for_those_that_it_hears() -> None:
    """In the second step a (1 s) is heard by b (4 s) of the same step: 5 + 1 + 4 = 10 s, three calls."""
    turns = list(DEBATE.turns)
    turns[3] = replace(turns[3], heard=(2,))
    spoken_in_order = view(replace(DEBATE, turns=tuple(turns)))
    assert (budgets.critical_path(spoken_in_order), budgets.depth(spoken_in_order)) == (10.0, 3.0)


def test_calls_that_measure_a_confidence_follow_their_reply_at_once() -> None:
    """b's opening (5 s) is followed by two samples of 2 and 3 s: 8 s, then 4 s for its revision."""

    def measured(turn: Turn) -> Turn:
        asides = tuple(ProbeCall(key, "R", None, 10, 3) for key in ("s1", "s2"))
        return replace(turn, measured=Measured("consistency", 1.0, None, asides))

    turns = (DEBATE.turns[0], measured(DEBATE.turns[1]), *DEBATE.turns[2:])
    known = {**costs().calls, "s1": CallCost(2.0, 0.0, 0), "s2": CallCost(3.0, 0.0, 0)}
    found = view(replace(DEBATE, turns=turns), DebateCosts(known))
    assert (budgets.critical_path(found), budgets.depth(found)) == (12.0, 3.0)


def test_columns_of_groups_are_written_only_if_they_are_asked_for() -> None:
    """The table of a spec that names none of them is the same as before; one name brings its whole group."""
    plain = score_rows([record(DEBATE)], grade)[0]
    asked = score_rows([record(DEBATE)], grade, asked=["dollars", "accuracy"], costs=costs())[0]
    assert not {metric.column for metric in METRICS.values() if metric.group} & set(plain)
    assert set(asked) - set(plain) == {"dollars", "critical_path", "cached_compute"}
    assert {name: asked[name] for name in plain} == plain


def test_every_unit_of_a_budget_is_a_metric() -> None:
    assert all(METRICS[name].better == "lower" for name in BUDGETS)


def test_compute_of_a_record_alone_counts_a_step_with_the_size_of_its_own_model() -> None:
    """Opening: 13 + 13 tokens at 1e9; the second step, 13 + 18 tokens, at 4e9: twice 26e9 + 124e9. Plans go first."""
    large = replace(DEBATE, step_models={DEBATE.turns[2].step: Model("large", "openai/large", parameters=4e9)})
    assert DEBATE.turns[2].step != DEBATE.turns[0].step
    assert budgets.compute(view(large)) == 300e9
    assert budgets.compute(view(large, DebateCosts(parameters={of_step(DEBATE.turns[2].step): 1e9}))) == 114e9
