"""A word of the language that reaches no value of the core is an error at once."""

from __future__ import annotations

import pytest
from pydantic import Field, TypeAdapter

from cortexdsl.core import Limits, Step
from cortexdsl.language.grammar.core_words import core_value
from cortexdsl.language.grammar.spending import LimitsEntry
from cortexdsl.language.grammar.steps import StepText


class LoudStep(StepText):
    """A step with one word more."""

    loud: bool = Field(True, description="Whether it is shouted.")


def test_words_become_fields_of_the_same_name() -> None:
    limits = TypeAdapter(LimitsEntry).validate_python({"calls": 5, "failed": "10%", "wait": "2min"})
    assert limits == Limits(calls=5, failed=0.1, wait=120.0)


def test_a_word_of_a_step_that_is_not_passed_on_is_an_error() -> None:
    step = LoudStep.model_validate({"role": "debater", "prompt": "common/answer.j2"})
    with pytest.raises(TypeError, match="LoudStep: Step has no field loud"):
        core_value(Step, step, translated=("knowledge",), name="a")
    assert core_value(Step, step, translated=["knowledge", "loud"], name="a").role == "debater"
