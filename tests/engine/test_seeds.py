"""Seeds: what they depend on, and what they must not."""

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.core import Keep, Repeat, Sparse
from cortexdsl.engine.seeds import call_seed, seeded_random
from tests.engine.stage import Stage, method, run


def test_a_call_seed_is_the_top_of_a_digest() -> None:
    """sha256 of `4:call1:71:12:q11:a1:0` begins with b069cf48; without its last bit that is 1479862180."""
    assert call_seed(7, 1, "q1", "a", 0) == 1479862180


@given(*[st.one_of(st.integers(), st.integers(0, 3))] * 2, st.text(), st.text(), st.integers(0, 9))
def test_a_call_seed_is_a_positive_32_bit_integer(seed: int, replicate: int, question: str, agent: str, n: int) -> None:
    """Providers that take a seed take at most 2^31 - 1."""
    assert 0 <= call_seed(seed, replicate, question, agent, n) < 2**31


def test_parts_do_not_run_into_each_other() -> None:
    """Question `1`, agent `1a` is not question `11`, agent `a`; nor is seed 1, replicate 12 seed 11, replicate 2."""
    assert call_seed(7, 1, "1", "1a", 0) != call_seed(7, 1, "11", "a", 0)
    assert call_seed(1, 12, "q", "a", 0) != call_seed(11, 2, "q", "a", 0)


def test_every_part_changes_the_seed() -> None:
    base = (7, 1, "q1", "a", 0)
    others = [
        (8, 1, "q1", "a", 0),
        (7, 2, "q1", "a", 0),
        (7, 1, "q2", "a", 0),
        (7, 1, "q1", "b", 0),
        (7, 1, "q1", "a", 1),
    ]
    assert len({call_seed(*parts) for parts in [base, *others]}) == 6  # type: ignore[arg-type]


def test_purposes_draw_apart() -> None:
    draws = {purpose: seeded_random(purpose, 7, 1, "q1").random() for purpose in ("groups", "tie", "edges")}
    assert len(set(draws.values())) == 3
    assert isinstance(seeded_random("tie", 7, 1, "q1"), random.Random)


METHODS = {
    "voting": method({"answer": {}}, ["answer"]),
    "debate": method({"answer": {}, "revise": {}}, ["answer", Repeat(2, ("revise",))]),
    "renamed": method({"open": {"prompt": "answer"}}, ["open"]),
    "sparse": method(
        {"answer": {}, "revise": {"hears": Sparse("confidence", Keep("mean"))}},
        ["answer", "revise"],
    ),
    "samples": method({"answer": {"samples": 3}}, ["answer"], role_agents="a"),
}


def test_the_opening_is_the_same_calls_under_every_method() -> None:
    """Model, messages and seed of the opening calls are equal, so that arms of a grid share them."""
    openings = {}
    for name, of in METHODS.items():
        stage = Stage()
        run(of, stage)
        openings[name] = stage.calls[: len(of.role_agents["debater"])]
    voting = openings.pop("voting")
    samples = openings.pop("samples")
    assert all(opening == voting for opening in openings.values())
    assert samples == voting[:1]


def test_equal_messages_of_one_agent_count_up_and_agents_with_one_model_differ() -> None:
    """Self-consistency sends the same messages k times: repeats 0, 1, 2. Another agent's are its own."""
    stage = Stage()
    run(METHODS["samples"], stage)
    assert [call.seed for call in stage.calls] == [call_seed(7, 1, "q1", "a", n) for n in range(3)]
    stage = Stage()
    run(METHODS["voting"], stage)
    assert Counter(call.seed for call in stage.calls) == Counter(call_seed(7, 1, "q1", name, 0) for name in "abc")


def test_other_messages_begin_at_zero_again() -> None:
    stage = Stage()
    run(METHODS["debate"], stage)
    assert {call.seed for call in stage.calls} == {call_seed(7, 1, "q1", name, 0) for name in "abc"}
    assert len(set(stage.prompts())) == 9
