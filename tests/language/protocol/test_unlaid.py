"""Graphs that cannot be laid out are refused when a spec is checked, in the words of the engine, before any call."""

from __future__ import annotations

import pytest

from cortexdsl.core import Agent, Model
from cortexdsl.errors import SpecError
from cortexdsl.language.methods.resolve import resolve
from cortexdsl.language.methods.role_assignment import MethodChoice
from cortexdsl.language.protocol.loader import protocol_of
from cortexdsl.language.reader import parse

TEAM = tuple(Agent(name, Model("m", "builtin/solver", parameters=7e9, tokens=1e12)) for name in ("ann", "bob", "cai"))


def said(step: str) -> str:
    """What is said of a protocol whose second step is this one."""
    text = (
        "roles: {debater: everyone, judge: [ann, bob]}\n"
        "steps:\n  open: {role: debater, prompt: common/answer.j2}\n"
        f"  then: {step}\nschedule: [open, then]\ndecide: majority\n"
    )
    with pytest.raises(SpecError) as caught:
        resolve(protocol_of("p", parse(text, "p.yaml")), MethodChoice("methods.m", parse("{}", "spec.yaml"), TEAM))
    return str(caught.value)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{role: judge, hears: everyone, each: listener, reads: summary, prompt: a.j2}", "hears: debater"),
        ("{role: judge, hears: everyone, prompt: a.j2}", "hears: debater"),
        ("{role: judge, hears: {ring: 1}, prompt: a.j2}", "within one role"),
        ("{role: judge, hears: {weight: confidence, keep: mean}, prompt: a.j2}", "by weight"),
        ("{role: judge, hears: debater, each: group, reads: summary, prompt: a.j2}", "speaks for each group"),
    ],
)
def test_a_step_that_cannot_be_laid_out_is_refused_with_its_place(step: str, words: str) -> None:
    message = said(step)
    assert words in message
    assert "p.yaml:4" in message
