"""The key of a call covers all that can change the reply, and nothing else."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cortexdsl.models.keys import call_key
from cortexdsl.terms import Call, Model, Price

MODEL = Model(
    "small", "openai/qwen", "env:URL", "KEY", {"temperature": 0.7, "stop": ["a", "b"]}, 7e9, 1e12, (1e-6, 2e-6)
)
CALL = Call(MODEL, ({"role": "system", "content": "s"}, {"role": "user", "content": "u"}), 3)


def test_the_key_is_sha256_over_canonical_json() -> None:
    """Worked out by hand: the JSON text of the five fields, sorted, without spaces."""
    text = (
        '{"api_base":"env:URL","messages":[{"content":"s","role":"system"},{"content":"u","role":"user"}],'
        '"model":"openai/qwen","options":{"stop":["a","b"],"temperature":0.7},"seed":3}'
    )
    assert call_key(CALL) == hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, seed=4),
        replace(CALL, messages=CALL.messages[1:]),
        replace(CALL, messages=CALL.messages[::-1]),
        replace(CALL, messages=({"role": "user", "content": "s"}, CALL.messages[1])),
        replace(CALL, messages=({"role": "system", "content": "s "}, CALL.messages[1])),
        replace(CALL, model=replace(MODEL, model="openai/llama")),
        replace(CALL, model=replace(MODEL, api_base="env:OTHER")),
        replace(CALL, model=replace(MODEL, api_base=None)),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.8, "stop": ["a", "b"]})),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.7, "stop": ["b", "a"]})),
        replace(CALL, model=replace(MODEL, options={"temperature": 0.7})),
        replace(CALL, model=replace(MODEL, options={"temperature": "0.7", "stop": ["a", "b"]})),
    ],
)
def test_what_changes_the_reply_changes_the_key(other: Call) -> None:
    assert call_key(other) != call_key(CALL)


@pytest.mark.parametrize(
    "other",
    [
        replace(MODEL, name="renamed"),
        replace(MODEL, price=Price(9.0, 9.0)),
        replace(MODEL, api_key_env="OTHER"),
        replace(MODEL, parameters=1.0, tokens=None),
        replace(MODEL, options=MappingProxyType({"stop": ("a", "b"), "temperature": 0.7})),
    ],
)
def test_what_cannot_change_the_reply_does_not_change_the_key(other: Model) -> None:
    assert call_key(replace(CALL, model=other)) == call_key(CALL)


def test_a_whole_number_is_one_number_however_it_is_written_and_true_is_none() -> None:
    def key(value: object) -> str:
        return call_key(replace(CALL, model=replace(MODEL, options={"temperature": value})))

    assert key(1) == key(1.0)
    assert key(1) != key(True)


def test_a_number_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        call_key(replace(CALL, model=replace(MODEL, options={"temperature": float("nan")})))


@given(st.text(), st.text())
def test_different_texts_have_different_keys(one: str, other: str) -> None:
    """Whatever the characters, lone surrogates and NUL among them."""

    def key(text: str) -> str:
        return call_key(replace(CALL, messages=({"role": "user", "content": text + "\ud800\x00"},)))

    assert (key(one) == key(other)) == (one == other)
